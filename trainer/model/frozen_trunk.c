// Cuts a frozen trunk down to its features, compiles it, and runs it batch by batch.
#include "trainer/model/frozen_trunk.h"

#include <string.h>

SrStatus sr_frozen_trunk_build(SrModel *model, int batch, int h, int w, SrFrozenTrunk *out) {
    *out = (SrFrozenTrunk){
        .batch = batch, .machine = sr_model_machine(model), .bf16 = sr_model_bf16(model)};
    SR_TRY(sr_model_build_features(model, batch, h, w, &out->whole));
    out->n = out->whole.n_outputs;
    for (int i = 0; i < out->n; i++)
        out->shape[i] = sr_graph_at(out->whole.graph, out->whole.outputs[i])->shape;
    return SR_OK;
}

// Extracts the features.  Two features may be one node, which then has a tap for each.
static SrStatus cut(const SrFrozenTrunk *t, SrExtraction *out) {
    SrTap taps[SR_HEAD_MAX_OUT];
    for (int i = 0; i < t->n; i++) {
        const char *name = sr_graph_at(t->whole.graph, t->whole.outputs[i])->name;
        taps[i] = (SrTap){.query = name, .name = name, .node = SR_NO_NODE};
    }
    return sr_graph_extract(t->whole.graph, NULL, &(SrTaps){t->n, taps}, out);
}

static SrStatus compile(SrFrozenTrunk *t) {
    SrNodeId outputs[SR_HEAD_MAX_OUT];
    for (int i = 0; i < t->n; i++)
        outputs[i] = t->folded.eval.v[i].node;
    SrPlanOptions options = {.mode = SR_MODE_EVAL,
                             .outputs = outputs,
                             .n_outputs = t->n,
                             .machine = t->machine,
                             .bf16 = t->bf16};
    return sr_plan_compile(t->folded.graph, &options, &t->plan);
}

SrStatus sr_frozen_trunk_compile(SrFrozenTrunk *t) {
    SrExtraction whole = {0};
    int n_folded;
    SR_TRY(cut(t, &whole));
    SrStatus status = sr_graph_fold_norm(&whole, &t->folded, &n_folded);
    sr_extraction_free(&whole);
    SR_TRY(status);
    return compile(t);
}

void sr_frozen_trunk_close(SrFrozenTrunk *t) {
    sr_plan_free(t->plan);
    sr_extraction_free(&t->folded);
    *t = (SrFrozenTrunk){0};
}

void sr_frozen_trunk_run(SrFrozenTrunk *t, const float *images, int n) {
    SrTensor in = sr_plan_input(t->plan, sr_graph_find(t->folded.graph, "crop0"));
    size_t image = (size_t)(sr_shape_count(in.shape) / t->batch);
    memcpy(in.data, images, (size_t)n * image * sizeof(float));
    sr_plan_forward(t->plan, 0);
}

const float *sr_frozen_trunk_output(SrFrozenTrunk *t, int i) {
    return sr_plan_output(t->plan, t->folded.eval.v[i].node).data;
}

int64_t sr_frozen_trunk_row(const SrFrozenTrunk *t, int i) {
    return sr_shape_count(t->shape[i]) / t->batch;
}
