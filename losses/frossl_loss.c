// FroSSL (Skean, Dhakal, Jacobs and Sanchez Giraldo, "FroSSL: Frobenius norm minimization for
// efficient multiview self-supervised learning", ECCV 2024, arXiv:2310.02903).  Any number of views
// of an image are pulled to their mean, and the spectrum of each view's embeddings is made even.
// With embeddings z of length 1, in the constants of the authors' multiview program:
//
//   L = sum over views of log( |K_v|_F^2 / trace(K_v)^2 )
//     + invariance_weight sum over views of the mean over images of |z_v - mean of the views|^2
#include "kernels/basic/scale.h"
#include "kernels/losses/views/sigreg.h"
#include "kernels/losses/views/views.h"
#include "kernels/norm/l2_normalize.h"
#include "losses/loss.h"

typedef struct {
    double invariance_weight;
} FrosslLoss;

static const SrOption options[] = {
    {"invariance_weight", SR_OPT_FLOAT, offsetof(FrosslLoss, invariance_weight), "1", 0, 1e6,
     .help = "Weight of the distance of views from their mean."},
    SR_OPTION_END,
};

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    const FrosslLoss *p = params;
    SrBuilder *b = ctx->builder;
    SrNodeId x, terms[2];
    *state = NULL;
    SR_TRY(sr_loss_many_views(ctx));
    SR_TRY(sr_loss_output(ctx, "embedding", &x));
    x = sr_build(b, "l2_normalize", "unit", &(SrL2NormalizeParams){0}, x);
    terms[0] = sr_build(b, "frobenius_log", "spectrum", &(SrViewsParams){ctx->n_views}, x);
    terms[1] =
        sr_build(b, "view_spread", "spread", &(SrViewSpreadParams){ctx->n_views, ctx->n_views}, x);
    // view_spread is a mean over views and features, and the method's term a sum.
    double count = (double)ctx->n_views * sr_shape_last(sr_build_shape(b, x));
    terms[1] = sr_build(b, "scale", "weight",
                        &(SrScaleParams){.factor = p->invariance_weight * count}, terms[1]);
    *loss = sr_build_n(b, "add", "add", NULL, terms, 2);
    return sr_builder_status(b);
}

static const SrLossExample examples[] = {
    {NULL,
     "[[mlp, {dims: [32, 32, 16], use_bn: True, use_relu: True}]]",
     {16, 16},
     .may_rise = false},
    {"{invariance_weight: 2}",
     "[[mlp, {dims: [32, 32, 16], use_bn: True, use_relu: True}]]",
     {16, 16, 8},
     .may_rise = false}};

const SrLoss sr_loss_frossl_loss = {
    .name = "frossl_loss",
    .help = "FroSSL: views are pulled to their mean, and the spectrum of each is made even",
    .subtree = "LOSS.frossl_loss",
    .options = options,
    .params_bytes = sizeof(FrosslLoss),
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
};
