// data2vec for images (Baevski et al., "data2vec: a general framework for self-supervised
// learning in speech, vision and language", ICML 2022, arXiv:2202.03555).  The trunk sees an
// image whose hidden patches are replaced by a learned token; a teacher with momentum sees the
// whole image.  A linear layer over the trunk's tokens predicts the teacher's features of the
// hidden patches, by smooth L1. A feature is the mean of the tokens of the last blocks, each
// normalised without weights.
//
// Key names are those of the published code (fairseq, examples/data2vec).  The published code
// takes a block's feature before the block's last sum, and this loss takes it after.  The
// momentum grows linearly from ema_decay to ema_end_decay, over the run or over
// ema_anneal_end_step steps.
#include <stdio.h>

#include "base/text/json.h"
#include "graph/ir/token_blocks.h"
#include "kernels/basic/scale.h"
#include "kernels/losses/regression_loss.h"
#include "kernels/norm/standardize.h"
#include "kernels/tokens/mask_weights.h"
#include "kernels/tokens/select_tokens.h"
#include "losses/shared/crop_terms.h"
#include "losses/shared/momentum_encoder.h"
#include "losses/shared/token_grid.h"

#define PREFIX "loss.momentum_encoder."

enum { MAX_BLOCKS = 16 };

typedef struct {
    int average_top_k_layers, anneal;
    double loss_beta, ema_decay, ema_end_decay;
} Data2vecLoss;

#define FIELD(f) offsetof(Data2vecLoss, f)
static const SrOption options[] = {
    {"average_top_k_layers", SR_OPT_INT, FIELD(average_top_k_layers), "6", 1, MAX_BLOCKS,
     .help = "Number of last blocks whose mean is the target."},
    {"loss_beta", SR_OPT_FLOAT, FIELD(loss_beta), "2", 0, 1e6,
     .help = "Smooth L1 loss: differences below this are squared; 0: all are squared."},
    {"ema_decay", SR_OPT_FLOAT, FIELD(ema_decay), "0.9998", 0, 1,
     .help = "Share of its weights that the target encoder keeps per step at the start."},
    {"ema_end_decay", SR_OPT_FLOAT, FIELD(ema_end_decay), "0.9999", 0, 1,
     .help = "Share that the target encoder keeps per step at the end."},
    {"ema_anneal_end_step", SR_OPT_INT, FIELD(anneal), "0", 0, 1 << 30,
     .help = "Steps in which the share grows from ema_decay to ema_end_decay; 0: the whole run."},
    SR_OPTION_END,
};
#undef FIELD

typedef struct {
    SrMomentumEncoder encoder; // first, for sr_momentum_encoder_start
    Data2vecLoss p;
} State;

// Masks come from the same transform and collator as iBOT's.
static SrStatus infer(SrInfer *in) {
    static const char *const collators[] = {"ibot_multicrop_masking_collator"};
    SR_TRY(sr_infer_check_collator(in, collators, 1));
    return sr_infer_mask_patches(in);
}

// Returns the patches, which are the last L tokens: (N, prefix + L, D) -> (N, L, D).
static SrNodeId patches_of(SrBuilder *b, SrNodeId x, int L) {
    SrSelectTokensParams p = {.begin = sr_build_shape(b, x).d[1] - L, .count = L};
    return p.begin == 0 ? x : sr_build(b, "select_tokens", "patches", &p, x);
}

static SrStatus build_target(SrLossContext *ctx, State *s, int L, SrNodeId *out) {
    SrBuilder *b = ctx->builder;
    int K = s->p.average_top_k_layers;
    SrModelRun run = {.prefix = PREFIX,
                      .no_heads = true,
                      .trunk_outputs = true,
                      .n_blocks = K,
                      .statistics = SR_STATISTICS_OWN};
    SrOutputs teacher;
    SrNodeId block[MAX_BLOCKS];
    SR_TRY(sr_momentum_encoder_build(ctx, &run, &s->encoder, &teacher));
    for (int i = 0; i < K; i++) {
        char name[16];
        snprintf(name, sizeof name, "block%d", i);
        SR_TRY(sr_outputs_get(b, &teacher, ctx->name, name, &block[i]));
        block[i] = sr_build(b, "standardize", name, &(SrStandardizeParams){1e-5, false},
                            patches_of(b, block[i], L));
    }
    *out = K > 1 ? sr_build_n(b, "add", "sum", NULL, block, K) : block[0];
    *out = sr_build(b, "scale", "target", &(SrScaleParams){.factor = 1.0 / K}, *out);
    return sr_builder_status(b);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    SrBuilder *b = ctx->builder;
    State *s = *out = sr_loss_alloc(ctx, sizeof *s);
    SrModelRun run = {.trainable = true, .masked = true, .no_heads = true, .trunk_outputs = true};
    SrOutputs student;
    SrNodeId tokens, mask, target;
    SR_TRY(sr_builder_status(b));
    s->p = *(const Data2vecLoss *)params;
    SR_TRY(sr_view_masks(ctx, ctx->n_views, &mask));
    int L = sr_shape_last(sr_build_shape(b, mask));
    SR_TRY(sr_loss_run(ctx, &run, &student));
    SR_TRY(sr_outputs_get(b, &student, ctx->name, "tokens", &tokens));
    SR_TRY(build_target(ctx, s, L, &target));
    int D = sr_shape_last(sr_build_shape(b, tokens));
    SrNodeId prediction =
        sr_token_linear(b, "heads.regression", patches_of(b, tokens, L), D, true, 0.02);
    SrNodeId weights =
        sr_build(b, "mask_weights", "weights", &(SrMaskWeightsParams){SR_MASK_BATCH}, mask);
    *loss = sr_build_n(b, "regression_loss", "smooth_l1", &(SrRegressionLossParams){s->p.loss_beta},
                       (SrNodeId[]){prediction, target, weights}, 3);
    return sr_builder_status(b);
}

static double momentum_at(const State *s, const SrLossStep *step) {
    int64_t steps = s->p.anneal ? s->p.anneal : SR_MAX(step->max_iterations, 1);
    double done = (double)SR_MIN(step->iteration, steps) / (double)steps;
    return s->p.ema_decay + (s->p.ema_end_decay - s->p.ema_decay) * done;
}

static void after_update(void *instance, const SrLossStep *step) {
    const State *s = instance;
    sr_momentum_encoder_update(&s->encoder, step->params, momentum_at(s, step));
}

static void report(void *instance, const SrLossStep *step, SrText *fields) {
    sr_json_float(fields, "teacher_momentum", momentum_at(instance, step));
}

static const SrLossExample examples[] = {{"{average_top_k_layers: 2, ema_decay: 0.9}",
                                          "[[identity, {}]]",
                                          {16},
                                          .may_rise = true, // a moving target
                                          .trunk = SR_LOSS_EXAMPLE_VIT,
                                          .patch = 4}};

const SrLoss sr_loss_data2vec_loss = {
    .name = "data2vec_loss",
    .help = "data2vec: predicts a slowly moving copy's features of hidden patches, the mean of its "
            "last blocks",
    .subtree = "LOSS.data2vec_loss",
    .options = options,
    .params_bytes = sizeof(Data2vecLoss),
    .student_views = SR_NO_STUDENT,
    .rows_are_independent = true,
    .whole_batches = "the teacher moves by the same share in every step",
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .infer = infer,
    .build = build,
    .start = sr_momentum_encoder_start,
    .after_update = after_update,
    .report = report,
};
