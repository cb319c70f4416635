// BYOL (Grill et al., NeurIPS 2020, arXiv:2006.07733).  A predictor over one view's embedding
// learns the direction of the other view's embedding, which a teacher with momentum computes.
// Equation 2, symmetrised: mean(2 - 2 cos(p1, t2)) + mean(2 - 2 cos(p2, t1)).  With more crops,
// the loss is twice the mean over all pairs of a target crop and another crop.
//
// The teacher moves after the update with m = 1 - (1 - m0) (cos(pi k / K) + 1) / 2 at step k of K
// (section 3.2).
#include "kernels/basic/scale.h"
#include "losses/shared/momentum_encoder.h"
#include "losses/shared/prediction.h"

typedef struct {
    SrPredictorOptions predictor;
    double momentum;
    SrInts crops_for_teacher;
} ByolLoss;

#define FIELD(f) offsetof(ByolLoss, f)
static const SrOption options[] = {
    {"momentum", SR_OPT_FLOAT, FIELD(momentum), "0.996", 0, 1,
     .help = "Share of its weights that the target network keeps per step at the start; it grows "
             "to 1."},
    {"crops_for_teacher", SR_OPT_INTS, FIELD(crops_for_teacher), "[0, 1]", 0, SR_MAX_VIEWS - 1,
     .help = "Crops whose targets the others predict."},
    SR_PREDICTOR_OPTIONS(ByolLoss, "4096"),
    SR_OPTION_END,
};
#undef FIELD

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    const ByolLoss *p = params;
    SrCosineTeacher *teacher = *out = sr_loss_alloc(ctx, sizeof *teacher);
    SrNodeId z, target, prediction, cosine;
    SR_TRY(sr_builder_status(ctx->builder));
    SR_TRY(sr_loss_check_views(ctx, "crops_for_teacher", p->crops_for_teacher));
    SR_TRY(sr_cosine_teacher_build(ctx, p->crops_for_teacher, p->momentum, teacher, &target));
    SR_TRY(sr_loss_output(ctx, "embedding", &z));
    SR_TRY(sr_predictor_build(ctx, &p->predictor, z, &prediction));
    SR_TRY(sr_prediction_cosine(ctx, prediction, target, p->crops_for_teacher.v,
                                p->crops_for_teacher.n, &cosine));
    *loss = sr_build(ctx->builder, "scale", "distance", &(SrScaleParams){.factor = -4, .offset = 4},
                     cosine);
    return sr_builder_status(ctx->builder);
}

static const SrLossExample examples[] = {
    {"{predictor_hidden_dim: 16}",
     "[[mlp, {dims: [32, 32, 16], use_bn: True, use_relu: True}]]",
     {16, 16},
     .may_rise = true},
    {"{predictor_hidden_dim: 16}", "[[mlp, {dims: [32, 16]}]]", {16, 16, 8}, .may_rise = true}};

const SrLoss sr_loss_byol_loss = {
    .name = "byol_loss",
    .help = "BYOL: a predictor follows a slowly moving copy of the model, without negatives",
    .subtree = "LOSS.byol_loss",
    .options = options,
    .params_bytes = sizeof(ByolLoss),
    .whole_batches = "the teacher moves by the same share in every step",
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
    .start = sr_momentum_encoder_start,
    .after_update = sr_cosine_teacher_after_update,
};
