// SwAV's queue: embeddings of past batches.  Their scores join the batch in Sinkhorn-Knopp, so that
// few images per step can be spread over many prototypes (Caron et al., NeurIPS 2020,
// arXiv:2006.09882, section 4.1, "small batch").  State names and timing are VISSL's.
#ifndef SR_LOSSES_SHARED_SWAV_QUEUE_H
#define SR_LOSSES_SHARED_SWAV_QUEUE_H

#include "graph/ir/builder.h"
#include "losses/shared/prototypes.h"

#define SR_SWAV_MAX_SETS 15 // prototype sets, bounded by the outputs of a head

typedef struct {
    int length;     // L: rows of each crop over all replicas; 0: no queue
    int shards;     // replicas; each pushes to L / shards rows of its own
    int start_iter; // first iteration that uses the queue
    int n_assign;   // crops that codes are computed of; each has a queue of its own
    int D, n_sets;  // length of an embedding; prototype sets
    int embeddings; // table index: local_emb_queue (n_assign, L, D), newest rows first
    int in_use;     // table index: use_queue, I64 (1): whether Sinkhorn sees the queue
    // (n_sets * n_assign) table indices of local_queue<h>.<i> (L, P_h), the scores of crop i in set
    // h, at h * n_assign + i.  The graph owns the array.
    int *scores;
} SrSwavQueue;

// Adds the state entries under the builder's prefix, with random values as in VISSL.  *queue:
// length to n_sets are given, the rest is filled in.  P: (n_sets) prototypes of each set.
// VISSL's entry local_queue<h> is one entry per crop here.
SrStatus sr_swav_queue_build(SrBuilder *b, SrSwavQueue *queue, const int *P);
// Returns the flag use_queue; false without a queue.
bool sr_swav_queue_in_use(const SrSwavQueue *queue, SrParams *params);
// Sets use_queue for step `num_iteration` and returns it.
bool sr_swav_queue_begin(const SrSwavQueue *queue, SrParams *params, int64_t num_iteration);
// Recomputes the scores of the stored embeddings with the present prototypes, one per set.
void sr_swav_queue_refresh(const SrSwavQueue *queue, SrParams *params,
                           const SrPrototypes *prototypes);
// Makes room for *rows new rows of crop i in a replica's shard; the oldest rows drop out.
// Returns the address for the new rows (*rows, D).  *rows is reduced to the rows of a shard if it
// is larger.
float *sr_swav_queue_room(const SrSwavQueue *queue, SrParams *params, int i, int shard, int *rows);

#endif
