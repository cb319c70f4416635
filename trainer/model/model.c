// Makes a model from the configuration, and builds its graphs without a loss.  model_forward.c
// wires one forward pass, train_graph.c adds the loss, and trainer/run/step.c runs the result.
#include "trainer/model/model.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/conv/conv_peak.h"
#include "trainer/model/model_internal.h"

// ---- reading the configuration

// Reads a plugin's options from its part of a section: subtree "MODEL.TRUNK.RESNETS" in the map
// MODEL.TRUNK.
static SrStatus parse_options(SrModel *model, const SrOption *table, size_t bytes,
                              const char *subtree, const char *section, const SrYaml *map,
                              const void **out) {
    void *params = sr_arena_alloc(&model->arena, bytes + 1);
    SR_TRY_MEMORY(params, "%s", subtree);
    *out = params;
    const SrYaml *tree = sr_yaml_find_path(map, subtree + strlen(section) + 1);
    return sr_options_parse(table, tree, subtree, &model->arena, params);
}

static SrStatus read_trunk(SrModel *model) {
    const SrModelConfig *config = &model->config->model;
    if (sr_trunk_find(config->trunk_name, &model->trunk) != SR_OK)
        return sr_fail_prefix(SR_ERR_CONFIG, "MODEL.TRUNK.NAME");
    const SrTrunk *t = model->trunk;
    return parse_options(model, t->options, t->params_bytes, t->subtree, "MODEL.TRUNK",
                         config->trunk_tree, &model->trunk_params);
}

SrStatus sr__model_read_loss(SrModel *model) {
    if (sr_loss_find(model->config->loss_name, &model->loss) != SR_OK)
        return sr_fail_prefix(SR_ERR_CONFIG, "LOSS.name");
    const SrLoss *l = model->loss;
    return parse_options(model, l->options, l->params_bytes, l->subtree, "LOSS",
                         model->config->loss_tree, &model->loss_params);
}

// Reads which features are wanted, and by which input.
static SrStatus read_features(SrModel *model) {
    const SrModelConfig *config = &model->config->model;
    SR_TRY(sr_features_parse(config->feat_pool_ops,
                             "MODEL.FEATURE_EVAL_SETTINGS.LINEAR_EVAL_FEAT_POOL_OPS_MAP",
                             &model->arena, &model->features));
    SR_TRY(sr_input_mapping_parse(config->input_mapping, model->heads.n, &model->arena,
                                  &model->mapping));
    SR_TRY(sr_input_mapping_check_names(&model->mapping, model->config->train.input_keys));
    if (model->features.n > 0 && model->mapping.n > 0)
        SR_FAIL(SR_ERR_CONFIG, "MODEL.MULTI_INPUT_HEAD_MAPPING and MODEL.FEATURE_EVAL_SETTINGS."
                               "LINEAR_EVAL_FEAT_POOL_OPS_MAP both say which features to take; "
                               "empty one of them");
    return SR_OK;
}

SrMachine sr_machine_of_config(const SrConfig *config) {
    static const unsigned designs[] = {[SR_WINOGRAD_NONE] = SR_CONV_DIRECT | SR_CONV_TILES,
                                       [SR_WINOGRAD_F2] =
                                           SR_CONV_DIRECT | SR_CONV_TILES | SR_CONV_WINOGRAD2,
                                       [SR_WINOGRAD_F4] = SR_CONV_ALL};
    SrMachine machine = *sr_machine_default();
    machine.conv_designs = designs[config->winograd];
    machine.fp32 = config->fp32;
    if (config->model.use_amp)
        machine.pairs = sr_conv_pairs_are_faster();
    return machine;
}

const SrMachine *sr_model_machine(const SrModel *model) { return &model->machine; }

SrStatus sr__model_new_over(const SrConfig *config, SrParams *params, SrModel **out) {
    SrModel *model = sr_calloc(1, sizeof *model);
    SrStatus status = SR_OK;
    *out = NULL;
    SR_TRY_MEMORY(model, "the model");
    model->config = config;
    model->params = params;
    model->borrows_params = params != NULL;
    if (!params)
        SR_TRY_GOTO(sr_params_new(&model->params));
    model->machine = sr_machine_of_config(config);
    SR_TRY_GOTO(read_trunk(model));
    SR_TRY_GOTO(sr_head_modules_parse(&config->model, &model->arena, &model->heads));
    SR_TRY_GOTO(read_features(model));
    *out = model;
    return SR_OK;
done:
    sr_model_free(model);
    return status;
}

SrStatus sr_model_new(const SrConfig *config, SrModel **out) {
    return sr__model_new_over(config, NULL, out);
}

void sr_model_free(SrModel *model) {
    if (!model)
        return;
    sr_model_free(model->teacher);
    sr_config_free(model->teacher_config);
    for (int i = 0; i < model->n_graphs; i++)
        sr_graph_free(model->graphs[i]);
    sr_free(model->graphs);
    if (!model->borrows_params)
        sr_params_free(model->params);
    sr_arena_deinit(&model->arena);
    sr_free(model);
}

SrParams *sr_model_params(SrModel *model) { return model->params; }

bool sr_model_bf16(const SrModel *model) { return model->config->model.use_amp; }

bool sr_model_has_frozen_trunk(const SrModel *model) {
    const SrModelConfig *c = &model->config->model;
    return c->eval_mode_on && c->freeze_trunk_only && !c->extract_trunk_features_only &&
           model->features.n > 0;
}

