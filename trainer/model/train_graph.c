// Builds the training graph: the model on a step's views, targets and the loss, in one graph or
// in two (trainer/run/ranks/replicas.h).  Freezes parameters that do not learn in it.
#include "trainer/model/train_graph.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "data/extras.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/config/vissl/sharding.h"
#include "trainer/model/freeze.h"
#include "trainer/model/model_internal.h"

// Builds the loss; its own parameters and nodes are named under "loss.".
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
        SR_FAIL(SR_ERR_CONFIG, "loss %s gives %lld numbers, expected one", model->loss->name,
                (long long)sr_shape_count(shape));
    for (int i = 0; i < ctx->n_kept; i++)
        out->outputs[out->n_outputs++] = ctx->kept[i];
    return SR_OK;
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

// Builds the soft labels: a distribution over the classes per view and image, (views * N, classes),
// view-major.
static SrNodeId soft_labels(SrModel *model, SrBuilder *b) {
    SrNodeId view[SR_OP_MAX_IN], x;
    int n = 0;
    while (n < SR_OP_MAX_IN && (x = sr__model_extra(model, SR_EXTRA_LABEL, n)) != SR_NO_NODE)
        view[n++] = x;
    return n < 2 ? n ? view[0] : SR_NO_NODE : sr_build_n(b, "concat", "labels", NULL, view, n);
}

