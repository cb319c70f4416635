// VICReg (Bardes, Ponce and LeCun, ICLR 2022, arXiv:2105.04906).  Three terms pull the embeddings
// of two views together, make every feature vary, and keep features from varying together.
// kernels/losses/vicreg.c has the equations.
#include "kernels/losses/vicreg.h"
#include "losses/loss.h"

typedef struct {
    SrVicregParams op; // `paper` comes from `form`
    int form;
} VicregLoss;

#define FIELD(f) offsetof(VicregLoss, f)
static const SrOption options[] = {
    {"sim_coeff", SR_OPT_FLOAT, FIELD(op.sim_coeff), "25", 0, 1e6,
     .help = "Weight of the invariance term."},
    {"std_coeff", SR_OPT_FLOAT, FIELD(op.std_coeff), "25", 0, 1e6,
     .help = "Weight of the variance term."},
    {"cov_coeff", SR_OPT_FLOAT, FIELD(op.cov_coeff), "1", 0, 1e6,
     .help = "Weight of the covariance term."},
    {"gamma", SR_OPT_FLOAT, FIELD(op.gamma), "1", 0, 1e6,
     .help = "Standard deviation that the variance term keeps each feature above."},
    {"eps", SR_OPT_FLOAT, FIELD(op.eps), "1e-4", 1e-12, 1,
     .help = "Number added to variances before the square root."},
    {"form", SR_OPT_ENUM, FIELD(form), "official", .choices = "official|paper",
     .help = "official: invariance is a mean over features too and variance is halved, as in the "
             "authors' code; paper: the sums of the paper."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    const VicregLoss *p = params;
    SrNodeId x;
    *state = NULL;
    SR_TRY(sr_loss_two_views(ctx));
    SR_TRY(sr_loss_many_images(ctx));
    SR_TRY(sr_loss_output(ctx, "embedding", &x));
    SrVicregParams op = p->op;
    op.paper = p->form == 1;
    *loss = sr_build(ctx->builder, "vicreg", "vicreg", &op, x);
    return sr_builder_status(ctx->builder);
}

static const SrLossExample examples[] = {
    {NULL,
     "[[mlp, {dims: [32, 32, 16], use_bn: True, use_relu: True}]]",
     {16, 16},
     .may_rise = true},
    {"{form: paper, sim_coeff: 1, std_coeff: 1, cov_coeff: 0.04}",
     "[[mlp, {dims: [32, 16]}]]",
     {16, 16},
     .may_rise = true}};

const SrLoss sr_loss_vicreg_loss = {
    .name = "vicreg_loss",
    .help = "VICReg: variance, invariance and covariance of two views",
    .subtree = "LOSS.vicreg_loss",
    .options = options,
    .params_bytes = sizeof(VicregLoss),
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
};
