// Builds the term of a queue of a teacher's features, and keeps the queue.
#include "losses/shared/feature_queue.h"

#include <string.h>

#include "graph/ir/token_blocks.h"
#include "kernels/memory/queue_scores.h"
#include "kernels/norm/l2_normalize.h"
#include "losses/shared/crop_terms.h"

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

static SrStatus add_queue(SrLossContext *ctx, int size, int D, SrFeatureQueue *q) {
    SrBuilder *b = ctx->builder;
    if (size > 0 && ctx->n_samples > 0 && size >= ctx->n_samples)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "LOSS.%s.queue_size is %d, but there are only %lld images; set it "
                               "to less than that, or to 0 for %d",
                               ctx->name, size, (long long)ctx->n_samples,
                               size_for(ctx->n_samples));
    q->D = D;
    q->size = size > 0 ? size : size_for(ctx->n_samples);
    SrInit zero = {SR_INIT_CONSTANT, 0};
    q->queue = sr_build_state(b, "queue", SR_SHAPE(q->size, D), SR_F32, zero);
    q->pointer = sr_build_state(b, "queue_ptr", SR_SHAPE(1), SR_I64, zero);
    return sr_builder_status(b);
}

static SrNodeId scores(SrLossContext *ctx, const SrFeatureQueue *q, const char *leaf, SrNodeId x) {
    return sr_build_bound(ctx->builder, "queue_scores", leaf,
                          &(SrQueueScoresParams){.size = q->size}, (SrNodeId[]){x, q->t}, 2,
                          (int[]){q->queue, q->pointer}, 2);
}

static SrStatus check_vectors(SrLossContext *ctx, const SrFeatureTerm *term) {
    SrBuilder *b = ctx->builder;
    int t = sr_build_shape(b, term->teacher).rank, s = sr_build_shape(b, term->student).rank;
    SR_TRY(sr_builder_status(b));
    if (t != 2)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "%s needs one vector per image, but the trunk of "
                               "DISTILLATION.TEACHER_MODEL gives rank %d",
                               ctx->name, t);
    if (s != 2)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "%s needs one vector per image of the student, but MODEL.HEAD gives "
                               "rank %d; set HEAD.PARAMS to [[identity, {}]]",
                               ctx->name, s);
    return SR_OK;
}

SrStatus sr_feature_queue_build(SrLossContext *ctx, const SrFeatureTerm *term, SrFeatureQueue *q,
                                SrNodeId *loss) {
    SrBuilder *b = ctx->builder;
    SR_TRY(check_vectors(ctx, term));
    int D = sr_shape_last(sr_build_shape(b, term->teacher));
    SrNodeId s = sr_token_linear(b, term->projection, term->student, D, true, 0.02);
    SR_TRY(add_queue(ctx, term->size, D, q));
    q->t = sr_build(b, "l2_normalize", "teacher", &(SrL2NormalizeParams){0}, term->teacher);
    s = sr_build(b, "l2_normalize", "student", &(SrL2NormalizeParams){0}, s);
    SR_TRY(sr_loss_keep(ctx, q->t));
    *loss = sr_divergence(ctx, term->temperature, scores(ctx, q, "teacher_scores", q->t),
                          scores(ctx, q, "student_scores", s));
    return sr_builder_status(b);
}

void sr_feature_queue_enter(const SrFeatureQueue *q, const SrLossStep *step) {
    SrTensor t = sr_loss_value(step, q->t);
    float *queue = sr_params_at(step->params, q->queue)->value;       // (size, D)
    int64_t *pointer = sr_params_at(step->params, q->pointer)->value; // (1)
    int rows = SR_MIN(t.shape.d[0], q->size);
    for (int i = 0; i < rows; i++)
        memcpy(queue + (*pointer + i) % q->size * q->D, (const float *)t.data + (int64_t)i * q->D,
               (size_t)q->D * sizeof *queue);
    *pointer = (*pointer + rows) % q->size;
}