// Builds the inputs for indices and labels of a replica's images, which the feed fills.  *labels
// gets the hard or the soft labels.
static void build_targets(SrModel *model, SrBuilder *b, const SrModelInputs *in, SrTrainGraph *out,
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

static SrStatus build_into(SrModel *model, SrBuilder *images, SrBuilder *loss,
                           const SrModelInputs *in, int64_t n_samples, SrTrainGraph *out) {
    bool two = images != loss;
    const SrConfig *config = model->config;
    int rounds = config->optimizer.accumulation;
    int replicas = model->loss->rows_are_independent ? 1 : out->replicas * config->sync_bn_group;
    SrLossContext ctx = {.builder = loss,
                         .name = model->loss->name,
                         .batch = two ? in->batch * out->replicas : in->batch,
                         .rest = in->batch < config->batch,
                         .replicas = replicas,
                         .processes = SR_MAX(replicas / rounds, 1),
                         .n_views = in->n,
                         .n_samples = n_samples,
                         .seed = model->config->seed,
                         .services = &sr__loss_services,
                         .model = model};
    model->images = images;
    model->train = out;
    SrNodeId labels;
    build_targets(model, images, in, out, &labels);
    SR_TRY(sr__model_outputs(model, images, in, SR_MIN(model->loss->student_views, in->n),
                             out->views, &ctx.outputs));
    SR_TRY(sr_builder_status(images));
    sr__model_cross_all(model, loss, &ctx.outputs, true);
    sr__model_copy_nodes(&ctx.outputs, out->outputs, &out->n_model_outputs);
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

// Marks all nodes that needed nodes depend on.  Goes backwards: index order is execution order.
static void mark_needed(const SrGraph *graph, bool *needed, bool *used) {
    for (SrNodeId id = sr_graph_count(graph) - 1; id >= 0; id--) {
        const SrNode *node = sr_graph_at(graph, id);
        for (int i = 0; needed[id] && i < node->n_in; i++)
            needed[node->in[i]] = true;
        for (int i = 0; needed[id] && i < node->n_w; i++)
            used[node->w[i]] = true;
    }
}

// Marks the nodes of a replica that the loss reads; the others need no gradient.
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

// Freezes parameters that the loss does not depend on.  In torch they have no gradient and no
// update; with a gradient of zero, weight decay would shrink them.
static SrStatus freeze_unused(SrModel *model, SrTrainGraph *train) {
    int n = sr_params_count(model->params), frozen = 0;
    int nodes = SR_MAX(sr_graph_count(train->graph), sr_graph_count(train->loss_graph));
    bool *needed = sr_calloc((size_t)nodes + 1, sizeof *needed);
    bool *used = sr_calloc((size_t)n + 1, sizeof *used);
    if (!needed || !used) {
        sr_free(needed);
        sr_free(used);
        return sr_out_of_memory("%d parameters", n);
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
        sr_info("%d parameters do not affect the loss and stay unchanged", frozen);
    sr_free(needed);
    sr_free(used);
    return SR_OK;
}

// Each entry of MODEL.NON_TRAINABLE_PARAMS is a name or a pattern, and must match a parameter.
SrStatus sr__model_freeze_named(SrModel *model) {
    SrStrings names = model->config->model.non_trainable_params;
    for (int i = 0; i < names.n; i++) {
        const char *name = sr__plain_param_name(names.v[i], &model->arena);
        SR_TRY_MEMORY(name, "MODEL.NON_TRAINABLE_PARAMS");
        // VISSL has no patterns: "heads.*" freezes all heads.
        if (strchr(name, '*') && sr_params_set_trainable(model->params, name, false) > 0)
            continue;
        int index = sr_params_find(model->params, name);
        if (index < 0)
            return sr_freeze_unknown(model->params, "MODEL.NON_TRAINABLE_PARAMS", name);
        sr_params_at(model->params, index)->trainable = false;
    }
    return SR_OK;
}

// Makes one graph, or two: a replica's images, and the loss over the rows of all replicas.
static SrStatus new_graphs(SrModel *model, SrTrainGraph *out) {
    bool two = out->replicas > 1 && !model->loss->rows_are_independent;
    if (two)
        SR_TRY(sr__model_new_graph(model, &out->loss_graph));
    SR_TRY(sr__model_new_graph(model, &out->graph));
    if (!two)
        out->loss_graph = out->graph;
    return SR_OK;
}

static SrStatus build_train(SrModel *model, const SrModelInputs *in, int64_t n_samples,
                            SrTrainGraph *out) {
    SrBuilder *images = NULL, *loss = NULL;
    SrStatus status;
    *out = (SrTrainGraph){.batch = in->batch,
                          .replicas = SR_MAX(model->config->replicas, 1),
                          .library_sums = model->config->reduce == SR_REDUCE_MPI,
                          .n_views = in->n,
                          .loss = SR_NO_NODE,
                          .sample_index = SR_NO_NODE,
                          .labels = SR_NO_NODE};
    if (in->n < 1 || in->n > SR_MAX_VIEWS)
        SR_FAIL(SR_ERR_CONFIG, "there are %d crops per image, expected 1 to %d", in->n,
                SR_MAX_VIEWS);
    SR_TRY(sr__model_read_loss(model));
    SR_TRY(sr__norm_group_check_loss(model->config, model->loss));
    SR_TRY(new_graphs(model, out));
    SR_TRY(sr_builder_new(out->graph, &images));
    if (out->loss_graph != out->graph)
        SR_TRY_GOTO(sr_builder_new(out->loss_graph, &loss));
    SR_TRY_GOTO(build_into(model, images, loss ? loss : images, in, n_samples, out));
    sr__norm_group_set(model->config, out->graph);
    SR_TRY_GOTO(sr__model_freeze_named(model));
    SR_TRY_GOTO(freeze_unused(model, out));
done:
    sr_builder_free(images);
    sr_builder_free(loss);
    return status;
}

SrStatus sr_model_build_train(SrModel *model, int batch, int n_views, const int *h, const int *w,
                              int64_t n_samples, SrTrainGraph *out) {
    SrModelInputs in = {.batch = batch, .n = n_views, .h = h, .w = w, .masked = true};
    return build_train(model, &in, n_samples, out);
}

SrStatus sr_model_build_train_heads(SrModel *model, int batch, const SrShape *features, int n,
                                    int64_t n_samples, SrTrainGraph *out) {
    SrModelInputs in = {.batch = batch, .n = n, .features = features};
    return build_train(model, &in, n_samples, out);
}
