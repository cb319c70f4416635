// DINOv2 (Oquab et al., "DINOv2: learning robust visual features without supervision", TMLR 2024,
// arXiv:2304.07193, section 4).  It combines DINO between crops, iBOT inside the global crops,
// and KoLeo, which drives the class tokens of a batch apart.  Sinkhorn-Knopp spreads the
// teacher's scores over all prototypes.
//
//   L = dino_loss_weight DINO + ibot_loss_weight iBOT + koleo_loss_weight KoLeo
//       + gram_loss_weight Gram
//
// The terms follow the published code (github.com/facebookresearch/dinov2, ssl_meta_arch.py):
//   * Sinkhorn-Knopp sees the teacher's rows of all global crops together, and the hidden patches
//     alone.
//   * DINO is the mean over all pairs of crops, except a crop with itself.
//   * iBOT is the mean over images of the mean over their hidden patches.
//   * KoLeo is the sum over global crops, on class tokens before the head.
//   * Gram, which DINOv3 added, is losses/shared/gram_anchor.h on the global crops.
//
// The published code sums in Sinkhorn-Knopp over all processes.  This loss sums over the images
// of a replica, because the scores of all patches are too large to gather.  More images per
// replica make up for that; DISTRIBUTED.REPLICAS=1 sums over all.  Momentum changes every step,
// the temperature every epoch.
#include <math.h>

#include "base/text/json.h"
#include "kernels/assign/sinkhorn_rows.h"
#include "kernels/basic/scale.h"
#include "kernels/losses/koleo.h"
#include "kernels/norm/l2_normalize.h"
#include "losses/shared/crop_terms.h"
#include "losses/shared/gram_anchor.h"
#include "losses/shared/loss_health.h"
#include "losses/shared/momentum_encoder.h"
#include "losses/shared/token_grid.h"

#define PREFIX "loss.momentum_encoder."

typedef struct {
    double momentum, final_momentum, warmup_temp, temp, student_temp;
    double dino_weight, ibot_weight, koleo_weight, gram_weight;
    int gram_enlarge, gram_update;
    int warmup_epochs, n_iterations, num_global, num_local;
} Dinov2Loss;

#define FIELD(f) offsetof(Dinov2Loss, f)
static const SrOption options[] = {
    {"momentum_teacher", SR_OPT_FLOAT, FIELD(momentum), "0.992", 0, 1,
     .help = "Share of its weights that the teacher keeps per step at the start."},
    {"final_momentum_teacher", SR_OPT_FLOAT, FIELD(final_momentum), "1", 0, 1,
     .help = "Share that the teacher keeps at the end; it follows half a cosine."},
    {"warmup_teacher_temp", SR_OPT_FLOAT, FIELD(warmup_temp), "0.04", 1e-6, 1e6,
     .help = "Temperature that divides the teacher's scores at the start."},
    {"teacher_temp", SR_OPT_FLOAT, FIELD(temp), "0.07", 1e-6, 1e6,
     .help = "Temperature of the teacher's scores after the warm-up."},
    {"warmup_teacher_temp_epochs", SR_OPT_INT, FIELD(warmup_epochs), "30", 0, 1 << 20,
     .help = "Epochs of the warm-up of the teacher's temperature."},
    {"student_temp", SR_OPT_FLOAT, FIELD(student_temp), "0.1", 1e-6, 1e6,
     .help = "Temperature that divides the student's scores."},
    {"n_iterations", SR_OPT_INT, FIELD(n_iterations), "3", 1, 1000,
     .help = "Iterations of Sinkhorn-Knopp."},
    {"dino_loss_weight", SR_OPT_FLOAT, FIELD(dino_weight), "1", 0, 1e6,
     .help = "Weight of the class token's term."},
    {"ibot_loss_weight", SR_OPT_FLOAT, FIELD(ibot_weight), "1", 0, 1e6,
     .help = "Weight of the patches' term."},
    {"koleo_loss_weight", SR_OPT_FLOAT, FIELD(koleo_weight), "0.1", 0, 1e6,
     .help = "Weight of the KoLeo term."},
    {"gram_loss_weight", SR_OPT_FLOAT, FIELD(gram_weight), "0", 0, 1e6,
     .help = "Weight of Gram anchoring: cosines between patches stay those of an earlier state of "
             "the model, at first those of the starting weights (DINOv3; not in VISSL).  0: no "
             "such state."},
    {"gram_enlarge", SR_OPT_INT, FIELD(gram_enlarge), "2", 1, 8,
     .help = "Gram anchoring: factor by which the earlier state sees the crops larger.",
     .needs = "gram_loss_weight"},
    {"gram_update_steps", SR_OPT_INT, FIELD(gram_update), "0", 0, 0x7fffffff,
     .help = "Gram anchoring: steps after which the earlier state becomes the teacher of that "
             "moment; 0: never.",
     .needs = "gram_loss_weight"},
    {"num_global_crops", SR_OPT_INT, FIELD(num_global), "2", 1, SR_MAX_VIEWS,
     .help = "Number of large crops, which the teacher sees (inferred from the transforms)."},
    {"num_local_crops", SR_OPT_INT, FIELD(num_local), "8", 0, SR_MAX_VIEWS,
     .help = "Number of small crops (inferred from the transforms)."},
    SR_OPTION_END,
};
#undef FIELD

