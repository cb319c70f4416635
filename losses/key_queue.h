// A ring of embeddings from past steps, as MoCo keeps it: columns are keys, the newest overwrite the
// oldest.  VISSL's state names and layout; SwAV's queue has another (swav_queue.h: rows that move, newest first), so that
// checkpoints of both can be read.
#ifndef SR_LOSSES_KEY_QUEUE_H
#define SR_LOSSES_KEY_QUEUE_H

#include "losses/loss.h"

typedef struct {
    int D, size;
    int keys;    // table index: queue (D, size)
    int pointer; // table index: queue_ptr, I64 (1): the column that is written next
} SrKeyQueue;

// Adds both entries under the builder's prefix.  `rows` are pushed a step: size must be as large, else
// SR_ERR_CONFIG that names LOSS.<name>.<key>.
SrStatus sr_key_queue_build(SrLossContext *ctx, const char *key, int D, int size, int rows,
                            SrKeyQueue *out);
// Columns as they were drawn become unit vectors: in `start` of a run that is not resumed.
void sr_key_queue_start(const SrKeyQueue *queue, SrParams *params);
// x: (rows, D)
void sr_key_queue_push(const SrKeyQueue *queue, SrParams *params, const float *x, int rows);

#endif
