// SimDINO (Wu et al., "Simplifying DINO via coding rate regularization", arXiv:2502.10385).  DINO
// without prototypes, centre, sharpening and schedules of temperatures: the student's embedding of
// each crop is pulled to the teacher's of every other global crop, and the coding rate of the
// student's global crops keeps embeddings from collapsing.  With embeddings of length 1 and the
// constants of the authors' program:
//
//   L = - coeff mean over pairs of cos(student, teacher)
//       - gamma mean over global crops of 1/2 logdet(I + D / (N eps) Z^T Z),
//   gamma = (D + N) / (D N),  N images of D features
//
// The teacher moves after the update with m = 1 - (1 - m0) (cos(pi k / K) + 1) / 2 at step k of K.
#include "kernels/basic/concat.h"
#include "kernels/basic/scale.h"
#include "kernels/basic/slice.h"
#include "kernels/losses/views/coding_rate.h"
#include "kernels/norm/l2_normalize.h"
#include "losses/shared/momentum_encoder.h"
#include "losses/shared/prediction.h"

typedef struct {
    double momentum, coeff, eps;
    SrInts crops_for_teacher;
} SimdinoLoss;

#define FIELD(f) offsetof(SimdinoLoss, f)
static const SrOption options[] = {
    {"momentum", SR_OPT_FLOAT, FIELD(momentum), "0.996", 0, 1,
     .help = "Share of its weights that the teacher keeps per step at the start; it grows to 1."},
    {"coeff", SR_OPT_FLOAT, FIELD(coeff), "1", 0, 1e6,
     .help = "Weight of the cosine of student and teacher."},
    {"eps", SR_OPT_FLOAT, FIELD(eps), "0.5", 1e-6, 1e6,
     .help = "Squared precision of the coding rate."},
    {"crops_for_teacher", SR_OPT_INTS, FIELD(crops_for_teacher), "[0, 1]", 0, SR_MAX_VIEWS - 1,
     .help = "Crops that the teacher sees, and whose coding rate is kept high."},
    SR_OPTION_END,
};
#undef FIELD

// Returns the rows of the teacher's crops, one crop below the other.
static SrNodeId global_rows(SrLossContext *ctx, SrNodeId x, SrInts crops) {
    SrNodeId rows[SR_OP_MAX_IN];
    for (int t = 0; t < crops.n; t++) {
        SrSliceParams part = {.begin = crops.v[t] * ctx->batch, .count = ctx->batch};
        rows[t] = sr_build(ctx->builder, "slice", "global", &part, x);
    }
    return crops.n == 1 ? rows[0]
                        : sr_build_n(ctx->builder, "concat", "globals", &(SrConcatParams){.dim = 0},
                                     rows, crops.n);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    const SimdinoLoss *p = params;
    SrBuilder *b = ctx->builder;
    SrCosineTeacher *teacher = *out = sr_loss_alloc(ctx, sizeof *teacher);
    SrNodeId z, target, terms[2];
    SR_TRY(sr_builder_status(b));
    SR_TRY(sr_loss_check_views(ctx, "crops_for_teacher", p->crops_for_teacher));
    SR_TRY(sr_cosine_teacher_build(ctx, p->crops_for_teacher, p->momentum, teacher, &target));
    SR_TRY(sr_loss_output(ctx, "embedding", &z));
    SR_TRY(sr_prediction_cosine(ctx, z, target, p->crops_for_teacher.v, p->crops_for_teacher.n,
                                &terms[0]));
    terms[0] = sr_build(b, "scale", "weight", &(SrScaleParams){.factor = -p->coeff}, terms[0]);
    SrNodeId unit = sr_build(b, "l2_normalize", "unit", &(SrL2NormalizeParams){0},
                             global_rows(ctx, z, p->crops_for_teacher));
    double D = sr_shape_last(sr_build_shape(b, z)), N = ctx->batch;
    terms[1] = sr_build(b, "coding_rate", "rate",
                        &(SrCodingRateParams){p->crops_for_teacher.n, p->eps}, unit);
    terms[1] =
        sr_build(b, "scale", "weight", &(SrScaleParams){.factor = -(D + N) / (D * N)}, terms[1]);
    *loss = sr_build_n(b, "add", "add", NULL, terms, 2);
    return sr_builder_status(b);
}

static const SrLossExample examples[] = {
    {NULL,
     "[[mlp, {dims: [32, 32, 16], use_bn: True, use_relu: True}]]",
     {16, 16},
     .may_rise = true},
    {"{eps: 0.05}", "[[mlp, {dims: [32, 16]}]]", {16, 16, 8}, .may_rise = true}};

const SrLoss sr_loss_simdino_loss = {
    .name = "simdino_loss",
    .help = "SimDINO: a student follows its teacher's embeddings, and the coding rate spreads them",
    .subtree = "LOSS.simdino_loss",
    .options = options,
    .params_bytes = sizeof(SimdinoLoss),
    .whole_batches = "the teacher moves by the same share in every step",
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
    .start = sr_momentum_encoder_start,
    .after_update = sr_cosine_teacher_after_update,
};
