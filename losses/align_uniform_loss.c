// Alignment and uniformity (Wang and Isola, ICML 2020, arXiv:2005.10242).  On the unit sphere the
// loss pulls the two views of an image together and spreads the images of each view.
// kernels/losses/align_uniform.c has the equations.
//
// The uniformity term takes all pairs of different images of the step, as the authors' program
// does. The paper's mean also contains the pair of each image with itself.
#include "kernels/losses/align_uniform.h"
#include "kernels/norm/l2_normalize.h"
#include "losses/loss.h"

#define FIELD(f) offsetof(SrAlignUniformParams, f)
static const SrOption options[] = {
    {"alpha", SR_OPT_FLOAT, FIELD(alpha), "2", 1, 64,
     .help = "Power of the distance between the two views of an image."},
    {"t", SR_OPT_FLOAT, FIELD(t), "2", 1e-6, 1e6,
     .help = "Factor t of exp(-t |x - y|^2), which is averaged over pairs of images; the larger it "
             "is, the more near neighbours count."},
    {"lambda", SR_OPT_FLOAT, FIELD(lambda), "1", 0, 1e6, .help = "Weight of the uniformity term."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    SrNodeId x;
    *state = NULL;
    SR_TRY(sr_loss_two_views(ctx));
    SR_TRY(sr_loss_many_images(ctx));
    SR_TRY(sr_loss_output(ctx, "embedding", &x));
    x = sr_build(ctx->builder, "l2_normalize", "normalize", &(SrL2NormalizeParams){0}, x);
    *loss = sr_build(ctx->builder, "align_uniform", "align_uniform", params, x);
    return sr_builder_status(ctx->builder);
}

static const SrLossExample examples[] = {
    {NULL, "[[mlp, {dims: [32, 32, 8], use_bn: True, use_relu: True}]]", .sizes = {16, 16}},
    {"{alpha: 1, t: 4, lambda: 0.5}", "[[mlp, {dims: [32, 8]}]]", .sizes = {16, 16}}};

const SrLoss sr_loss_align_uniform_loss = {
    .name = "align_uniform_loss",
    .help = "Alignment of two views and uniformity of each on the unit sphere",
    .subtree = "LOSS.align_uniform_loss",
    .options = options,
    .params_bytes = sizeof(SrAlignUniformParams),
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
};
