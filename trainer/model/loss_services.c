// Serves a loss while it is built: runs the model once more or adds the loss's own heads, in the
// graph of the images, and hands the outputs to the loss's graph.
#include <stdio.h>

#include "kernels/memory/copy_state.h"
#include "trainer/model/model_forward.h"
#include "trainer/model/model_internal.h"
#include "trainer/model/train_graph.h"

// ---- from the graph of the images to the loss's graph

static const SrRowsLink *find_link(const SrTrainGraph *train, SrNodeId replica, SrNodeId world) {
    for (int i = 0; i < train->n_rows; i++)
        if (train->rows[i].replica == replica || train->rows[i].world == world)
            return &train->rows[i];
    return NULL;
}

SrNodeId sr__model_cross(SrModel *model, SrBuilder *loss, SrNodeId node, bool learns) {
    SrTrainGraph *train = model->train;
    const SrRowsLink *link = find_link(train, node, SR_NO_NODE);
    char name[32];
    if (train->graph == train->loss_graph || node == SR_NO_NODE)
        return node;
    if (link)
        return link->world;
    if (train->n_rows == SR_MAX_ROWS) {
        sr_builder_fail(loss, SR_ERR_CONFIG, "a loss over more than %d outputs of the model",
                        SR_MAX_ROWS);
        return SR_NO_NODE;
    }
    const SrNode *from = sr_graph_at(train->graph, node);
    SrShape shape = from->shape;
    shape.d[0] *= train->replicas;
    snprintf(name, sizeof name, "rows%d", train->n_rows);
    SrNodeId world = sr_build_input(loss, name, shape, from->dtype);
    train->rows[train->n_rows++] = (SrRowsLink){node, world, learns, false};
    return world;
}

void sr__model_cross_all(SrModel *model, SrBuilder *loss, SrOutputs *outputs, bool learns) {
    for (int i = 0; i < outputs->n; i++)
        outputs->v[i].node = sr__model_cross(model, loss, outputs->v[i].node, learns);
}

// Finds the node of the images' graph for a node that the loss has.
static SrStatus back(SrLossContext *ctx, SrNodeId x, SrNodeId *out) {
    SrModel *model = ctx->model;
    const SrRowsLink *link = find_link(model->train, SR_NO_NODE, x);
    *out = x;
    if (model->train->graph == model->train->loss_graph)
        return SR_OK;
    if (!link)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "%s puts a head on one of its own nodes, but only outputs of the "
                               "model and of its heads can have heads",
                               ctx->name);
    *out = link->replica;
    return SR_OK;
}

// ---- services

// Returns an input like the view's, for images in the order of the step's permutation.
static SrNodeId shuffled_view(SrModel *model, int view) {
    SrTrainGraph *train = model->train;
    char name[32];
    for (int i = 0; i < train->n_shuffled; i++)
        if (train->shuffled[i].view == view)
            return train->shuffled[i].input;
    snprintf(name, sizeof name, "shuffled%d", view);
    SrShape shape = sr_build_shape(model->images, model->view_node[view]);
    SrNodeId input = sr_build_input(model->images, name, shape, SR_F32);
    train->shuffled[train->n_shuffled++] = (SrShuffledView){input, view};
    return input;
}

// Runs the model, or the teacher's, on views, under the prefix that the loss gives.
static SrStatus run(SrLossContext *ctx, const SrModelRun *run, SrOutputs *out) {
    SrModel *model = ctx->model;
    SrNodeId inputs[SR_MAX_VIEWS];
    int n = run->views ? run->n_views : ctx->n_views;
    if (model->n_view_nodes < ctx->n_views)
        return sr_builder_fail(
            ctx->builder, SR_ERR_CONFIG,
            "%s runs the model on the images, but heads on a frozen trunk see only features; set "
            "MODEL.FEATURE_EVAL_SETTINGS.FREEZE_TRUNK_ONLY=False",
            ctx->name);
    if (run->visible && model->train->graph != model->train->loss_graph)
        return sr_builder_fail(ctx->builder, SR_ERR_RUN,
                               "%s chooses visible patches, but its rows are not independent",
                               ctx->name);
    // VISSL does not shuffle where batch norms span several replicas.
    bool shuffle = run->shuffle && model->train->graph != model->train->loss_graph &&
                   !model->config->model.sync_bn;
    int first = model->train->n_rows;
    for (int i = 0; i < n; i++) {
        int view = run->views ? run->views[i] : i;
        inputs[i] = shuffle ? shuffled_view(model, view) : model->view_node[view];
    }
    if (run->teacher)
        SR_TRY(sr__model_teacher(model, run, n, out));
    else
        SR_TRY(sr_model_forward(model, model->images, run, inputs, n, out));
    sr__model_cross_all(model, ctx->builder, out, run->trainable && !run->teacher && !shuffle);
    for (int i = first; i < model->train->n_rows; i++)
        model->train->rows[i].shuffled = shuffle;
    return sr_builder_status(ctx->builder);
}

static SrStatus head(SrLossContext *ctx, const SrLossHead *head, SrNodeId x, SrOutputs *out) {
    SrModel *model = ctx->model;
    SR_TRY(back(ctx, x, &x));
    SR_TRY(sr__model_loss_head(model, model->images, head, x, out));
    sr__model_cross_all(model, ctx->builder, out, true);
    return sr_builder_status(ctx->builder);
}

// The copy has the student's output as input only to run after the student's forward pass.
static SrStatus copy_statistics(SrLossContext *ctx, int to, int from) {
    SrModel *model = ctx->model;
    SrCopyStateParams p = {.count = (int)sr_shape_count(sr_params_at(model->params, from)->shape)};
    SrNodeId x;
    SR_TRY(back(ctx, ctx->outputs.v[0].node, &x));
    sr_build_bound(model->images, "copy_state", "copy_state", &p, &x, 1, (int[]){to, from}, 2);
    return sr_builder_status(model->images);
}

static SrNodeId extra(SrLossContext *ctx, const char *name, int view) {
    return sr__model_cross(ctx->model, ctx->builder, sr__model_extra(ctx->model, name, view),
                           false);
}

static SrNodeId view(SrLossContext *ctx, int v) {
    SrModel *model = ctx->model;
    return v < model->n_view_nodes
               ? sr__model_cross(model, ctx->builder, model->view_node[v], false)
               : SR_NO_NODE;
}

const SrLossServices sr__loss_services = {run, head, copy_statistics, extra, view};
