// Ring of embeddings (MoCo's queue): building, start values and pushing.
#include "losses/shared/key_queue.h"

#include <math.h>

#include "base/compiler.h"

SrStatus sr_key_queue_build(SrLossContext *ctx, const char *key, int D, int size, int rows,
                            SrKeyQueue *out) {
    SrBuilder *b = ctx->builder;
    if (size < rows)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "LOSS.%s.%s is %d, but all replicas together push %d keys in a "
                               "step; set it to at least as many",
                               ctx->name, key, size, rows);
    *out = (SrKeyQueue){.D = D, .size = size};
    out->keys = sr_build_state(b, "queue", SR_SHAPE(D, size), SR_F32, (SrInit){SR_INIT_NORMAL, 1});
    out->pointer =
        sr_build_state(b, "queue_ptr", SR_SHAPE(1), SR_I64, (SrInit){SR_INIT_CONSTANT, 0});
    return sr_builder_status(b);
}

void sr_key_queue_start(const SrKeyQueue *queue, SrParams *params) {
    float *keys = sr_params_at(params, queue->keys)->value; // (D, size)
    for (int j = 0; j < queue->size; j++) {
        double sum = 0;
        for (int d = 0; d < queue->D; d++)
            sum += (double)keys[(int64_t)d * queue->size + j] *
                   (double)keys[(int64_t)d * queue->size + j];
        float scale = (float)(1 / fmax(sqrt(sum), 1e-12));
        for (int d = 0; d < queue->D; d++)
            keys[(int64_t)d * queue->size + j] *= scale;
    }
}

void sr_key_queue_push(const SrKeyQueue *queue, SrParams *params, const float *x, int rows) {
    float *keys = sr_params_at(params, queue->keys)->value; // (D, size)
    int64_t *pointer = sr_params_at(params, queue->pointer)->value;
    SR_ASSERT(*pointer >= 0 && *pointer < queue->size && rows <= queue->size);
    for (int i = 0; i < rows; i++) {
        int64_t column = (*pointer + i) % queue->size;
        for (int d = 0; d < queue->D; d++)
            keys[(int64_t)d * queue->size + column] = x[(int64_t)i * queue->D + d];
    }
    *pointer = (*pointer + rows) % queue->size;
}
