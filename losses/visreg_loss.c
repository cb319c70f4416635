// VISReg (Wu, Balestriero and Levine, "VISReg: variance-invariance-sketching regularization for
// JEPA training", arXiv:2606.02572).  The loss pulls the views of an image to the mean of its
// global views.  Scale and shape of the embeddings are held apart, so that a collapse has a
// gradient: columns of mean 0 and deviation 1, and sorted projections of the standardised columns
// at the quantiles of a normal distribution:
//
//   L = (1 - lambda) mean |z_v - mean of the global z|^2
//     + lambda (scale_weight mean (sigma - 1)^2 + center_weight mean mu^2
//               + shape_weight sliced Wasserstein distance of (z - mu) / sigma)
//
// The last sigma is a constant for the gradient.  Each step draws new directions.  Weights and
// default numbers are those of the authors' program.
#include "kernels/basic/scale.h"
#include "kernels/losses/views/sigreg.h"
#include "kernels/losses/views/unit_moments.h"
#include "kernels/losses/views/views.h"
#include "losses/shared/directions.h"

typedef struct {
    double lambda, scale_weight, center_weight, shape_weight;
    int global_views, slices;
} VisregLoss;

#define FIELD(f) offsetof(VisregLoss, f)
static const SrOption options[] = {
    {"lambda", SR_OPT_FLOAT, FIELD(lambda), "0.9", 0, 1,
     .help = "Weight of the regularisation in the loss; the prediction term has the rest of 1."},
    {"global_views", SR_OPT_INT, FIELD(global_views), "2", 1, SR_MAX_VIEWS,
     .help = "Number of views, from the first, whose mean all views are pulled to."},
    {"slices", SR_OPT_INT, FIELD(slices), "256", 1, 1 << 20,
     .help = "Number of random directions per step."},
    {"scale_weight", SR_OPT_FLOAT, FIELD(scale_weight), "1", 0, 1e6,
     .help = "Weight of the distance of deviations from 1."},
    {"center_weight", SR_OPT_FLOAT, FIELD(center_weight), "1", 0, 1e6,
     .help = "Weight of the squared means."},
    {"shape_weight", SR_OPT_FLOAT, FIELD(shape_weight), "1", 0, 1e6,
     .help = "Weight of the distance of sorted projections from normal quantiles."},
    SR_OPTION_END,
};
#undef FIELD

// Multiplies a term by its weight.
static SrNodeId weighted(SrBuilder *b, double weight, SrNodeId term) {
    return sr_build(b, "scale", "weight", &(SrScaleParams){.factor = weight}, term);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    const VisregLoss *p = params;
    SrBuilder *b = ctx->builder;
    int views = ctx->n_views;
    SrDirections *directions = *state = sr_loss_alloc(ctx, sizeof *directions);
    SrNodeId x, terms[3];
    SR_TRY(sr_loss_output(ctx, "embedding", &x));
    SR_TRY(sr_loss_global_views(ctx, p->global_views));
    sr_directions_build(ctx, x, p->slices, directions);
    terms[0] =
        sr_build(b, "view_spread", "spread", &(SrViewSpreadParams){views, p->global_views}, x);
    terms[0] = weighted(b, 1 - p->lambda, terms[0]);
    terms[1] = sr_build(
        b, "unit_moments", "moments",
        &(SrUnitMomentsParams){views, p->lambda * p->scale_weight, p->lambda * p->center_weight},
        x);
    SrNodeId shape[] = {x, sr_build(b, "detach", "scale", NULL, x), directions->input};
    terms[2] = sr_build_n(b, "sliced_wasserstein", "shape", &(SrViewsParams){views}, shape, 3);
    terms[2] = weighted(b, p->lambda * p->shape_weight, terms[2]);
    *loss = sr_build_n(b, "add", "add", NULL, terms, 3);
    return sr_builder_status(b);
}

static const SrLossExample examples[] = {
    {"{slices: 16}",
     "[[mlp, {dims: [32, 32, 8], use_bn: True, use_relu: True}]]",
     {16, 16},
     .may_rise = true}, // directions differ from step to step
    {"{slices: 16, global_views: 2, lambda: 0.6, shape_weight: 2}",
     "[[mlp, {dims: [32, 8]}]]",
     {16, 16, 8},
     .may_rise = true}};

const SrLoss sr_loss_visreg_loss = {
    .name = "visreg_loss",
    .help =
        "VISReg: views are pulled to their mean; scale and shape of embeddings are a Gaussian's",
    .subtree = "LOSS.visreg_loss",
    .options = options,
    .params_bytes = sizeof(VisregLoss),
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
    .before_step = sr_directions_draw,
};