typedef struct {
    SrMomentumEncoder encoder;
    Dinov2Loss p;
    SrGramAnchor gram; // used if n_terms is 4
    SrNodeId temp;     // input (1)
    SrNodeId terms[4]; // (n_terms) scalars: DINO, iBOT, KoLeo, Gram
    int n_terms;
    SrNodeId targets; // the teacher's, (G * batch, K)
    int classes;      // prototypes
} State;

static const char *const term_names[] = {"dino", "ibot", "koleo", "gram"};

static SrStatus infer(SrInfer *in) {
    static const char *const collators[] = {"ibot_multicrop_masking_collator"};
    SR_TRY(sr_infer_check_collator(in, collators, 1));
    SR_TRY(sr_infer_mask_patches(in));
    return sr_infer_global_crops(in);
}

// ---- building

typedef struct {
    // Distributions (G * batch, K) and (G * batch, patches, K'), where G is the number of global
    // crops.
    SrNodeId cls, patch;
} Targets;

static SrStatus build_targets(SrLossContext *ctx, State *s, SrNodeId mask, Targets *out) {
    SrBuilder *b = ctx->builder;
    SrModelRun run = {.prefix = PREFIX,
                      .views = sr_first_views(s->p.num_global),
                      .n_views = s->p.num_global,
                      .statistics = SR_STATISTICS_OWN};
    SrSinkhornRowsParams sinkhorn = {.num_iters = s->p.n_iterations};
    SrOutputs teacher;
    SrNodeId scores, patches;
    SR_TRY(sr_momentum_encoder_build(ctx, &run, &s->encoder, &teacher));
    SR_TRY(sr_all_views(ctx, &teacher, "scores0", &scores));
    SR_TRY(sr_outputs_get(b, &teacher, ctx->name, "patch_scores", &patches));
    s->classes = sr_shape_last(sr_build_shape(b, scores));
    out->cls =
        sr_build_n(b, "sinkhorn_rows", "targets", &sinkhorn, (SrNodeId[]){scores, s->temp}, 2);
    s->targets = out->cls;
    SR_TRY(sr_loss_keep(ctx, s->targets));
    out->patch = sr_build_n(b, "sinkhorn_rows", "patch_targets", &sinkhorn,
                            (SrNodeId[]){patches, s->temp, mask}, 3);
    return sr_builder_status(b);
}

