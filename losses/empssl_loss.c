// EMP-SSL (Tong, Chen, Ma and LeCun, "EMP-SSL: towards self-supervised learning in one training
// epoch", arXiv:2304.03977).  Many crops of an image are pulled to their mean, and the coding rate
// of each crop's embeddings keeps them from collapsing.  With embeddings of length 1, equation 2:
//
//   L = - mean over crops i of R(Z_i) - lambda mean over crops of cos(z_i, mean of the crops)
//   R(Z) = 1/2 logdet(I + D / (N eps) Z^T Z)
//
// The method needs no teacher, no predictor and no stopped gradient.
#include "kernels/basic/scale.h"
#include "kernels/losses/views/coding_rate.h"
#include "kernels/losses/views/views.h"
#include "kernels/norm/l2_normalize.h"
#include "losses/loss.h"

typedef struct {
    double lambda, eps;
} EmpsslLoss;

#define FIELD(f) offsetof(EmpsslLoss, f)
static const SrOption options[] = {
    {"lambda", SR_OPT_FLOAT, FIELD(lambda), "200", 0, 1e6,
     .help = "Weight of the agreement of an image's crops."},
    {"eps", SR_OPT_FLOAT, FIELD(eps), "0.2", 1e-6, 1e6,
     .help = "Squared precision of the coding rate."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    const EmpsslLoss *p = params;
    SrBuilder *b = ctx->builder;
    SrNodeId x, terms[2];
    *state = NULL;
    SR_TRY(sr_loss_many_views(ctx));
    SR_TRY(sr_loss_output(ctx, "embedding", &x));
    x = sr_build(b, "l2_normalize", "unit", &(SrL2NormalizeParams){0}, x);
    terms[0] = sr_build(b, "coding_rate", "rate", &(SrCodingRateParams){ctx->n_views, p->eps}, x);
    terms[0] = sr_build(b, "scale", "weight", &(SrScaleParams){.factor = -1}, terms[0]);
    terms[1] = sr_build(b, "view_agreement", "agreement", &(SrViewsParams){ctx->n_views}, x);
    terms[1] = sr_build(b, "scale", "weight", &(SrScaleParams){.factor = -p->lambda}, terms[1]);
    *loss = sr_build_n(b, "add", "add", NULL, terms, 2);
    return sr_builder_status(b);
}

static const SrLossExample examples[] = {
    {NULL,
     "[[mlp, {dims: [32, 32, 16], use_bn: True, use_relu: True}]]",
     {16, 16},
     .may_rise = false},
    {"{lambda: 50, eps: 0.5}", "[[mlp, {dims: [32, 16]}]]", {16, 16, 8}, .may_rise = false}};

const SrLoss sr_loss_empssl_loss = {
    .name = "empssl_loss",
    .help = "EMP-SSL: many crops are pulled to their mean, and the coding rate spreads embeddings",
    .subtree = "LOSS.empssl_loss",
    .options = options,
    .params_bytes = sizeof(EmpsslLoss),
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
};
