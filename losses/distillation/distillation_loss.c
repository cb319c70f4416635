// Knowledge distillation (Hinton et al., arXiv:1503.02531; VISSL's distillation_loss).  The student
// learns the labels and the class scores of a trained teacher, DISTILLATION.TEACHER_MODEL:
//
//   L = (1 - alpha) CE(student, label) + alpha S
//
// S is a mean over images, by loss_type, of student scores s, teacher scores t and temperature T:
//   kl_divergence   T^2 KL(softmax(t / T) || softmax(s / T))
//   cross_entropy   T^2 CE(softmax(t / T), s / T)
//   mse             squared difference of the scores, also averaged over classes
#include "kernels/basic/scale.h"
#include "kernels/losses/cross_entropy.h"
#include "kernels/losses/regression_loss.h"
#include "kernels/losses/soft_cross_entropy.h"
#include "losses/shared/crop_terms.h"
#include "losses/shared/label_terms.h"

enum { SOFT_MSE, SOFT_KL, SOFT_CROSS_ENTROPY };

typedef struct {
    double alpha, temperature;
    int loss_type;
} Distillation;

#define FIELD(f) offsetof(Distillation, f)
static const SrOption options[] = {
    {"soft_target_alpha", SR_OPT_FLOAT, FIELD(alpha), "1.0", 0, 1,
     .help = "Weight of the teacher's term; the labels' term has the rest of 1."},
    {"temperature", SR_OPT_FLOAT, FIELD(temperature), "1.0", 1e-6, 1e6,
     .help = "Temperature that divides the scores of student and teacher in the teacher's term."},
    {"loss_type", SR_OPT_ENUM, FIELD(loss_type), "kl_divergence",
     .choices = "mse|kl_divergence|cross_entropy", .help = "Kind of the teacher's term."},
    SR_OPTION_END,
};
#undef FIELD

static SrNodeId scaled(SrBuilder *b, const char *leaf, SrNodeId x, double factor) {
    return sr_build(b, "scale", leaf, &(SrScaleParams){.factor = factor}, x);
}

// Builds S.  The divergence is the cross entropy minus the teacher's entropy.
static SrNodeId soft_term(SrLossContext *ctx, const Distillation *p, SrNodeId s, SrNodeId t) {
    SrBuilder *b = ctx->builder;
    double T2 = p->temperature * p->temperature;
    if (p->loss_type == SOFT_MSE)
        return sr_build_n(b, "regression_loss", "mse", &(SrRegressionLossParams){0},
                          (SrNodeId[]){s, t}, 2);
    SrNodeId q = sr_teacher_targets(ctx, "targets", t, p->temperature, SR_NO_NODE, -1);
    SrSoftCrossEntropyParams op = {.temperature = p->temperature};
    SrNodeId term = scaled(
        b, "soft_term",
        sr_build_n(b, "soft_cross_entropy", "cross_entropy", &op, (SrNodeId[]){s, q}, 2), T2);
    if (p->loss_type == SOFT_CROSS_ENTROPY)
        return term;
    SrNodeId own = sr_build_n(b, "soft_cross_entropy", "entropy", &op, (SrNodeId[]){t, q}, 2);
    return sr_build_n(b, "add", "divergence", NULL, (SrNodeId[]){term, scaled(b, "own", own, -T2)},
                      2);
}

static SrStatus check(SrLossContext *ctx, SrNodeId s, SrNodeId t) {
    SrShape a = sr_build_shape(ctx->builder, s), b = sr_build_shape(ctx->builder, t);
    if (ctx->outputs.n != 1 || a.rank != 2)
        return sr_builder_fail(
            ctx->builder, SR_ERR_CONFIG,
            "%s needs a model with one output of class scores, but this one has %d", ctx->name,
            ctx->outputs.n);
    if (sr_shape_equal(a, b))
        return SR_OK;
    return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                           "%s: the student gives %d scores, but DISTILLATION.TEACHER_MODEL gives "
                           "%d; make the last numbers of `dims` in both HEAD.PARAMS equal",
                           ctx->name, sr_shape_last(a), sr_shape_last(b));
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    const Distillation *p = params;
    SrBuilder *b = ctx->builder;
    SrNodeId s = ctx->outputs.v[0].node, t, hard;
    SrOutputs teacher;
    *state = NULL;
    SR_TRY(sr_teacher_model_build(ctx, ctx->n_views, &teacher));
    SR_TRY(sr_outputs_get(b, &teacher, ctx->name, "embedding", &t));
    SR_TRY(check(ctx, s, t));
    *loss = soft_term(ctx, p, s, t);
    SR_TRY(sr_builder_status(b));
    if (p->alpha >= 1)
        return SR_OK;
    SrCrossEntropyParams op = {.ignore_index = -1};
    SR_TRY(sr_label_terms_build(ctx, "cross_entropy", &op, false, &hard));
    *loss = sr_build_n(
        b, "add", "add", NULL,
        (SrNodeId[]){scaled(b, "hard", hard, 1 - p->alpha), scaled(b, "soft", *loss, p->alpha)}, 2);
    return sr_builder_status(b);
}

static const SrLossExample examples[] = {
    {"{soft_target_alpha: 0.5, temperature: 2}",
     "[[mlp, {dims: [32, 8]}]]",
     {16},
     .may_rise = true},
    {"{loss_type: mse}", "[[mlp, {dims: [32, 8]}]]", {16}, .may_rise = true}};

const SrLoss sr_loss_distillation_loss = {
    .name = "distillation_loss",
    .has_teacher = true,
    .help = "distillation: class scores of a trained teacher, together with the labels",
    .subtree = "LOSS.distillation_loss",
    .options = options,
    .params_bytes = sizeof(Distillation),
    .needs_labels = true,
    .rows_are_independent = true,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
};