// Builds KoLeo on the class tokens of the global crops, which go through the trunk first and
// together.
static SrStatus build_koleo(SrLossContext *ctx, State *s) {
    SrBuilder *b = ctx->builder;
    const SrOutput *pooled = sr_outputs_find(&ctx->outputs, "pooled", 0);
    if (!pooled || pooled->n_views != s->p.num_global)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "LOSS.%s.num_global_crops is %d, but %d crops of the first size go "
                               "through the trunk together",
                               ctx->name, s->p.num_global, pooled ? pooled->n_views : 0);
    SR_TRY(sr_loss_many_images(ctx));
    SrNodeId x =
        sr_build(b, "l2_normalize", "class_tokens", &(SrL2NormalizeParams){1e-8}, pooled->node);
    s->terms[2] = sr_build(b, "koleo", "koleo", &(SrKoleoParams){s->p.num_global}, x);
    return sr_builder_status(b);
}

// The head scores the tokens after the class token, among which may be registers.
static SrStatus check_patches(SrLossContext *ctx, SrNodeId scores, SrNodeId mask) {
    int tokens = sr_build_shape(ctx->builder, scores).d[1];
    int hidden = sr_build_shape(ctx->builder, mask).d[1];
    if (tokens == hidden)
        return SR_OK;
    return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                           "%s: the head scores %d tokens after the class token, but masks are of "
                           "%d patches; set ibot_head's num_registers to the trunk's registers or "
                           "storage tokens, and patch_size of MaskedImageModeling to its patches",
                           ctx->name, tokens, hidden);
}

static SrStatus build_terms(SrLossContext *ctx, State *s) {
    const Dinov2Loss *p = &s->p;
    SrCropTerms terms = {.n_student = p->num_global + p->num_local,
                         .n_teacher = p->num_global,
                         .pairs = SR_CROPS_OTHERS,
                         .temperature = p->student_temp};
    SrNodeId patches, mask;
    Targets targets;
    SR_TRY(sr_view_masks(ctx, p->num_global, &mask));
    SR_TRY(sr_all_views(ctx, &ctx->outputs, "scores0", &terms.student));
    SR_TRY(sr_outputs_get(ctx->builder, &ctx->outputs, ctx->name, "patch_scores", &patches));
    SR_TRY(check_patches(ctx, patches, mask));
    SR_TRY(build_targets(ctx, s, mask, &targets));
    terms.targets = targets.cls;
    SR_TRY(sr_crop_terms_build(ctx, &terms, &s->terms[0]));
    s->terms[1] = sr_patch_term(ctx, patches, targets.patch, mask, p->student_temp);
    SR_TRY(build_koleo(ctx, s));
    s->n_terms = p->gram_weight > 0 ? 4 : 3;
    SrGramAnchorParams gram = {p->num_global, p->gram_enlarge, p->gram_update};
    return s->n_terms == 4 ? sr_gram_anchor_build(ctx, &gram, &s->encoder, &s->gram, &s->terms[3])
                           : SR_OK;
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    SrBuilder *b = ctx->builder;
    State *s = *out = sr_loss_alloc(ctx, sizeof *s);
    SR_TRY(sr_builder_status(b));
    s->p = *(const Dinov2Loss *)params;
    SR_TRY(sr_crop_terms_check(ctx, "num_global_crops + num_local_crops",
                               s->p.num_global + s->p.num_local));
    s->temp = sr_build_input(b, "teacher_temp", SR_SHAPE(1), SR_F32);
    SR_TRY(build_terms(ctx, s));
    const double weights[] = {s->p.dino_weight, s->p.ibot_weight, s->p.koleo_weight,
                              s->p.gram_weight};
    SrNodeId weighted[4];
    for (int i = 0; i < s->n_terms; i++) {
        SR_TRY(sr_loss_keep(ctx, s->terms[i]));
        weighted[i] = sr_build(b, "scale", term_names[i], &(SrScaleParams){.factor = weights[i]},
                               s->terms[i]);
    }
    *loss = sr_build_n(b, "add", "add", NULL, weighted, s->n_terms);
    return sr_builder_status(b);
}

// ---- hooks

