// What a graph of the model begins with, images of each view or features of a trunk that stands apart, and one forward from
// there.  Which head sees which input is input_mapping.h's.
#include <stdio.h>

#include "trainer/model/model_internal.h"

void sr_model_set_batch(SrModel *model, const SrBatchPlan *plan) { model->batch = plan; }

int sr__model_rows(const SrModel *model, int view) {
    return model->batch ? model->batch->input[view].rows : 1;
}

// Which entry of MULTI_INPUT_HEAD_MAPPING input `v` is: INPUT_KEY_NAMES says it, or else the collator's own names (PIRL:
// `images`, `patches`, in either order; iBOT: `global_views` and `local_views`, several of each), or the order.
static SrStatus entry_of(const SrModel *model, int v, int n_views, int *entry) {
    const SrInputMapping *mapping = &model->mapping;
    SrStrings names = model->config->train.input_keys;
    *entry = v;
    if (mapping->n == 0)
        return SR_OK;
    if (names.n > 1 && names.n == n_views) {
        *entry = sr_input_mapping_find(mapping, names.v[v]); // -1: used by no head
        return SR_OK;
    }
    int named = model->batch ? sr_input_mapping_find(mapping, model->batch->input[v].name) : -1;
    if (named < 0 && names.n > 1)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.TRAIN.INPUT_KEY_NAMES has %d names (the first is '%s'), but the batch has %d "
                "inputs; there must "
                "be one a view",
                names.n, names.v[0], n_views);
    if (named < 0 && mapping->n != n_views)
        SR_FAIL(SR_ERR_CONFIG,
                "MODEL.MULTI_INPUT_HEAD_MAPPING has %d inputs (the first is '%s'), but the batch "
                "has %d; there must be one a view",
                mapping->n, mapping->v[0].key, n_views);
    *entry = named < 0 ? v : named;
    return SR_OK;
}

SrStatus sr__model_map_view(SrModel *model, int v, int n_views, SrNodeId node) {
    int entry;
    SR_TRY(entry_of(model, v, n_views, &entry));
    model->view_node[v] = node;
    model->view_entry[v] = entry;
    model->n_view_nodes = v + 1;
    return SR_OK;
}

SrStatus sr__model_inputs(SrModel *model, SrBuilder *b, const SrModelInputs *in, SrNodeId *nodes) {
    for (int v = 0; v < in->n; v++) {
        char name[24];
        snprintf(name, sizeof name, in->features ? "feature%d" : "crop%d", v);
        int rows = in->batch * sr__model_rows(model, v);
        SrShape shape = in->features ? in->features[v] : SR_SHAPE(rows, in->h[v], in->w[v], 3);
        nodes[v] = sr_build_input(b, name, shape, SR_F32);
        if (!in->features)
            SR_TRY(sr__model_map_view(model, v, in->n, nodes[v]));
    }
    return sr_builder_status(b);
}

// The first `n_run` views go through the model; 0: all; SR_NO_STUDENT: none.
SrStatus sr__model_outputs(SrModel *model, SrBuilder *b, const SrModelInputs *in, int n_run,
                           SrNodeId *nodes, SrOutputs *out) {
    SrModelRun run = {.trainable = true,
                      .masked = in->masked,
                      .trunk_outputs = model->loss && model->loss->trunk_outputs};
    SR_TRY(sr__model_inputs(model, b, in, nodes));
    *out = (SrOutputs){.n = 0};
    if (n_run == SR_NO_STUDENT && !in->features)
        return sr_builder_status(b);
    return in->features ? sr__model_heads(model, b, nodes, in->n, out)
                        : sr_model_forward(model, b, &run, nodes, n_run ? n_run : in->n, out);
}

void sr__model_copy_nodes(const SrOutputs *outputs, SrNodeId *nodes, int *n) {
    for (int i = 0; i < outputs->n; i++)
        nodes[i] = outputs->v[i].node;
    *n = outputs->n;
}
