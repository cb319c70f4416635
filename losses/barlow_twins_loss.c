// Barlow Twins (Zbontar et al., ICML 2021, arXiv:2103.03230).  Each feature of two views'
// embeddings should be equal, and different features should be uncorrelated.
// kernels/losses/barlow_twins.c has the arithmetic.
//
// VISSL normalises both views together; normalize_views=separate is the paper's way.
//
// With R processes the gradient is 1 / R of the loss's gradient.  The authors' program and VISSL
// sum the matrix over all processes.  Each process then computes the gradient of its own rows
// alone, and parameter gradients are averaged over processes.  Published learning rates are
// chosen for that.
#include "kernels/basic/scale.h"
#include "kernels/losses/barlow_twins.h"
#include "losses/loss.h"

typedef struct {
    SrBarlowTwinsParams op; // per_view comes from normalize_views
    int embedding_dim, normalize_views;
} BarlowTwinsLoss;

#define FIELD(f) offsetof(BarlowTwinsLoss, f)
static const SrOption options[] = {
    {"lambda_", SR_OPT_FLOAT, FIELD(op.lambda), "0.0051", 0, 1e6,
     .help = "Weight of the entries off the diagonal of the cross-correlation."},
    {"scale_loss", SR_OPT_FLOAT, FIELD(op.scale), "0.024", 0, 1e6,
     .help = "Factor of the whole loss."},
    {"embedding_dim", SR_OPT_INT, FIELD(embedding_dim), "8192", 1, 1 << 24,
     .help = "Size of an embedding: the last number of the head's dims."},
    {"normalize_views", SR_OPT_ENUM, FIELD(normalize_views), "together",
     .choices = "together|separate",
     .help = "Mean and variance of a feature: over both views together, as in VISSL, or of each "
             "view separately."},
    SR_OPTION_END,
};
#undef FIELD

// Keeps the value of the loss and scales its gradient by 1 / processes.
static SrNodeId share_gradient(SrLossContext *ctx, SrNodeId loss) {
    SrBuilder *b = ctx->builder;
    double share = 1.0 / ctx->processes;
    SrScaleParams learns = {.factor = share}, rest = {.factor = 1 - share};
    SrNodeId value = sr_build(b, "detach", "value", NULL, loss);
    return sr_build_n(b, "add", "shared", NULL,
                      (SrNodeId[]){sr_build(b, "scale", "learns", &learns, loss),
                                   sr_build(b, "scale", "rest", &rest, value)},
                      2);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    const BarlowTwinsLoss *p = params;
    SrNodeId x;
    *state = NULL;
    SR_TRY(sr_loss_two_views(ctx));
    SR_TRY(sr_loss_many_images(ctx));
    SR_TRY(sr_loss_output(ctx, "embedding", &x));
    if (sr_shape_last(sr_build_shape(ctx->builder, x)) != p->embedding_dim)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "LOSS.%s.embedding_dim is %d, but the embeddings have %d", ctx->name,
                               p->embedding_dim, sr_shape_last(sr_build_shape(ctx->builder, x)));
    SrBarlowTwinsParams op = p->op;
    op.per_view = p->normalize_views == 1;
    *loss = sr_build(ctx->builder, "barlow_twins", "barlow_twins", &op, x);
    if (ctx->processes > 1)
        *loss = share_gradient(ctx, *loss);
    return sr_builder_status(ctx->builder);
}

static const SrLossExample examples[] = {
    {"{embedding_dim: 16}",
     "[[mlp, {dims: [32, 32, 16], use_bn: True, use_relu: True}]]",
     {16, 16},
     .may_rise = true},
    {"{embedding_dim: 16, normalize_views: separate}",
     "[[mlp, {dims: [32, 16]}]]",
     {16, 16},
     .may_rise = true}};

const SrLoss sr_loss_barlow_twins_loss = {
    .name = "barlow_twins_loss",
    .help = "Barlow Twins: the cross-correlation of two views is pulled to the identity",
    .subtree = "LOSS.barlow_twins_loss",
    .options = options,
    .params_bytes = sizeof(BarlowTwinsLoss),
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
};
