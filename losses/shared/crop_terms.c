// Terms of the losses that compare a student's crops and patches with a teacher's distributions.
#include "losses/shared/crop_terms.h"

#include <stdio.h>

#include "graph/ir/token_blocks.h"
#include "kernels/activation/softmax.h"
#include "kernels/basic/interpolate.h"
#include "kernels/basic/scale.h"
#include "kernels/basic/slice.h"
#include "kernels/losses/soft_cross_entropy.h"
#include "kernels/tokens/mask_weights.h"

const int *sr_first_views(int n) {
    static const int numbers[SR_MAX_VIEWS] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    return n > 0 && n <= SR_MAX_VIEWS ? numbers : NULL;
}

SrStatus sr_crop_terms_check(SrLossContext *ctx, const char *key, int crops) {
    if (ctx->n_views == crops)
        return sr_builder_status(ctx->builder);
    return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                           "LOSS.%s.%s is %d, but there are %d crops per image", ctx->name, key,
                           crops, ctx->n_views);
}

// ---- crops

static SrNodeId rows_of(SrLossContext *ctx, const char *what, SrNodeId x, int crop, int crops) {
    char leaf[32];
    int n = sr_build_shape(ctx->builder, x).d[0] / SR_MAX(crops, 1);
    SrSliceParams rows = {.begin = crop * n, .count = n};
    snprintf(leaf, sizeof leaf, "%s%d", what, crop);
    return crops == 1 ? x : sr_build(ctx->builder, "slice", leaf, &rows, x);
}

static SrNodeId sum(SrLossContext *ctx, const char *leaf, const SrNodeId *x, int n) {
    SrNodeId total = x[0];
    for (int at = 1; at < n; at += SR_OP_MAX_IN - 1) {
        SrNodeId part[SR_OP_MAX_IN] = {total};
        int k = 1;
        for (; k < SR_OP_MAX_IN && at + k - 1 < n; k++)
            part[k] = x[at + k - 1];
        total = sr_build_n(ctx->builder, "add", leaf, NULL, part, k);
    }
    return total;
}

static bool is_pair(const SrCropTerms *t, int q, int v) {
    return t->pairs == SR_CROPS_OTHERS ? v != q : v == q || v >= t->n_teacher;
}

// The cross entropy is linear in its target.  A crop that learns from several targets is therefore
// one term against the sum of the targets.
SrStatus sr_crop_terms_build(SrLossContext *ctx, const SrCropTerms *t, SrNodeId *loss) {
    SrBuilder *b = ctx->builder;
    SrNodeId target[SR_MAX_VIEWS], term[SR_MAX_VIEWS];
    SrSoftCrossEntropyParams p = {.temperature = t->temperature};
    int n_terms = 0, pairs = 0;
    for (int q = 0; q < t->n_teacher; q++)
        target[q] = rows_of(ctx, "target", t->targets, q, t->n_teacher);
    for (int v = 0; v < t->n_student; v++) {
        SrNodeId learned[SR_MAX_VIEWS];
        int n = 0;
        for (int q = 0; q < t->n_teacher; q++)
            if (is_pair(t, q, v))
                learned[n++] = target[q];
        pairs += n;
        if (n == 0)
            continue;
        SrNodeId in[2] = {rows_of(ctx, "crop", t->student, v, t->n_student),
                          sum(ctx, "targets", learned, n)};
        term[n_terms++] = sr_build_n(b, "soft_cross_entropy", "cross_entropy", &p, in, 2);
    }
    SR_TRY(sr_builder_status(b));
    if (pairs == 0)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "LOSS.%s: there is only one crop, but swapped_assignment needs "
                               "several; set it to False or make more crops",
                               ctx->name);
    *loss = sr_build(b, "scale", "mean", &(SrScaleParams){.factor = 1.0 / pairs},
                     sum(ctx, "sum", term, n_terms));
    return sr_builder_status(b);
}

// ---- teachers

SrModelRun sr_teacher_run(int n_views) {
    return (SrModelRun){.prefix = SR_TEACHER_PREFIX,
                        .teacher = true,
                        .views = sr_first_views(n_views),
                        .n_views = n_views};
}

