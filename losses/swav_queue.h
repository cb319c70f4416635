// SwAV's queue: embeddings of past batches, whose scores join the batch in Sinkhorn so that few
// images a step can be spread over many prototypes (Caron et al. 2020, section 4.1 "small batch").
// VISSL's state names and timing.
#ifndef SR_LOSSES_SWAV_QUEUE_H
#define SR_LOSSES_SWAV_QUEUE_H

#include "graph/builder.h"
#include "losses/prototypes.h"

#define SR_SWAV_MAX_SETS 15 // prototype sets, bounded by the outputs of a head

typedef struct {
    int length;     // L rows a crop, over all replicas; 0: no queue
    int shards;     // replicas: each has L / shards rows of its own, and pushes to them
    int start_iter; // in use from this iteration on
    int n_assign;   // crops that codes are computed of; each has a queue of its own
    int D, n_sets;
    int embeddings; // table index: local_emb_queue (n_assign, L, D), newest rows first
    int in_use;     // table index: use_queue, I64 (1): whether Sinkhorn sees the queue
    // Table indices of local_queue<h>.<i> (L, P_h); crop i of set h stands at h * n_assign + i.
    int *scores;
} SrSwavQueue;

// Adds the state entries under the builder's prefix.  P: prototypes of each set.  VISSL starts a
// queue with random numbers and fills it only while it is in use; its local_queue<h> is cut here
// into one entry a crop.
SrStatus sr_swav_queue_build(SrBuilder *b, SrSwavQueue *queue, const int *P);
// What use_queue holds now; and setting it for the step with this number.
bool sr_swav_queue_in_use(const SrSwavQueue *queue, SrParams *params);
bool sr_swav_queue_begin(const SrSwavQueue *queue, SrParams *params, int64_t num_iteration);
// Scores of the stored embeddings against the prototypes as they are now.
void sr_swav_queue_refresh(const SrSwavQueue *queue, SrParams *params,
                           const SrPrototypes *prototypes);
// Makes room for the newest rows of crop i in the shard of a replica, oldest rows fall out: where the
// first *rows rows (D) go.  More rows than a shard holds are cut to what it holds.
float *sr_swav_queue_room(const SrSwavQueue *queue, SrParams *params, int i, int shard, int *rows);

#endif
