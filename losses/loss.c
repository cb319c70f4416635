// The list of losses, and the functions that losses call: while they build their part of the graph,
// and in their hooks to read the values of nodes.
#include "losses/loss.h"

#include <string.h>

#include "base/plugin/plugin.h"
#include "gen/loss.def"

SR_REGISTRY(SrLoss, loss, loss, "loss")

SrStatus sr_loss_run(SrLossContext *ctx, const SrModelRun *run, SrOutputs *out) {
    *out = (SrOutputs){.n = 0};
    SR_TRY(sr_builder_status(ctx->builder));
    return ctx->services->run(ctx, run, out);
}

SrStatus sr_loss_head(SrLossContext *ctx, const SrLossHead *head, SrNodeId x, SrOutputs *out) {
    *out = (SrOutputs){.n = 0};
    SR_TRY(sr_builder_status(ctx->builder));
    return ctx->services->head(ctx, head, x, out);
}

SrStatus sr_loss_two_views(SrLossContext *ctx) {
    if (ctx->n_views == 2)
        return sr_builder_status(ctx->builder);
    return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                           "%s compares two views of an image, but DATA.TRAIN.TRANSFORMS make %d; "
                           "add ImgReplicatePil with num_times: 2",
                           ctx->name, ctx->n_views);
}

SrStatus sr_loss_many_views(SrLossContext *ctx) {
    if (ctx->n_views >= 2)
        return sr_builder_status(ctx->builder);
    return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                           "LOSS.%s needs at least two views of an image", ctx->name);
}

// A data set of one image has no batch size that would help.
SrStatus sr_loss_many_images(SrLossContext *ctx) {
    if (ctx->batch >= 2)
        return sr_builder_status(ctx->builder);
    if (ctx->n_samples == 1)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "DATA.TRAIN has one image, but %s compares the images of a step; "
                               "give it two or more",
                               ctx->name);
    if (ctx->rest)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "DATA.TRAIN.DROP_LAST=False leaves a last batch of one image, but "
                               "%s compares the images of a step; set it to True, or change "
                               "BATCHSIZE_PER_REPLICA",
                               ctx->name);
    return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                           "%s compares the images of a step, but a step has one; set "
                           "DATA.TRAIN.BATCHSIZE_PER_REPLICA to at least 2",
                           ctx->name);
}

SrStatus sr_loss_global_views(SrLossContext *ctx, int global) {
    SR_TRY(sr_loss_many_views(ctx));
    if (global <= ctx->n_views)
        return SR_OK;
    return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                           "LOSS.%s.global_views is %d, but there are %d views per image",
                           ctx->name, global, ctx->n_views);
}

SrStatus sr_loss_check_views(SrLossContext *ctx, const char *key, SrInts views) {
    bool seen[SR_MAX_VIEWS] = {false};
    for (int i = 0; i < views.n; i++) {
        if (views.v[i] < 0 || views.v[i] >= ctx->n_views || seen[views.v[i]])
            return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                                   "LOSS.%s.%s holds %d: expected different numbers from 0 to %d, "
                                   "the views of an image",
                                   ctx->name, key, views.v[i], ctx->n_views - 1);
        seen[views.v[i]] = true;
    }
    return sr_builder_status(ctx->builder);
}

SrStatus sr_loss_output(SrLossContext *ctx, const char *name, SrNodeId *node) {
    return sr_outputs_get(ctx->builder, &ctx->outputs, ctx->name, name, node);
}

SrStatus sr_loss_extra(SrLossContext *ctx, const char *name, int view, SrNodeId *node) {
    SR_TRY(sr_builder_status(ctx->builder));
    *node = ctx->services->extra(ctx, name, view);
    if (*node != SR_NO_NODE)
        return sr_builder_status(ctx->builder);
    return sr_builder_fail(
        ctx->builder, SR_ERR_CONFIG,
        "%s needs the tensor '%s' of view %d in every batch, but neither DATA.TRAIN.TRANSFORMS nor "
        "COLLATE_FUNCTION makes it%s",
        ctx->name, name, view,
        strcmp(name, "mask") == 0 ? ": add {name: MaskedImageModeling} at the end" : "");
}

SrNodeId sr_loss_view(SrLossContext *ctx, int view) {
    SrNodeId node = SR_NO_NODE;
    if (sr_builder_status(ctx->builder) == SR_OK)
        node = ctx->services->view(ctx, view);
    if (node == SR_NO_NODE)
        sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                        "%s needs the images, but heads on a frozen trunk see only features; set "
                        "MODEL.FEATURE_EVAL_SETTINGS.FREEZE_TRUNK_ONLY=False",
                        ctx->name);
    return node;
}

SrStatus sr_loss_keep(SrLossContext *ctx, SrNodeId node) {
    for (int i = 0; i < ctx->n_kept; i++)
        if (ctx->kept[i] == node)
            return SR_OK;
    if (ctx->n_kept == SR_LOSS_MAX_KEPT)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "%s keeps more than %d nodes for its hooks", ctx->name,
                               SR_LOSS_MAX_KEPT);
    ctx->kept[ctx->n_kept++] = node;
    return sr_builder_status(ctx->builder);
}

void *sr_loss_alloc(SrLossContext *ctx, size_t bytes) {
    void *p = sr_arena_alloc(sr_graph_arena(sr_builder_graph(ctx->builder)), bytes);
    if (!p)
        sr_builder_fail(ctx->builder, SR_ERR_MEMORY, "out of memory for %s", ctx->name);
    return p;
}

SrTensor sr_loss_value(const SrLossStep *step, SrNodeId node) {
    for (int i = 0; i < step->n_values; i++)
        if (step->values[i].node == node)
            return step->values[i].value;
    return sr_plan_output(step->plan, node);
}

double sr_loss_mean(const SrLossStep *step, SrNodeId node) {
    SrTensor t = sr_loss_value(step, node);
    int64_t n = sr_shape_count(t.shape);
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)((const float *)t.data)[i];
    return sum / (double)SR_MAX(n, 1);
}

SrTensor sr_loss_input(const SrLossStep *step, SrNodeId input) {
    return sr_plan_input(step->plan, input);
}
