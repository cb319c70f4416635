// LeJEPA (Balestriero and LeCun, arXiv:2511.08544).  The loss pulls the views of an image to the
// mean of its global views.  SIGReg, a test on random projections, makes the embeddings of each
// view an isotropic Gaussian:
//
//   L = (1 - lambda) mean |z_v - mean of the global z|^2 + lambda mean over views of SIGReg(z_v)
//
// The method needs no teacher, no stopped gradient and no schedule except the learning rate's.
// Each step draws new directions.
#include "kernels/basic/scale.h"
#include "kernels/losses/views/sigreg.h"
#include "losses/shared/directions.h"

typedef struct {
    double lambda, t_max;
    int global_views, slices, knots;
} LejepaLoss;

#define FIELD(f) offsetof(LejepaLoss, f)
static const SrOption options[] = {
    {"lambda", SR_OPT_FLOAT, FIELD(lambda), "0.05", 0, 1,
     .help = "Weight of SIGReg in the loss; the prediction term has the rest of 1."},
    {"global_views", SR_OPT_INT, FIELD(global_views), "2", 1, SR_MAX_VIEWS,
     .help = "Number of views, from the first, whose mean all views are pulled to."},
    {"slices", SR_OPT_INT, FIELD(slices), "1024", 1, 1 << 20,
     .help = "Number of random directions per step."},
    {"knots", SR_OPT_INT, FIELD(knots), "17", 2, 256,
     .help = "Number of points of the numerical integral."},
    {"t_max", SR_OPT_FLOAT, FIELD(t_max), "5", 1e-3, 1e3,
     .help = "The integral goes from -t_max to t_max."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    const LejepaLoss *p = params;
    SrBuilder *b = ctx->builder;
    SrDirections *directions = *out = sr_loss_alloc(ctx, sizeof *directions);
    SrNodeId x, terms[2];
    SR_TRY(sr_loss_output(ctx, "embedding", &x));
    SR_TRY(sr_loss_global_views(ctx, p->global_views));
    sr_directions_build(ctx, x, p->slices, directions);
    SrSigregParams sigreg = {ctx->n_views, p->knots, p->t_max};
    terms[0] = sr_build(b, "view_spread", "spread",
                        &(SrViewSpreadParams){ctx->n_views, p->global_views}, x);
    terms[0] = sr_build(b, "scale", "weight", &(SrScaleParams){.factor = 1 - p->lambda}, terms[0]);
    terms[1] = sr_build_n(b, "sigreg", "sigreg", &sigreg, (SrNodeId[]){x, directions->input}, 2);
    terms[1] = sr_build(b, "scale", "weight", &(SrScaleParams){.factor = p->lambda}, terms[1]);
    *loss = sr_build_n(b, "add", "add", NULL, terms, 2);
    return sr_builder_status(b);
}

static const SrLossExample examples[] = {
    {"{slices: 16}",
     "[[mlp, {dims: [32, 32, 8], use_bn: True, use_relu: True}]]",
     {16, 16},
     .may_rise = true}, // directions differ from step to step
    {"{slices: 16, global_views: 2, lambda: 0.1}",
     "[[mlp, {dims: [32, 8]}]]",
     {16, 16, 8},
     .may_rise = true}};

const SrLoss sr_loss_lejepa_loss = {
    .name = "lejepa_loss",
    .help = "LeJEPA: views are pulled to their mean, embeddings to an isotropic Gaussian (SIGReg)",
    .subtree = "LOSS.lejepa_loss",
    .options = options,
    .params_bytes = sizeof(LejepaLoss),
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
    .before_step = sr_directions_draw,
};
