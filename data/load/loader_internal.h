// Inside of the loader, shared by loader.c (order, threads, ring of batches) and loader_items.c
// (one image, one batch).
#ifndef SR_DATA_LOAD_LOADER_INTERNAL_H
#define SR_DATA_LOAD_LOADER_INTERNAL_H

#include <pthread.h>

#include "data/load/loader.h"

enum { SR__LISTED = 20, SR__LISTED_BYTES = 512 };

typedef struct {
    SrBatch batch;
    void *block;    // one allocation for all arrays of `batch`, owned
    int64_t number; // number of the batch in this share; -1: none yet
    int items;      // images of the data set that go into the batch
    int done;       // images written so far
    int bad;        // images that could not be read
    bool ready;     // the collator has finished the batch
} SrLoaderSlot;

struct SrLoader {
    SrLoaderConfig config;
    uint32_t *subset; // (n) items of the data set that take part; NULL: all
    uint32_t *order;  // (n) order of this epoch, as positions in the subset
    // n: images of the epoch.  batches, items: batches in this process's share, and their images.
    int64_t n, batches, items;
    SrCollation collation; // the caller's, or one input per view
    int n_targets;         // columns of a label; 0: one class per image
    bool has_targets;      // the columns come from the source; false: from a transform or collator

    SrLoaderSlot *slot;
    int n_slots;
    size_t block_bytes;
    SrImagePool **pool; // (n_pools) one per worker, at least one
    pthread_t *thread;
    int n_threads, n_pools;

    // Everything below is guarded by `lock`.
    pthread_mutex_t lock;
    pthread_cond_t work; // signals workers: there may be an item to take, or `quit` is set
    pthread_cond_t
        ready; // signals the caller: a batch is ready, nothing is in flight, or a failure
    int64_t epoch;
    int64_t next_item, end_item; // range of items not yet taken
    // next_batch: batch that the caller gets next.  free_below: batches below it have a free slot.
    int64_t next_batch, free_below;
    int in_flight;
    bool quit;
    SrStatus failed;
    char failure[SR__LISTED_BYTES];
    int64_t seen, bad, epoch_seen, epoch_bad;
    int n_listed;
    char listed[SR__LISTED][SR__LISTED_BYTES];
};

// Loads item `item` of this share into its row of the slot.  *bad: a grey image replaced it.
SrStatus sr__loader_item(SrLoader *l, int64_t item, int64_t epoch, SrImagePool *pool,
                         SrLoaderSlot *slot, bool *bad);
// Runs the collator on a batch whose images are all there.
void sr__loader_collate(const SrLoader *l, int64_t epoch, SrLoaderSlot *slot);

#endif
