// Ring of embeddings from past steps, as in MoCo: each column is a key, and the newest keys
// overwrite the oldest.  State names and layout are VISSL's, so that its checkpoints can be
// read.  SwAV's queue has another layout: rows that move, newest first
// (losses/shared/swav_queue.h).
#ifndef SR_LOSSES_SHARED_KEY_QUEUE_H
#define SR_LOSSES_SHARED_KEY_QUEUE_H

#include "losses/loss.h"

typedef struct {
    int D, size; // length of a key; keys in the queue
    int keys;    // table index: queue (D, size)
    int pointer; // table index: queue_ptr, I64 (1), the column that is written next
} SrKeyQueue;

// Adds both entries under the builder's prefix, with random keys.  rows: keys that a step pushes.
// SR_ERR_CONFIG, which names LOSS.<name>.<key>: size < rows.
SrStatus sr_key_queue_build(SrLossContext *ctx, const char *key, int D, int size, int rows,
                            SrKeyQueue *out);
// Scales every column to length 1.  A loss calls it in `start` of a run that is not resumed.
void sr_key_queue_start(const SrKeyQueue *queue, SrParams *params);
// Writes the rows of x (rows, D) over the oldest keys and moves the pointer.
void sr_key_queue_push(const SrKeyQueue *queue, SrParams *params, const float *x, int rows);

#endif