SrStatus sr_teacher_model_build(SrLossContext *ctx, int n_views, SrOutputs *out) {
    SrModelRun run = sr_teacher_run(n_views);
    if (n_views > ctx->n_views)
        return sr_builder_fail(
            ctx->builder, SR_ERR_CONFIG,
            "LOSS.%s: the teacher should see %d crops, but there are only %d per image", ctx->name,
            n_views, ctx->n_views);
    return sr_loss_run(ctx, &run, out);
}

SrNodeId sr_teacher_targets(SrLossContext *ctx, const char *leaf, SrNodeId x, double temperature,
                            SrNodeId by, int center) {
    SrSoftmaxParams p = {.temperature = temperature, .centered = center >= 0};
    SrNodeId in[2] = {x, by};
    return sr_build_bound(ctx->builder, "softmax", leaf, &p, in, temperature > 0 ? 1 : 2, &center,
                          center >= 0);
}

SrNodeId sr_student_map(SrLossContext *ctx, const char *leaf, SrNodeId map, SrShape like) {
    SrBuilder *b = ctx->builder;
    SrInterpolateParams grid = {.h = like.d[1], .w = like.d[2]};
    SrShape own = sr_build_shape(b, map);
    map = sr_token_linear(b, leaf, map, like.d[3], true, 0.02);
    return own.d[1] == grid.h && own.d[2] == grid.w
               ? map
               : sr_build(b, "interpolate", "teacher_grid", &grid, map);
}

// The divergence is the cross entropy minus the teacher's own entropy.
SrNodeId sr_divergence(SrLossContext *ctx, double temperature, SrNodeId t, SrNodeId s) {
    SrBuilder *b = ctx->builder;
    SrSoftCrossEntropyParams op = {.temperature = temperature};
    SrNodeId q = sr_teacher_targets(ctx, "targets", t, temperature, SR_NO_NODE, -1);
    SrNodeId cross =
        sr_build_n(b, "soft_cross_entropy", "cross_entropy", &op, (SrNodeId[]){s, q}, 2);
    SrNodeId own = sr_build_n(b, "soft_cross_entropy", "entropy", &op, (SrNodeId[]){t, q}, 2);
    own = sr_build(b, "scale", "own", &(SrScaleParams){.factor = -1}, own);
    return sr_build_n(b, "add", "divergence", NULL, (SrNodeId[]){cross, own}, 2);
}

// ---- patches

SrNodeId sr_patch_term(SrLossContext *ctx, SrNodeId scores, SrNodeId targets, SrNodeId mask,
                       double temperature) {
    SrBuilder *b = ctx->builder;
    SrNodeId weights = sr_build(b, "mask_weights", "mask_weights", &(SrMaskWeightsParams){0}, mask);
    SrSoftCrossEntropyParams p = {.temperature = temperature};
    return sr_build_n(b, "soft_cross_entropy", "patch_cross_entropy", &p,
                      (SrNodeId[]){scores, targets, weights}, 3);
}

SrStatus sr_view_masks(SrLossContext *ctx, int n, SrNodeId *mask) {
    SrNodeId all[SR_OP_MAX_IN];
    if (n < 1 || n > SR_OP_MAX_IN)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "%s: %d views have masks, expected 1 to %d", ctx->name, n,
                               SR_OP_MAX_IN);
    for (int v = 0; v < n; v++)
        SR_TRY(sr_loss_extra(ctx, "mask", v, &all[v]));
    *mask = n == 1 ? all[0] : sr_build_n(ctx->builder, "concat", "mask", NULL, all, n);
    return sr_builder_status(ctx->builder);
}

SrStatus sr_all_views(SrLossContext *ctx, const SrOutputs *outputs, const char *name,
                      SrNodeId *out) {
    SrNodeId all[SR_OP_MAX_IN];
    const SrOutput *o;
    int n = 0;
    while (n < SR_OP_MAX_IN && (o = sr_outputs_find(outputs, name, n)))
        all[n++] = o->node;
    if (n < 2)
        return sr_outputs_get(ctx->builder, outputs, ctx->name, name, out);
    *out = sr_build_n(ctx->builder, "concat", name, NULL, all, n);
    return sr_builder_status(ctx->builder);
}