void sr_model_set_targets(SrModel *model, int classes) { model->n_targets = classes; }

void sr_model_set_batch(SrModel *model, const SrBatchPlan *plan) { model->batch = plan; }

SrStatus sr__model_add_graph(SrModel *model, SrGraph **out) {
    SrGraph **graphs = sr_realloc(model->graphs, (size_t)(model->n_graphs + 1) * sizeof *graphs);
    SR_TRY_MEMORY(graphs, "a graph");
    model->graphs = graphs;
    SR_TRY(sr_graph_new(model->params, out));
    model->graphs[model->n_graphs++] = *out;
    return SR_OK;
}

SrStatus sr__model_new_graph(SrModel *model, SrGraph **out) {
    SR_TRY(sr__model_add_graph(model, out));
    model->n_passes = model->n_view_nodes = 0;
    if (model->teacher)
        model->teacher->n_passes = 0;
    return SR_OK;
}

SrStatus sr_model_build_features(SrModel *model, int batch, int h, int w, SrOutputGraph *out) {
    SrBuilder *b = NULL;
    SrStatus status;
    *out = (SrOutputGraph){.n_views = 1};
    SR_TRY(sr__model_new_graph(model, &out->graph));
    SR_TRY(sr_builder_new(out->graph, &b));
    SrModelInputs in = {.batch = batch, .n = 1, .h = &h, .w = &w};
    SR_TRY_GOTO(sr__model_inputs(model, b, &in, out->views));
    SrTrunkPass pass = {.b = b,
                        .prefix = "",
                        .features = &model->features,
                        .in = {.image = out->views[0], .mask = SR_NO_NODE}};
    SrTrunkPassed passed = {.n = 0};
    SR_TRY_GOTO(sr__model_trunk_pass(model, &pass, &passed));
    memcpy(out->outputs, passed.feature, (size_t)passed.n * sizeof *out->outputs);
    out->n_outputs = passed.n;
done:
    sr_builder_free(b);
    return status;
}

// ---- evaluation

// True if the last graph of the trunk fits: probes ask for the same one at every epoch, and graphs
// live as long as the model.
static bool trunk_is_built(const SrModel *m, int batch, int h, int w) {
    return m->eval.graph && m->eval.batch == batch && m->eval.h == h && m->eval.w == w;
}

static SrStatus build_trunk(SrModel *model, SrBuilder *b, SrShape images, SrNodeId *input) {
    // torch.fx names the input after the argument of forward(), which is x in torchvision.
    *input = sr_build_input(b, "x", images, SR_F32);
    SrTrunkPass pass = {.b = b,
                        .prefix = "",
                        .trainable = true,
                        .features = &(SrFeatures){.n = 0},
                        .in = {.image = *input, .mask = SR_NO_NODE}};
    SrTrunkPassed passed;
    // A plan in train mode collects statistics with this graph, also for a frozen trunk.
    model->learn_statistics = true;
    SrStatus status = sr__model_trunk_pass(model, &pass, &passed);
    model->learn_statistics = false;
    return status;
}

SrStatus sr_model_build_trunk(SrModel *model, int batch, int h, int w, SrGraph **graph,
                              SrNodeId *input) {
    SrBuilder *b = NULL;
    if (!trunk_is_built(model, batch, h, w)) {
        SR_TRY(sr__model_new_graph(model, graph));
        SR_TRY(sr_builder_new(*graph, &b));
        SrStatus status =
            build_trunk(model, b, SR_SHAPE(batch, h, w, model->config->channels), input);
        sr_builder_free(b);
        SR_TRY(status);
        model->eval.graph = *graph;
        model->eval.batch = batch;
        model->eval.h = h;
        model->eval.w = w;
        model->eval.input = *input;
    }
    *graph = model->eval.graph;
    *input = model->eval.input;
    return SR_OK;
}

static SrStatus build_output_graph(SrModel *model, const SrModelInputs *in, SrOutputGraph *out) {
    SrBuilder *b = NULL;
    SrOutputs outputs;
    SrStatus status;
    *out = (SrOutputGraph){.n_views = in->n};
    if (in->n < 1 || in->n > SR_MAX_VIEWS)
        SR_FAIL(SR_ERR_CONFIG, "there are %d crops per image, expected 1 to %d", in->n,
                SR_MAX_VIEWS);
    SR_TRY(sr__model_new_graph(model, &out->graph));
    SR_TRY(sr_builder_new(out->graph, &b));
    SR_TRY_GOTO(sr__model_outputs(model, b, in, 0, out->views, &outputs));
    sr__model_copy_nodes(&outputs, out->outputs, &out->n_outputs);
    SR_TRY_GOTO(sr__model_freeze_named(model));
done:
    sr_builder_free(b);
    return status;
}

SrStatus sr_model_build_outputs(SrModel *model, int batch, int n_views, const int *h, const int *w,
                                SrOutputGraph *out) {
    SrModelInputs in = {.batch = batch, .n = n_views, .h = h, .w = w};
    return build_output_graph(model, &in, out);
}

SrStatus sr_model_build_head_outputs(SrModel *model, int batch, const SrShape *features, int n,
                                     SrOutputGraph *out) {
    SrModelInputs in = {.batch = batch, .n = n, .features = features};
    return build_output_graph(model, &in, out);
}
