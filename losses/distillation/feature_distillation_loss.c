// Distillation of features without labels: a student of any architecture learns how similar a
// teacher, DISTILLATION.TEACHER_MODEL, finds an image to many others (the first version of
// lightly-train's `distillation`; the form of the loss is that of SEED, Fang et al., ICLR 2021,
// arXiv:2101.04731, equations 3 to 6):
//
//   L = KL(softmax(t Q' / T) || softmax(s Q' / T))
//
// t: the teacher's feature.  s: the student's, through a linear layer of the loss's own,
// loss.heads.projection.  Both have length 1.  Q: a queue of the teacher's features
// (losses/shared/feature_queue.h).
#include "losses/shared/crop_terms.h"
#include "losses/shared/feature_queue.h"

typedef struct {
    double temperature;
    int queue_size;
} FeatureDistillation;

#define FIELD(f) offsetof(FeatureDistillation, f)
static const SrOption options[] = {
    {"temperature", SR_OPT_FLOAT, FIELD(temperature), "0.07", 1e-6, 1e6,
     .help = "Temperature that divides the cosines with the queue."},
    SR_FEATURE_QUEUE_SIZE(FIELD(queue_size)),
    SR_OPTION_END,
};
#undef FIELD

// Builds the teacher's feature of the first view, (batch, D).
static SrStatus teacher_feature(SrLossContext *ctx, SrNodeId *out) {
    SrModelRun run = sr_teacher_run(1);
    SrOutputs teacher;
    run.no_heads = true;
    SR_TRY(sr_loss_run(ctx, &run, &teacher));
    return sr_outputs_get(ctx->builder, &teacher, ctx->name, "embedding", out);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    const FeatureDistillation *p = params;
    SrFeatureQueue *queue = *state = sr_loss_alloc(ctx, sizeof *queue);
    SrFeatureTerm term = {
        .projection = "heads.projection", .temperature = p->temperature, .size = p->queue_size};
    SR_TRY(sr_builder_status(ctx->builder));
    SR_TRY(teacher_feature(ctx, &term.teacher));
    SR_TRY(sr_loss_output(ctx, "embedding", &term.student));
    return sr_feature_queue_build(ctx, &term, queue, loss);
}

static void after_update(void *queue, const SrLossStep *step) {
    sr_feature_queue_enter(queue, step);
}

static const SrLossExample examples[] = {
    {"{queue_size: 24}", "[[identity, {}]]", {16}, .may_rise = true}}; // the queue fills

const SrLoss sr_loss_feature_distillation_loss = {
    .name = "feature_distillation_loss",
    .has_teacher = true,
    .help = "distillation without labels: the teacher's similarities to a queue of its features",
    .subtree = "LOSS.feature_distillation_loss",
    .options = options,
    .params_bytes = sizeof(FeatureDistillation),
    .student_views = 1,
    .needs_samples = true,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
    .after_update = after_update,
};
