// Distillation of features without labels: a student of any architecture learns how similar a
// teacher, DISTILLATION.TEACHER_MODEL, finds an image to many others (the first version of
// lightly-train's `distillation`; the form of the loss is that of SEED, Fang et al., ICLR 2021,
// arXiv:2101.04731, equations 3 to 6):
//
//   L = KL(softmax(t Q' / T) || softmax(s Q' / T))
//
// t: the teacher's feature.  s: the student's, through a linear layer of the loss's own,
// loss.heads.projection.  Both have length 1.  Q: the teacher's features of this step and of the
// steps before it.  The queue begins with zeros, and every checkpoint holds it.
#include <string.h>

#include "graph/ir/token_blocks.h"
#include "kernels/basic/scale.h"
#include "kernels/losses/soft_cross_entropy.h"
#include "kernels/memory/queue_scores.h"
#include "kernels/norm/l2_normalize.h"
#include "losses/shared/crop_terms.h"

typedef struct {
    double temperature;
    int queue_size;
} FeatureDistillation;

#define FIELD(f) offsetof(FeatureDistillation, f)
static const SrOption options[] = {
    {"temperature", SR_OPT_FLOAT, FIELD(temperature), "0.07", 1e-6, 1e6, NULL,
     "Temperature that divides the cosines with the queue."},
    {"queue_size", SR_OPT_INT, FIELD(queue_size), "0", 0, 1 << 24, NULL,
     "Number of the teacher's features in the queue, the step's own included.  0: 16 for less than "
     "50 images, up to 8192 for 20000 and more."},
    SR_OPTION_END,
};
#undef FIELD

typedef struct {
    int size, D;
    int queue, pointer; // table indices: queue (size, D), queue_ptr (1)
    SrNodeId t;         // (batch, D) the teacher's features, of length 1
} State;

// Returns between a quarter and a half of the images, as lightly-train does.
static int size_for(int64_t images) {
    static const struct {
        int64_t below;
        int size;
    } steps[] = {{50, 16},    {100, 32},    {250, 64},     {500, 128},   {1000, 256},
                 {2000, 512}, {4000, 1024}, {10000, 2048}, {20000, 4096}};
    for (int i = 0; i < SR_COUNT(steps); i++)
        if (images < steps[i].below)
            return steps[i].size;
    return 8192;
}

static SrStatus add_queue(SrLossContext *ctx, const FeatureDistillation *p, int D, State *s) {
    SrBuilder *b = ctx->builder;
    if (p->queue_size > 0 && ctx->n_samples > 0 && p->queue_size >= ctx->n_samples)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "LOSS.%s.queue_size is %d, but there are only %lld images; set it "
                               "to less than that, or to 0 for %d",
                               ctx->name, p->queue_size, (long long)ctx->n_samples,
                               size_for(ctx->n_samples));
    s->D = D;
    s->size = p->queue_size > 0 ? p->queue_size : size_for(ctx->n_samples);
    SrInit zero = {SR_INIT_CONSTANT, 0};
    s->queue = sr_build_state(b, "queue", SR_SHAPE(s->size, D), SR_F32, zero);
    s->pointer = sr_build_state(b, "queue_ptr", SR_SHAPE(1), SR_I64, zero);
    return sr_builder_status(b);
}

// Builds the teacher's feature of the first view, (batch, D).
static SrStatus teacher_feature(SrLossContext *ctx, SrNodeId *out) {
    SrModelRun run = {.prefix = SR_TEACHER_PREFIX,
                      .teacher = true,
                      .views = sr_first_views(1),
                      .n_views = 1,
                      .no_heads = true};
    SrOutputs teacher;
    SR_TRY(sr_loss_run(ctx, &run, &teacher));
    return sr_outputs_get(ctx->builder, &teacher, ctx->name, "embedding", out);
}

// Builds the student's feature through the linear layer, (batch, D).
static SrStatus student_feature(SrLossContext *ctx, int D, SrNodeId *out) {
    SrNodeId x;
    SR_TRY(sr_loss_output(ctx, "embedding", &x));
    SrShape shape = sr_build_shape(ctx->builder, x);
    if (shape.rank != 2)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "%s needs one vector per image of the student, but MODEL.HEAD gives "
                               "rank %d; set HEAD.PARAMS to [[identity, {}]]",
                               ctx->name, shape.rank);
    *out = sr_token_linear(ctx->builder, "heads.projection", x, D, true, 0.02);
    return sr_builder_status(ctx->builder);
}

static SrNodeId scores(SrLossContext *ctx, const State *s, const char *leaf, SrNodeId x) {
    return sr_build_bound(ctx->builder, "queue_scores", leaf,
                          &(SrQueueScoresParams){.size = s->size}, (SrNodeId[]){x, s->t}, 2,
                          (int[]){s->queue, s->pointer}, 2);
}

// Builds KL(softmax(t / T) || softmax(s / T)): the cross entropy minus the teacher's entropy.
static SrNodeId divergence(SrLossContext *ctx, double temperature, SrNodeId t, SrNodeId s) {
    SrBuilder *b = ctx->builder;
    SrSoftCrossEntropyParams op = {.temperature = temperature};
    SrNodeId q = sr_teacher_targets(ctx, "targets", t, temperature, SR_NO_NODE, -1);
    SrNodeId cross =
        sr_build_n(b, "soft_cross_entropy", "cross_entropy", &op, (SrNodeId[]){s, q}, 2);
    SrNodeId own = sr_build_n(b, "soft_cross_entropy", "entropy", &op, (SrNodeId[]){t, q}, 2);
    own = sr_build(b, "scale", "own", &(SrScaleParams){.factor = -1}, own);
    return sr_build_n(b, "add", "divergence", NULL, (SrNodeId[]){cross, own}, 2);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    const FeatureDistillation *p = params;
    SrBuilder *b = ctx->builder;
    State *state = *out = sr_loss_alloc(ctx, sizeof *state);
    SrNodeId t, s = SR_NO_NODE;
    SR_TRY(sr_builder_status(b));
    SR_TRY(teacher_feature(ctx, &t));
    SrShape shape = sr_build_shape(b, t);
    if (shape.rank != 2)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "%s needs one vector per image, but the trunk of "
                               "DISTILLATION.TEACHER_MODEL gives rank %d",
                               ctx->name, shape.rank);
    SR_TRY(student_feature(ctx, shape.d[1], &s));
    SR_TRY(add_queue(ctx, p, shape.d[1], state));
    state->t = sr_build(b, "l2_normalize", "teacher", &(SrL2NormalizeParams){0}, t);
    s = sr_build(b, "l2_normalize", "student", &(SrL2NormalizeParams){0}, s);
    SR_TRY(sr_loss_keep(ctx, state->t));
    *loss = divergence(ctx, p->temperature, scores(ctx, state, "teacher_scores", state->t),
                       scores(ctx, state, "student_scores", s));
    return sr_builder_status(b);
}

// Writes the step's features over the oldest ones.
static void after_update(void *instance, const SrLossStep *step) {
    const State *s = instance;
    SrTensor t = sr_loss_value(step, s->t);
    float *queue = sr_params_at(step->params, s->queue)->value;       // (size, D)
    int64_t *pointer = sr_params_at(step->params, s->pointer)->value; // (1)
    int rows = SR_MIN(t.shape.d[0], s->size);
    for (int i = 0; i < rows; i++)
        memcpy(queue + (*pointer + i) % s->size * s->D, (const float *)t.data + (int64_t)i * s->D,
               (size_t)s->D * sizeof *queue);
    *pointer = (*pointer + rows) % s->size;
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
