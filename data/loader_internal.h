// The loader's insides, shared by loader.c (order, threads, the ring) and loader_items.c (one image, one batch).
#ifndef SR_DATA_LOADER_INTERNAL_H
#define SR_DATA_LOADER_INTERNAL_H

#include <pthread.h>

#include "data/data.h"

enum { SR__LISTED = 20, SR__LISTED_BYTES = 512 };

typedef struct {
    SrBatch batch;
    void *block;    // one allocation that holds all arrays of `batch`
    int64_t number; // the batch it holds, -1: none yet
    int items;      // images of the data set that go into it
    int done;       // of them written so far
    int bad;        // of them that could not be read
    bool ready;     // the collator has made its inputs and extras
} SrLoaderSlot;

struct SrLoader {
    SrLoaderConfig config;
    uint32_t *subset; // (n) or NULL
    uint32_t *order;  // (n) of this epoch
    int64_t n, batches,
        items; // images of the epoch; batches of this process's share of it, and images in those
    SrCollation collation; // the caller's, or an input a view
    int n_targets;         // numbers of a label, 0: one class
    bool has_targets;      // and those numbers come from the source, not from a transform

    SrLoaderSlot *slot;
    int n_slots;
    size_t block_bytes;
    SrImagePool **pool; // one a worker; one at least
    pthread_t *thread;
    int n_threads, n_pools;

    // Everything below is guarded by `lock`.
    pthread_mutex_t lock;
    pthread_cond_t work;  // there may be an item to take, or it is time to go
    pthread_cond_t ready; // a batch is complete, no item is in flight, or something failed
    int64_t epoch;
    int64_t next_item, end_item; // positions not yet taken
    int64_t next_batch,
        free_below; // batch the caller gets next; slots are free for batches below this
    int in_flight;
    bool quit;
    SrStatus failed;
    char failure[SR__LISTED_BYTES];
    int64_t seen, bad, epoch_seen, epoch_bad;
    int n_listed;
    char listed[SR__LISTED][SR__LISTED_BYTES];
};

// Position `item` of the epoch into its row; *bad when it was replaced by grey.
SrStatus sr__loader_item(SrLoader *l, int64_t item, int64_t epoch, SrImagePool *pool,
                         SrLoaderSlot *slot, bool *bad);
// The collator over a batch whose images are all there.
void sr__loader_collate(const SrLoader *l, int64_t epoch, SrLoaderSlot *slot);

#endif
