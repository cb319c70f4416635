// The model: trunk passes, heads and loss wired into graphs over one parameter table (spec 4).
// Not the running of them (trainer/step.c), and no plugin by name.
#include "trainer/model.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "trainer/head_modules.h"
#include "trunks/feature_extractor.h"

enum { MAX_PREFIXES = 8, PREFIX_BYTES = 256 };

// How often the model was built under a parameter prefix in the present graph; numbers the passes
// of names.
typedef struct {
    char prefix[PREFIX_BYTES];
    int trunk, heads;
} Passes;

struct SrModel {
    SrArena arena; // options of the plugins
    const SrConfig *config;
    SrParams *params;
    const SrTrunk *trunk;
    const void *trunk_params;
    SrHeadModules heads;
    const SrLoss *loss;
    const void *loss_params;
    SrGraph **graphs; // every graph handed out
    int n_graphs;
    Passes passes[MAX_PREFIXES]; // of the graph being built
    int n_passes;
};

// ---- reading the configuration

// The options of a plugin from its part of a section: subtree "MODEL.TRUNK.RESNETS" in the map
// MODEL.TRUNK.
static SrStatus parse_options(SrModel *model, const SrOption *table, size_t bytes,
                              const char *subtree, const char *section, const SrYaml *map,
                              const void **out) {
    void *params = sr_arena_alloc(&model->arena, bytes + 1);
    if (!params)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for %s", subtree);
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

static SrStatus read_loss(SrModel *model) {
    if (sr_loss_find(model->config->loss_name, &model->loss) != SR_OK)
        return sr_fail_prefix(SR_ERR_CONFIG, "LOSS.name");
    const SrLoss *l = model->loss;
    return parse_options(model, l->options, l->params_bytes, l->subtree, "LOSS",
                         model->config->loss_tree, &model->loss_params);
}

SrStatus sr_model_new(const SrConfig *config, SrModel **out) {
    SrModel *model = sr_calloc(1, sizeof *model);
    SrStatus status;
    *out = NULL;
    if (!model)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for the model");
    model->config = config;
    SR_TRY_GOTO(sr_params_new(&model->params));
    SR_TRY_GOTO(read_trunk(model));
    SR_TRY_GOTO(sr_head_modules_parse(&config->model, &model->arena, &model->heads));
    *out = model;
    return SR_OK;
done:
    sr_model_free(model);
    return status;
}

void sr_model_free(SrModel *model) {
    if (!model)
        return;
    for (int i = 0; i < model->n_graphs; i++)
        sr_graph_free(model->graphs[i]);
    sr_free(model->graphs);
    sr_params_free(model->params);
    sr_arena_deinit(&model->arena);
    sr_free(model);
}

SrParams *sr_model_params(SrModel *model) {
    return model->params;
}

static SrStatus new_graph(SrModel *model, SrGraph **out) {
    SrGraph **graphs = sr_realloc(model->graphs, (size_t)(model->n_graphs + 1) * sizeof *graphs);
    if (!graphs)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for a graph");
    model->graphs = graphs;
    SR_TRY(sr_graph_new(model->params, out));
    model->graphs[model->n_graphs++] = *out;
    model->n_passes = 0;
    return SR_OK;
}

// ---- one forward: views -> trunk passes -> features -> heads

static Passes *passes_of(SrModel *model, SrBuilder *b, const char *prefix) {
    for (int i = 0; i < model->n_passes; i++)
        if (!strcmp(model->passes[i].prefix, prefix))
            return &model->passes[i];
    if (model->n_passes == MAX_PREFIXES || strlen(prefix) >= PREFIX_BYTES) {
        sr_builder_fail(b, SR_ERR_CONFIG, "no room for another copy of the model under '%s'",
                        prefix);
        return &model->passes[0];
    }
    Passes *p = &model->passes[model->n_passes++];
    *p = (Passes){.trunk = 0};
    memcpy(p->prefix, prefix, strlen(prefix) + 1);
    return p;
}

// What fx calls torch.cat: rows of all, one below the other.
static SrNodeId concat(SrBuilder *b, const SrNodeId *x, int n) {
    return n == 1 ? x[0] : sr_build_n(b, "concat", "cat", NULL, x, n);
}

// x: (rows, H, W, 3) -> (rows, C)
static SrNodeId trunk_pass(SrModel *model, SrBuilder *b, const char *prefix, bool trainable,
                           int pass, SrNodeId x) {
    char parameters[2 * PREFIX_BYTES];
    SrNodeId y = SR_NO_NODE;
    snprintf(parameters, sizeof parameters, "%strunk.%s", prefix, model->trunk->param_prefix);
    const SrModelConfig *config = &model->config->model;
    const char *old = sr_builder_set_param_prefix(b, parameters);
    sr_builder_set_frozen(b,
                          !trainable || config->freeze_trunk_only || config->freeze_trunk_and_head);
    sr_builder_set_pass(b, pass);
    model->trunk->build(b, model->trunk_params, x, &y); // its errors stick to the builder
    sr_builder_set_pass(b, 0);
    sr_builder_set_param_prefix(b, old);
    return y;
}

// VISSL compares widths alone and would fail on heights that differ.
static bool same_group(const SrModel *model, SrShape a, SrShape b) {
    return !model->config->model.single_pass_every_crop && a.d[1] == b.d[1] && a.d[2] == b.d[2];
}

// Consecutive crops of one size share a pass and so their batch statistics (spec 4.4).  -> (all
// rows, C), crop-major
static SrNodeId features(SrModel *model, SrBuilder *b, const char *prefix, bool trainable,
                         Passes *passes, const SrNodeId *views, int n) {
    SrNodeId groups[SR_OP_MAX_IN];
    int n_groups = 0;
    for (int first = 0, last; first < n; first = last) {
        SrShape shape = sr_build_shape(b, views[first]);
        for (last = first + 1; last < n && same_group(model, shape, sr_build_shape(b, views[last]));
             last++)
            ;
        if (n_groups == SR_OP_MAX_IN || last - first > SR_OP_MAX_IN) {
            sr_builder_fail(b, SR_ERR_CONFIG,
                            "%d crops: at most %d of one size in a row and %d changes of size are "
                            "possible; put crops of one size beside each other",
                            n, SR_OP_MAX_IN, SR_OP_MAX_IN - 1);
            return SR_NO_NODE;
        }
        SrNodeId x = concat(b, views + first, last - first);
        groups[n_groups++] = trunk_pass(model, b, prefix, trainable, passes->trunk++, x);
    }
    return concat(b, groups, n_groups);
}

SrStatus sr_model_forward(SrModel *model, SrBuilder *b, const char *param_prefix, bool trainable,
                          const SrNodeId *views, int n_views, SrNodeId *outputs, int *n_outputs) {
    Passes *passes = passes_of(model, b, param_prefix);
    const char *old_nodes = sr_builder_set_node_prefix(b, param_prefix);
    SrNodeId x = features(model, b, param_prefix, trainable, passes, views, n_views);
    const char *old_params = sr_builder_set_param_prefix(b, param_prefix);
    sr_builder_set_frozen(b, !trainable || model->config->model.freeze_trunk_and_head);
    sr_builder_set_pass(b, passes->heads++);
    if (sr_builder_status(b) == SR_OK)
        sr_head_modules_build(b, &model->heads, x, outputs, n_outputs);
    sr_builder_set_pass(b, 0);
    sr_builder_set_frozen(b, false);
    sr_builder_set_param_prefix(b, old_params);
    sr_builder_set_node_prefix(b, old_nodes);
    return sr_builder_status(b);
}

// ---- the training graph

// SrLossContext.run_model: the same wiring under the loss's own prefix.
static SrStatus run_model(SrLossContext *ctx, const char *prefix, bool trainable, const int *views,
                          int n_views, SrNodeId *outputs, int *n_outputs) {
    SrNodeId inputs[SR_MAX_VIEWS];
    for (int i = 0; i < n_views; i++)
        inputs[i] = ctx->views[views[i]].input;
    return sr_model_forward(ctx->model, ctx->builder, prefix, trainable, inputs, n_views, outputs,
                            n_outputs);
}

// The loss's own entries and nodes stand under "loss.".
static SrStatus build_loss(SrModel *model, SrLossContext *ctx, SrTrainGraph *out) {
    SrBuilder *b = ctx->builder;
    sr_builder_set_param_prefix(b, "loss.");
    sr_builder_set_node_prefix(b, "loss.");
    out->loss_kind = model->loss;
    SR_TRY(model->loss->build(ctx, model->loss_params, &out->loss, &out->loss_state));
    SR_TRY(sr_builder_status(b));
    SrShape shape = sr_build_shape(b, out->loss);
    if (sr_shape_count(shape) != 1)
        SR_FAIL(SR_ERR_CONFIG, "loss %s gives %lld numbers, not one", model->loss->name,
                (long long)sr_shape_count(shape));
    for (int i = 0; i < ctx->n_kept; i++)
        out->outputs[out->n_outputs++] = ctx->kept[i];
    return SR_OK;
}

static SrStatus build_into(SrModel *model, SrBuilder *b, int batch, const int *h, const int *w,
                           int64_t n_samples, SrTrainGraph *out) {
    SrLossContext ctx = {.builder = b,
                         .batch = batch,
                         .n_views = out->n_views,
                         .n_samples = n_samples,
                         .seed = model->config->seed,
                         .run_model = run_model,
                         .model = model};
    for (int v = 0; v < out->n_views; v++) {
        char name[24];
        snprintf(name, sizeof name, "crop%d", v);
        out->views[v] = sr_build_input(b, name, SR_SHAPE(batch, h[v], w[v], 3), SR_F32);
        ctx.views[v] = (SrView){out->views[v], h[v], w[v]};
    }
    out->sample_index = sr_build_input(b, "sample_index", SR_SHAPE(batch), SR_I64);
    SR_TRY(sr_model_forward(model, b, "", true, out->views, out->n_views, out->outputs,
                            &out->n_model_outputs));
    out->n_outputs = out->n_model_outputs;
    ctx.outputs = out->outputs;
    ctx.n_outputs = out->n_model_outputs;
    ctx.sample_index = out->sample_index;
    return build_loss(model, &ctx, out);
}

// MODEL.NON_TRAINABLE_PARAMS: exact names, each of which must exist.
static SrStatus freeze_named(SrModel *model) {
    SrStrings names = model->config->model.non_trainable_params;
    for (int i = 0; i < names.n; i++) {
        int index = sr_params_find(model->params, names.v[i]);
        if (index < 0)
            SR_FAIL(SR_ERR_CONFIG, "MODEL.NON_TRAINABLE_PARAMS: the model has no parameter '%s'",
                    names.v[i]);
        sr_params_at(model->params, index)->trainable = false;
    }
    return SR_OK;
}

SrStatus sr_model_build_train(SrModel *model, int batch, int n_views, const int *h, const int *w,
                              int64_t n_samples, SrTrainGraph *out) {
    SrBuilder *b = NULL;
    SrStatus status;
    *out = (SrTrainGraph){.n_views = n_views, .loss = SR_NO_NODE, .sample_index = SR_NO_NODE};
    if (n_views < 1 || n_views > SR_MAX_VIEWS)
        SR_FAIL(SR_ERR_CONFIG, "%d crops an image; 1 to %d are possible", n_views, SR_MAX_VIEWS);
    SR_TRY(read_loss(model));
    SR_TRY(new_graph(model, &out->graph));
    SR_TRY(sr_builder_new(out->graph, &b));
    SR_TRY_GOTO(build_into(model, b, batch, h, w, n_samples, out));
    SR_TRY_GOTO(freeze_named(model));
done:
    sr_builder_free(b);
    return status;
}

// ---- evaluation

SrStatus sr_model_build_eval(SrModel *model, int batch, int h, int w, const char *layer,
                             SrGraph **graph, SrNodeId *input, SrNodeId *tap) {
    SrBuilder *b = NULL;
    SrStatus status;
    SR_TRY(new_graph(model, graph));
    SR_TRY(sr_builder_new(*graph, &b));
    // torch.fx calls a module's first argument by its name in forward, which is x in torchvision.
    *input = sr_build_input(b, "x", SR_SHAPE(batch, h, w, 3), SR_F32);
    trunk_pass(model, b, "", true, 0, *input);
    SR_TRY_GOTO(sr_builder_status(b));
    SR_TRY_GOTO(sr_feature_tap(*graph, layer, tap));
done:
    sr_builder_free(b);
    return status;
}

SrStatus sr_model_init(SrModel *model, const SrTrainGraph *train, uint64_t seed) {
    sr_params_init(model->params, seed);
    SrLossStep step = {.params = model->params};
    if (train->loss_kind->after_init)
        train->loss_kind->after_init(train->loss_state, &step);
    return SR_OK;
}
