// W-MSE (Ermolov et al., ICML 2021, arXiv:2007.06346).  Embeddings are whitened, and the two
// views of an image are pulled to the same direction.  Whitening keeps embeddings apart, so the
// method needs no negatives and no teacher.  The loss is equation 6 with the cosine of section
// 3.2: mean 2 - 2 cos.
//
// Rows are whitened in groups of w_size images of a view.  The paper draws the groups from a
// batch at random.  A batch comes in random order, so consecutive images are such a draw.
#include "kernels/basic/scale.h"
#include "kernels/basic/slice.h"
#include "kernels/norm/whiten.h"
#include "losses/loss.h"

typedef struct {
    int w_size;
    double eps;
} WmseLoss;

#define FIELD(f) offsetof(WmseLoss, f)
static const SrOption options[] = {
    {"w_size", SR_OPT_INT, FIELD(w_size), "0", 0, 1 << 20,
     .help = "Number of images that are whitened together, about twice the embedding's size; 0: "
             "all images of a step."},
    {"eps", SR_OPT_FLOAT, FIELD(eps), "0", 0, 1,
     .help = "Share of the identity matrix that is mixed into the covariance."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus check(SrLossContext *ctx, const WmseLoss *p, int rows, SrNodeId x) {
    int D = sr_shape_last(sr_build_shape(ctx->builder, x));
    if (ctx->batch % rows != 0)
        return sr_builder_fail(
            ctx->builder, SR_ERR_CONFIG,
            "LOSS.%s.w_size is %d, but a step has %d images; set it to a divisor of that number",
            ctx->name, rows, ctx->batch);
    if (rows <= D && p->eps <= 0)
        return sr_builder_fail(
            ctx->builder, SR_ERR_CONFIG,
            "%s whitens groups of %d images with %d features, whose covariance has no inverse; "
            "raise LOSS.%s.w_size or the batch size above %d, or set LOSS.%s.eps",
            ctx->name, rows, D, ctx->name, 2 * D, ctx->name);
    return SR_OK;
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    const WmseLoss *p = params;
    SrBuilder *b = ctx->builder;
    int rows = p->w_size ? p->w_size : ctx->batch;
    SrNodeId x, views[2];
    *state = NULL;
    SR_TRY(sr_loss_two_views(ctx));
    SR_TRY(sr_loss_output(ctx, "embedding", &x));
    SR_TRY(check(ctx, p, rows, x));
    x = sr_build(b, "whiten", "whiten", &(SrWhitenParams){rows, p->eps}, x);
    for (int v = 0; v < 2; v++)
        views[v] = sr_build(b, "slice", "rows",
                            &(SrSliceParams){.begin = v * ctx->batch, .count = ctx->batch}, x);
    SrNodeId cosine = sr_build_n(b, "cosine_similarity", "cosine", NULL, views, 2);
    *loss = sr_build(b, "scale", "distance", &(SrScaleParams){.factor = -2, .offset = 2}, cosine);
    return sr_builder_status(b);
}

static const SrLossExample examples[] = {
    {NULL, "[[mlp, {dims: [32, 4]}]]", {16, 16}, .may_rise = true},
    {"{w_size: 4, eps: 0.1}",
     "[[mlp, {dims: [32, 32, 8], use_relu: True}]]",
     {16, 16},
     .may_rise = true}};

const SrLoss sr_loss_wmse_loss = {
    .name = "wmse_loss",
    .help = "W-MSE: two views agree after embeddings are whitened",
    .subtree = "LOSS.wmse_loss",
    .options = options,
    .params_bytes = sizeof(WmseLoss),
    .whole_batches = "a group of fewer images than features cannot be whitened",
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
};
