// SwAV's queue: its entries, the flag use_queue, recomputed scores and room for new rows.
#include "losses/shared/swav_queue.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_scores(SrBuilder *b, SrSwavQueue *queue, int h, int P) {
    for (int i = 0; i < queue->n_assign; i++) {
        char name[48];
        snprintf(name, sizeof name, "local_queue%d.%d", h, i);
        queue->scores[h * queue->n_assign + i] = sr_build_state(
            b, name, SR_SHAPE(queue->length, P), SR_F32, (SrInit){SR_INIT_UNIFORM, 1});
    }
}

SrStatus sr_swav_queue_build(SrBuilder *b, SrSwavQueue *queue, const int *P) {
    if (queue->length == 0)
        return SR_OK;
    size_t bytes = (size_t)(queue->n_sets * queue->n_assign) * sizeof *queue->scores;
    queue->scores = sr_arena_alloc(sr_graph_arena(sr_builder_graph(b)), bytes);
    if (!queue->scores)
        return sr_builder_fail(b, SR_ERR_MEMORY, "out of memory for the queue");
    for (int h = 0; h < queue->n_sets; h++)
        add_scores(b, queue, h, P[h]);
    SrInit init = {SR_INIT_UNIFORM, 1 / sqrt(queue->D / 3.0)}; // rows of length about 1
    SrShape shape = SR_SHAPE(queue->n_assign, queue->length, queue->D);
    queue->embeddings = sr_build_state(b, "local_emb_queue", shape, SR_F32, init);
    queue->in_use =
        sr_build_state(b, "use_queue", SR_SHAPE(1), SR_I64, (SrInit){SR_INIT_CONSTANT, 0});
    return sr_builder_status(b);
}

bool sr_swav_queue_in_use(const SrSwavQueue *queue, SrParams *params) {
    return queue->length > 0 && *(const int64_t *)sr_params_at(params, queue->in_use)->value != 0;
}

bool sr_swav_queue_begin(const SrSwavQueue *queue, SrParams *params, int64_t num_iteration) {
    if (queue->length == 0)
        return false;
    bool in_use = num_iteration >= queue->start_iter;
    *(int64_t *)sr_params_at(params, queue->in_use)->value = in_use;
    return in_use;
}

void sr_swav_queue_refresh(const SrSwavQueue *queue, SrParams *params,
                           const SrPrototypes *prototypes) {
    const float *embeddings = sr_params_at(params, queue->embeddings)->value; // (n_assign, L, D)
    for (int h = 0; h < queue->n_sets; h++) {
        for (int i = 0; i < queue->n_assign; i++) {
            float *scores =
                sr_params_at(params, queue->scores[h * queue->n_assign + i])->value; // (L, P)
            sr_prototypes_scores(params, &prototypes[h],
                                 embeddings + (int64_t)i * queue->length * queue->D, queue->length,
                                 scores);
        }
    }
}

float *sr_swav_queue_room(const SrSwavQueue *queue, SrParams *params, int i, int shard, int *rows) {
    size_t row = (size_t)queue->D, length = (size_t)(queue->length / queue->shards);
    float *q = (float *)sr_params_at(params, queue->embeddings)->value +
               ((size_t)i * (size_t)queue->length + (size_t)shard * length) * row;
    // If there are more rows than the queue holds, the first ones enter.  VISSL fails in that case.
    *rows = SR_MIN(*rows, (int)length);
    memmove(q + (size_t)*rows * row, q, (length - (size_t)*rows) * row * sizeof *q);
    return q;
}
