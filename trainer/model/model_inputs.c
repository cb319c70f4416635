// Builds a graph's inputs (images of each view, or features of a separate trunk) and the forward
// pass on them.  Finds the entry of the mapping (input_mapping.h) for each input.
#include <stdio.h>
#include <string.h>

#include "base/plugin/plugin.h"
#include "data/collator.h"
#include "trainer/model/model_forward.h"
#include "trainer/model/model_internal.h"

int sr__model_rows(const SrModel *model, int view) {
    return model->batch ? model->batch->input[view].rows : 1;
}

static bool has_name(SrStrings names, const char *name) {
    for (int i = 0; i < names.n; i++)
        if (strcmp(names.v[i], name) == 0)
            return true;
    return false;
}

// True if INPUT_KEY_NAMES has the collator's names; multicrop_collator calls all its inputs `data`.
static bool is_named_by_collator(const SrBatchPlan *batch, SrStrings names) {
    for (int v = 0; batch && v < batch->n_inputs; v++)
        if (has_name(names, batch->input[v].name))
            return true;
    return false;
}

// Checks that each of INPUT_KEY_NAMES is an input of the collator, or an extra of the batch (iBOT's
// `mask`).
static SrStatus check_made(const SrBatchPlan *batch, SrStrings names) {
    const char *made[SR_MAX_VIEWS + SR_MAX_EXTRAS];
    int n = 0;
    for (int v = 0; v < batch->n_inputs; v++)
        if (!has_name((SrStrings){n, made}, batch->input[v].name))
            made[n++] = batch->input[v].name;
    for (int i = 0; i < batch->extras.n; i++)
        if (!has_name((SrStrings){n, made}, batch->extras.v[i].name))
            made[n++] = batch->extras.v[i].name;
    for (int i = 0; i < names.n; i++)
        if (!has_name((SrStrings){n, made}, names.v[i]))
            return sr_fail_prefix(sr_plugin_unknown("input of the collator", names.v[i], made, n),
                                  "DATA.TRAIN.INPUT_KEY_NAMES[%d]", i);
    return SR_OK;
}

// Finds the entry of MULTI_INPUT_HEAD_MAPPING for input v.  -1: there is none.
//
// Some collators name their inputs (PIRL: `images` and `patches`; iBOT: several `global_views`
// and `local_views`).  Those are matched by name, in any order of INPUT_KEY_NAMES, as in VISSL.
// Otherwise several names belong to the views in their order; with one name the mapping's order
// counts.
static SrStatus entry_of(const SrModel *model, int v, int n_views, int *entry) {
    const SrInputMapping *mapping = &model->mapping;
    SrStrings names = model->config->train.input_keys;
    *entry = v;
    if (mapping->n == 0)
        return SR_OK;
    if (names.n > 1 && is_named_by_collator(model->batch, names)) {
        const char *name = model->batch->input[v].name;
        *entry = has_name(names, name) ? sr_input_mapping_find(mapping, name) : -1;
        return check_made(model->batch, names);
    }
    if (names.n > 1 && names.n == n_views) {
        *entry = sr_input_mapping_find(mapping, names.v[v]);
        return SR_OK;
    }
    int named = model->batch ? sr_input_mapping_find(mapping, model->batch->input[v].name) : -1;
    if (named < 0 && names.n > 1)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.TRAIN.INPUT_KEY_NAMES has %d names (the first is '%s'), but the batch has %d "
                "inputs; expected one per view",
                names.n, names.v[0], n_views);
    if (named < 0 && mapping->n != n_views)
        SR_FAIL(SR_ERR_CONFIG,
                "MODEL.MULTI_INPUT_HEAD_MAPPING has %d inputs (the first is '%s'), but the batch "
                "has %d; expected one per view",
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
        SrShape shape = in->features ? in->features[v]
                                     : SR_SHAPE(rows, in->h[v], in->w[v], model->config->channels);
        nodes[v] = sr_build_input(b, name, shape, SR_F32);
        if (!in->features)
            SR_TRY(sr__model_map_view(model, v, in->n, nodes[v]));
    }
    return sr_builder_status(b);
}

// The first n_run views go through the model.  0: all.  SR_NO_STUDENT: none.
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
