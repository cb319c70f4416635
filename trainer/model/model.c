// The model: trunk passes, heads and loss wired into graphs over one parameter table (spec 4).
// Not one forward of it (trainer/model/model_forward.c), not the running of them (trainer/run/step.c), and no plugin by name.
#include "trainer/model/model.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "trainer/config/schema.h"
#include "trainer/model/freeze.h"
#include "trainer/model/model_internal.h"

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

// Which features are wanted, and by which input.
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

SrStatus sr__model_new_over(const SrConfig *config, SrParams *params, SrModel **out) {
    SrModel *model = sr_calloc(1, sizeof *model);
    SrStatus status = SR_OK;
    *out = NULL;
    if (!model)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for the model");
    model->config = config;
    model->params = params;
    model->borrows_params = params != NULL;
    if (!params)
        SR_TRY_GOTO(sr_params_new(&model->params));
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

static SrStatus new_graph(SrModel *model, SrGraph **out) {
    SrGraph **graphs = sr_realloc(model->graphs, (size_t)(model->n_graphs + 1) * sizeof *graphs);
    if (!graphs)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for a graph");
    model->graphs = graphs;
    SR_TRY(sr_graph_new(model->params, out));
    model->graphs[model->n_graphs++] = *out;
    model->n_passes = model->n_view_nodes = 0;
    if (model->teacher)
        model->teacher->n_passes = 0;
    return SR_OK;
}

// ---- the training graph

// The loss's own entries and nodes stand under "loss.".
static SrStatus build_loss(SrModel *model, SrLossContext *ctx, SrTrainGraph *out) {
    SrBuilder *b = ctx->builder;
    SrBuilder *builders[] = {b, model->images};
    for (int i = 0; i < 2; i++) {
        sr_builder_set_param_prefix(builders[i], "loss.");
        sr_builder_set_node_prefix(builders[i], "loss.");
    }
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

void sr_model_set_targets(SrModel *model, int classes) { model->n_targets = classes; }

void sr_model_set_batch(SrModel *model, const SrBatchPlan *plan) { model->batch = plan; }

static int rows_of(const SrModel *model, int view) {
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

// What the graph begins with: images of each view, or features of a trunk that stands apart.
typedef struct {
    int batch, n;
    const int *h, *w;        // of each view; its rows an image are rows_of
    const SrShape *features; // NULL: images
    bool masked;             // by the batch's masks, where it has any
} Inputs;

static SrStatus build_inputs(SrModel *model, SrBuilder *b, const Inputs *in, SrNodeId *nodes) {
    for (int v = 0; v < in->n; v++) {
        char name[24];
        snprintf(name, sizeof name, in->features ? "feature%d" : "crop%d", v);
        int rows = in->batch * rows_of(model, v);
        SrShape shape = in->features ? in->features[v] : SR_SHAPE(rows, in->h[v], in->w[v], 3);
        nodes[v] = sr_build_input(b, name, shape, SR_F32);
        if (!in->features)
            SR_TRY(sr__model_map_view(model, v, in->n, nodes[v]));
    }
    return sr_builder_status(b);
}

// The first `n_run` views go through the model; 0: all; SR_NO_STUDENT: none.
static SrStatus build_outputs(SrModel *model, SrBuilder *b, const Inputs *in, int n_run,
                              SrNodeId *nodes, SrOutputs *out) {
    SrModelRun run = {.trainable = true, .masked = in->masked};
    SR_TRY(build_inputs(model, b, in, nodes));
    *out = (SrOutputs){.n = 0};
    if (n_run == SR_NO_STUDENT && !in->features)
        return sr_builder_status(b);
    return in->features ? sr__model_heads(model, b, nodes, in->n, out)
                        : sr_model_forward(model, b, &run, nodes, n_run ? n_run : in->n, out);
}

static void copy_nodes(const SrOutputs *outputs, SrNodeId *nodes, int *n) {
    for (int i = 0; i < outputs->n; i++)
        nodes[i] = outputs->v[i].node;
    *n = outputs->n;
}

SrNodeId sr__model_extra(SrModel *model, const char *name, int view) {
    SrTrainGraph *train = model->train;
    int extra = model->batch ? sr_extras_find(&model->batch->extras, name, view) : -1;
    for (int i = 0; i < train->n_extras; i++)
        if (train->extras[i].extra == extra)
            return train->extras[i].input;
    if (extra < 0)
        return SR_NO_NODE;
    const SrBatchExtra *e = &model->batch->extras.v[extra];
    char leaf[64];
    SrShape shape = {.rank = e->shape.rank + 1, .d = {train->batch}};
    memcpy(shape.d + 1, e->shape.d, (size_t)e->shape.rank * sizeof *shape.d);
    snprintf(leaf, sizeof leaf, "%s%d", name, view);
    const char *nodes = sr_builder_set_node_prefix(model->images, "");
    SrNodeId input = sr_build_input(model->images, leaf, shape, e->dtype);
    sr_builder_set_node_prefix(model->images, nodes);
    train->extras[train->n_extras++] = (SrExtraInput){input, extra};
    return input;
}

// Distributions over the classes, of every view on its own: (views * N, classes), view-major.
static SrNodeId soft_labels(SrModel *model, SrBuilder *b) {
    SrNodeId view[SR_OP_MAX_IN], x;
    int n = 0;
    while (n < SR_OP_MAX_IN && (x = sr__model_extra(model, SR_EXTRA_LABEL, n)) != SR_NO_NODE)
        view[n++] = x;
    return n < 2 ? n ? view[0] : SR_NO_NODE : sr_build_n(b, "concat", "labels", NULL, view, n);
}

// Indices and labels of a replica's images, filled by the feed; *labels: whichever they are.
static void build_targets(SrModel *model, SrBuilder *b, const Inputs *in, SrTrainGraph *out,
                          SrNodeId *labels) {
    int n = in->batch, classes = model->n_targets;
    *labels = SR_NO_NODE;
    out->sample_index = sr_build_input(b, "sample_index", SR_SHAPE(n), SR_I64);
    if (!model->loss->needs_labels)
        return;
    *labels = soft_labels(model, b);
    if (*labels == SR_NO_NODE)
        *labels = out->labels =
            sr_build_input(b, "label", classes ? SR_SHAPE(n, classes) : SR_SHAPE(n), SR_I64);
}

static SrStatus build_into(SrModel *model, SrBuilder *images, SrBuilder *loss, const Inputs *in,
                           int64_t n_samples, SrTrainGraph *out) {
    bool two = images != loss;
    SrLossContext ctx = {.builder = loss,
                         .name = model->loss->name,
                         .batch = two ? in->batch * out->replicas : in->batch,
                         .replicas = two ? out->replicas : 1,
                         .n_views = in->n,
                         .n_samples = n_samples,
                         .seed = model->config->seed,
                         .services = &sr__loss_services,
                         .model = model};
    model->images = images;
    model->train = out;
    SrNodeId labels;
    build_targets(model, images, in, out, &labels);
    SR_TRY(build_outputs(model, images, in, SR_MIN(model->loss->student_views, in->n), out->views,
                         &ctx.outputs));
    SR_TRY(sr_builder_status(images));
    sr__model_cross_all(model, loss, &ctx.outputs, true);
    copy_nodes(&ctx.outputs, out->outputs, &out->n_model_outputs);
    for (int i = 0; i < ctx.outputs.n; i++)
        out->output_names[i] = ctx.outputs.v[i].name;
    out->n_outputs = out->n_model_outputs;
    for (int v = 0; !in->features && v < in->n; v++) {
        ctx.views[v].h = in->h[v];
        ctx.views[v].w = in->w[v];
    }
    ctx.sample_index = sr__model_cross(model, loss, out->sample_index, false);
    ctx.labels = sr__model_cross(model, loss, labels, false);
    SR_TRY(sr_builder_status(loss));
    SR_TRY(build_loss(model, &ctx, out));
    return sr_builder_status(images);
}

// Backwards from the needed nodes; index order is execution order.
static void mark_needed(const SrGraph *graph, bool *needed, bool *used) {
    for (SrNodeId id = sr_graph_count(graph) - 1; id >= 0; id--) {
        const SrNode *node = sr_graph_at(graph, id);
        for (int i = 0; needed[id] && i < node->n_in; i++)
            needed[node->in[i]] = true;
        for (int i = 0; needed[id] && i < node->n_w; i++)
            used[node->w[i]] = true;
    }
}

// What the loss reads of a replica's nodes; the others need no gradient.
static void cross_needed(SrTrainGraph *train, bool *needed) {
    bool read[SR_MAX_ROWS];
    for (int i = 0; i < train->n_rows; i++)
        read[i] = needed[train->rows[i].world];
    memset(needed, 0,
           (size_t)SR_MAX(sr_graph_count(train->graph), sr_graph_count(train->loss_graph)) *
               sizeof *needed);
    for (int i = 0; i < train->n_rows; i++) {
        train->rows[i].learns = train->rows[i].learns && read[i];
        needed[train->rows[i].replica] |= read[i];
    }
}

// Parameters that the loss does not depend on have no gradient in torch, so its optimisers leave
// them alone; a gradient of zero would let weight decay shrink them.
static SrStatus freeze_unused(SrModel *model, SrTrainGraph *train) {
    int n = sr_params_count(model->params), frozen = 0;
    int nodes = SR_MAX(sr_graph_count(train->graph), sr_graph_count(train->loss_graph));
    bool *needed = sr_calloc((size_t)nodes + 1, sizeof *needed);
    bool *used = sr_calloc((size_t)n + 1, sizeof *used);
    if (!needed || !used) {
        sr_free(needed);
        sr_free(used);
        SR_FAIL(SR_ERR_MEMORY, "out of memory for %d parameters", n);
    }
    needed[train->loss] = true;
    mark_needed(train->loss_graph, needed, used);
    if (train->loss_graph != train->graph)
        cross_needed(train, needed);
    if (train->loss_graph != train->graph)
        mark_needed(train->graph, needed, used);
    for (int i = 0; i < n; i++) {
        SrParam *p = sr_params_at(model->params, i);
        frozen += p->trainable && !used[i];
        p->trainable = p->trainable && used[i];
    }
    if (frozen > 0)
        sr_info("%d parameters feed no loss and stay as they are", frozen);
    sr_free(needed);
    sr_free(used);
    return SR_OK;
}

// MODEL.NON_TRAINABLE_PARAMS: names or patterns, each of which must fit something.
static SrStatus freeze_named(SrModel *model) {
    SrStrings names = model->config->model.non_trainable_params;
    for (int i = 0; i < names.n; i++) {
        const char *name = sr__plain_param_name(names.v[i], &model->arena);
        if (!name)
            SR_FAIL(SR_ERR_MEMORY, "out of memory for MODEL.NON_TRAINABLE_PARAMS");
        // A pattern is ours: "heads.*" freezes all heads.
        if (strchr(name, '*') && sr_params_set_trainable(model->params, name, false) > 0)
            continue;
        int index = sr_params_find(model->params, name);
        if (index < 0)
            return sr_freeze_unknown(model->params, "MODEL.NON_TRAINABLE_PARAMS", name);
        sr_params_at(model->params, index)->trainable = false;
    }
    return SR_OK;
}

// One graph, or one of a replica's images and one of the loss over the rows of all.
static SrStatus new_graphs(SrModel *model, SrTrainGraph *out) {
    bool two = out->replicas > 1 && !model->loss->rows_are_independent;
    if (two)
        SR_TRY(new_graph(model, &out->loss_graph));
    SR_TRY(new_graph(model, &out->graph));
    if (!two)
        out->loss_graph = out->graph;
    return SR_OK;
}

static SrStatus build_train(SrModel *model, const Inputs *in, int64_t n_samples,
                            SrTrainGraph *out) {
    SrBuilder *images = NULL, *loss = NULL;
    SrStatus status;
    *out = (SrTrainGraph){.batch = in->batch,
                          .replicas = SR_MAX(model->config->replicas, 1),
                          .library_sums = model->config->reduce == 1,
                          .n_views = in->n,
                          .loss = SR_NO_NODE,
                          .sample_index = SR_NO_NODE,
                          .labels = SR_NO_NODE};
    if (in->n < 1 || in->n > SR_MAX_VIEWS)
        SR_FAIL(SR_ERR_CONFIG, "%d crops an image; 1 to %d are possible", in->n, SR_MAX_VIEWS);
    SR_TRY(read_loss(model));
    SR_TRY(new_graphs(model, out));
    SR_TRY(sr_builder_new(out->graph, &images));
    if (out->loss_graph != out->graph)
        SR_TRY_GOTO(sr_builder_new(out->loss_graph, &loss));
    SR_TRY_GOTO(build_into(model, images, loss ? loss : images, in, n_samples, out));
    SR_TRY_GOTO(freeze_named(model));
    SR_TRY_GOTO(freeze_unused(model, out));
done:
    sr_builder_free(images);
    sr_builder_free(loss);
    return status;
}

SrStatus sr_model_build_train(SrModel *model, int batch, int n_views, const int *h, const int *w,
                              int64_t n_samples, SrTrainGraph *out) {
    Inputs in = {.batch = batch, .n = n_views, .h = h, .w = w, .masked = true};
    return build_train(model, &in, n_samples, out);
}

// ---- a trunk that never moves

bool sr_model_has_frozen_trunk(const SrModel *model) {
    const SrModelConfig *c = &model->config->model;
    return c->eval_mode_on && c->freeze_trunk_only && !c->extract_trunk_features_only &&
           model->features.n > 0;
}

SrStatus sr_model_build_train_heads(SrModel *model, int batch, const SrShape *features, int n,
                                    int64_t n_samples, SrTrainGraph *out) {
    Inputs in = {.batch = batch, .n = n, .features = features};
    return build_train(model, &in, n_samples, out);
}

SrStatus sr_model_build_features(SrModel *model, int batch, int h, int w, SrOutputGraph *out) {
    SrBuilder *b = NULL;
    SrStatus status;
    *out = (SrOutputGraph){.n_views = 1};
    SR_TRY(new_graph(model, &out->graph));
    SR_TRY(sr_builder_new(out->graph, &b));
    Inputs in = {.batch = batch, .n = 1, .h = &h, .w = &w};
    SR_TRY_GOTO(build_inputs(model, b, &in, out->views));
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

// Graphs live as long as the model, and probes between epochs ask for the same one again and again.
static bool eval_is_built(const SrModel *m, int batch, int h, int w, const char *layer) {
    return m->eval.graph && m->eval.batch == batch && m->eval.h == h && m->eval.w == w &&
           strcmp(m->eval.layer, layer) == 0;
}

SrStatus sr_model_build_eval(SrModel *model, int batch, int h, int w, const char *layer,
                             SrGraph **graph, SrNodeId *input, SrNodeId *tap) {
    SrBuilder *b = NULL;
    SrStatus status;
    if (eval_is_built(model, batch, h, w, layer)) {
        *graph = model->eval.graph;
        *input = model->eval.input;
        *tap = model->eval.tap;
        return SR_OK;
    }
    SR_TRY(new_graph(model, graph));
    SR_TRY(sr_builder_new(*graph, &b));
    // torch.fx calls a module's first argument by its name in forward, which is x in torchvision.
    *input = sr_build_input(b, "x", SR_SHAPE(batch, h, w, 3), SR_F32);
    SrTrunkPass pass = {.b = b,
                        .prefix = "",
                        .trainable = true,
                        .features = &(SrFeatures){.n = 0},
                        .in = {*input, SR_NO_NODE}};
    SrTrunkPassed passed;
    // In a train plan statistics are to be collected, also for a trunk that will be frozen.
    model->learn_statistics = true;
    status = sr__model_trunk_pass(model, &pass, &passed);
    model->learn_statistics = false;
    SR_TRY_GOTO(status);
    SR_TRY_GOTO(sr_feature_tap(*graph, layer, tap));
    model->eval.graph = *graph;
    model->eval.batch = batch;
    model->eval.h = h;
    model->eval.w = w;
    model->eval.input = *input;
    model->eval.tap = *tap;
    snprintf(model->eval.layer, sizeof model->eval.layer, "%s", layer);
done:
    sr_builder_free(b);
    return status;
}

static SrStatus build_output_graph(SrModel *model, const Inputs *in, SrOutputGraph *out) {
    SrBuilder *b = NULL;
    SrOutputs outputs;
    SrStatus status;
    *out = (SrOutputGraph){.n_views = in->n};
    if (in->n < 1 || in->n > SR_MAX_VIEWS)
        SR_FAIL(SR_ERR_CONFIG, "%d crops an image; 1 to %d are possible", in->n, SR_MAX_VIEWS);
    SR_TRY(new_graph(model, &out->graph));
    SR_TRY(sr_builder_new(out->graph, &b));
    SR_TRY_GOTO(build_outputs(model, b, in, 0, out->views, &outputs));
    copy_nodes(&outputs, out->outputs, &out->n_outputs);
    SR_TRY_GOTO(freeze_named(model));
done:
    sr_builder_free(b);
    return status;
}

SrStatus sr_model_build_outputs(SrModel *model, int batch, int n_views, const int *h, const int *w,
                                SrOutputGraph *out) {
    Inputs in = {.batch = batch, .n = n_views, .h = h, .w = w};
    return build_output_graph(model, &in, out);
}

SrStatus sr_model_build_head_outputs(SrModel *model, int batch, const SrShape *features, int n,
                                     SrOutputGraph *out) {
    Inputs in = {.batch = batch, .n = n, .features = features};
    return build_output_graph(model, &in, out);
}
