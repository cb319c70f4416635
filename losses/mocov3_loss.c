// MoCo v3 (Chen, Xie and He, ICCV 2021, arXiv:2104.02057, algorithm 1).  A teacher with momentum
// embeds both views.  The prediction of each view must find the teacher's embedding of the other
// view among those of all images of the step.  There is no queue:
//
//   L = ctr(q1, k2) + ctr(q2, k1),  ctr(q, k) = 2 t CE(q k^T / t, the own image)
//
// The teacher moves after the update with m from `momentum` to 1 along half a cosine (section
// 3).  It has no predictor.
#include <math.h>

#include "kernels/basic/scale.h"
#include "kernels/basic/slice.h"
#include "kernels/losses/info_nce.h"
#include "kernels/norm/l2_normalize.h"
#include "losses/shared/momentum_encoder.h"
#include "losses/shared/prediction.h"

typedef struct {
    SrPredictorOptions predictor;
    double momentum, temperature;
} Mocov3Loss;

#define FIELD(f) offsetof(Mocov3Loss, f)
static const SrOption options[] = {
    {"momentum", SR_OPT_FLOAT, FIELD(momentum), "0.99", 0, 1,
     .help = "Share of its weights that the momentum encoder keeps per step at the start; it grows "
             "to 1."},
    {"temperature", SR_OPT_FLOAT, FIELD(temperature), "1.0", 1e-6, 1e6,
     .help = "Temperature that divides the cosines: 1 for ResNets, 0.2 for transformers."},
    SR_PREDICTOR_OPTIONS(Mocov3Loss, "4096"),
    SR_OPTION_END,
};
#undef FIELD

typedef struct {
    SrCosineTeacher teacher; // first, for its hooks
    double chance;
} State;

static SrNodeId unit_rows(SrLossContext *ctx, SrNodeId x, int v) {
    SrSliceParams rows = {.begin = v * ctx->batch, .count = ctx->batch};
    x = sr_build(ctx->builder, "slice", "rows", &rows, x);
    return sr_build(ctx->builder, "l2_normalize", "normalize", &(SrL2NormalizeParams){0}, x);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    const Mocov3Loss *p = params;
    SrBuilder *b = ctx->builder;
    State *s = *out = sr_loss_alloc(ctx, sizeof *s);
    SrNodeId z, key, query, terms[2];
    SR_TRY(sr_loss_two_views(ctx));
    SR_TRY(sr_loss_many_images(ctx));
    s->chance = 4 * p->temperature * log(ctx->batch);
    SR_TRY(sr_cosine_teacher_build(ctx, (SrInts){.n = 0}, p->momentum, &s->teacher, &key));
    SR_TRY(sr_loss_output(ctx, "embedding", &z));
    SR_TRY(sr_predictor_build(ctx, &p->predictor, z, &query));
    for (int v = 0; v < 2; v++) {
        SrNodeId in[2] = {unit_rows(ctx, query, v), unit_rows(ctx, key, 1 - v)};
        terms[v] = sr_build_n(b, "info_nce", "info_nce", &(SrInfoNceParams){p->temperature}, in, 2);
    }
    SrNodeId sum = sr_build_n(b, "add", "add", NULL, terms, 2);
    *loss = sr_build(b, "scale", "contrast", &(SrScaleParams){.factor = 2 * p->temperature}, sum);
    return sr_builder_status(b);
}

static void facts(const void *instance, SrLossFacts *out) {
    out->chance = ((const State *)instance)->chance;
}

static const SrLossExample examples[] = {
    {"{predictor_hidden_dim: 16, temperature: 0.2}",
     "[[mlp, {dims: [32, 32, 16], use_bn: True, use_relu: True}]]",
     {16, 16},
     .may_rise = true}};

const SrLoss sr_loss_mocov3_loss = {
    .name = "mocov3_loss",
    .help = "MoCo v3: a prediction finds the momentum encoder's view of its image among all images "
            "of the step",
    .subtree = "LOSS.mocov3_loss",
    .options = options,
    .params_bytes = sizeof(Mocov3Loss),
    .whole_batches = "the teacher moves by the same share in every step",
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
    .start = sr_momentum_encoder_start,
    .after_update = sr_cosine_teacher_after_update,
    .facts = facts,
};