// Grows linearly over the first epochs, as in the table of the published code.
static double temperature_at(const Dinov2Loss *p, int epoch) {
    double done = p->warmup_epochs > 0 ? fmin((double)epoch / p->warmup_epochs, 1) : 1;
    return p->warmup_temp + (p->temp - p->warmup_temp) * done;
}

static double momentum_at(const Dinov2Loss *p, const SrLossStep *step) {
    double cosine = sr_momentum_cosine(0, step);
    return p->momentum + (p->final_momentum - p->momentum) * cosine;
}

static void start(void *instance, const SrLossStep *step, bool resumed) {
    State *s = instance;
    sr_momentum_encoder_start(&s->encoder, step, resumed);
    if (s->n_terms == 4)
        sr_gram_anchor_start(&s->gram, step, resumed);
}

static void before_step(void *instance, const SrLossStep *step) {
    const State *s = instance;
    *(float *)sr_loss_input(step, s->temp).data = (float)temperature_at(&s->p, step->epoch);
}

static void after_update(void *instance, const SrLossStep *step) {
    State *s = instance;
    sr_momentum_encoder_update(&s->encoder, step->params, momentum_at(&s->p, step));
    if (s->n_terms == 4)
        sr_gram_anchor_update(&s->gram, step);
}

static void report(void *instance, const SrLossStep *step, SrText *fields) {
    const State *s = instance;
    for (int i = 0; i < s->n_terms; i++)
        sr_json_float(fields, term_names[i], sr_loss_mean(step, s->terms[i]));
    sr_json_float(fields, "teacher_temp", temperature_at(&s->p, step->epoch));
    sr_json_float(fields, "teacher_momentum", momentum_at(&s->p, step));
}

static void health(void *instance, const SrLossStep *step, SrLossHealth *out) {
    SrTensor rows = sr_loss_value(step, ((const State *)instance)->targets);
    out->sharper = "teacher_temp=0.04";
    out->more_even = "n_iterations=5";
    sr_loss_entropies(rows.data, sr_shape_rows(rows.shape), sr_shape_last(rows.shape), out);
}

static void facts(const void *instance, SrLossFacts *out) {
    const State *s = instance;
    out->classes = s->classes;
}

static const SrLossExample examples[] = {
    {"{warmup_teacher_temp_epochs: 2, momentum_teacher: 0.9}",
     "[[ibot_head, {in_dim: 16, out_dim: 12, patch_out_dim: 10, hidden_dim: 16, bottleneck_dim: "
     "8}]]",
     {16, 16, 8},
     .may_rise = true, // a moving target
     .trunk = SR_LOSS_EXAMPLE_VIT,
     .patch = 4,
     .more = SR_LOSS_EXAMPLE_GLOBAL_AND_LOCAL},
    {"{momentum_teacher: 0.9, gram_loss_weight: 2, gram_update_steps: 3}",
     "[[ibot_head, {in_dim: 16, out_dim: 12, patch_out_dim: 10, hidden_dim: 16, bottleneck_dim: "
     "8}]]",
     {16, 16, 8},
     .may_rise = true,
     .trunk = SR_LOSS_EXAMPLE_VIT,
     .patch = 4,
     .more = SR_LOSS_EXAMPLE_GLOBAL_AND_LOCAL}};

const SrLoss sr_loss_dinov2_loss = {
    .name = "dinov2_loss",
    .help = "DINOv2: DINO and iBOT with Sinkhorn-Knopp targets, and KoLeo",
    .subtree = "LOSS.dinov2_loss",
    .options = options,
    .params_bytes = sizeof(Dinov2Loss),
    .trunk_outputs = true,
    .rows_are_independent = true,
    .rows_are_compared = true,
    .whole_batches = "the teacher moves by the same share in every step",
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .infer = infer,
    .build = build,
    .start = start,
    .before_step = before_step,
    .after_update = after_update,
    .report = report,
    .facts = facts,
    .health = health,
};
