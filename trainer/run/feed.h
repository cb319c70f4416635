// Where a plan's inputs come from, batch by batch: images of a loader; or the features of a frozen
// trunk, computed from them each time, or once and kept when the transforms always give the same.
//
// All three show the same images in the same order, and the features are the same bits.
#ifndef SR_TRAINER_RUN_FEED_H
#define SR_TRAINER_RUN_FEED_H

#include "trainer/model/frozen_trunk.h"
#include "trainer/run/data_split.h"

typedef enum { SR_CACHE_AUTO, SR_CACHE_MEMORY, SR_CACHE_DISK, SR_CACHE_OFF } SrCacheKind;

typedef struct {
    SrLoader *loader;     // borrowed
    SrFrozenTrunk *trunk; // borrowed; NULL: images
    int batch;
    SrShare share;  // the loader's
    bool drop_last; // what the loader was opened with
    // The kept features; rows NULL: there are none.
    int64_t n, row;        // images; floats an image
    float *rows;           // (n, row), the features of an image one after the other
    int n_targets;         // several labels an image: how many; else 0, and a label is one number
    int64_t *labels;       // (n), or (n, n_targets)
    int64_t *batch_labels; // (batch), or (batch, n_targets): of the batch that was given last
    size_t bytes;          // mapped
    bool on_disk;
    uint32_t *order; // (sr_loader_samples of the loader) of the epoch
    int64_t next;    // batch of the share
    int64_t at;      // next place in the order
} SrFeed;

// Runs the trunk over all images of `in_order` (nothing shuffled, nothing dropped) and keeps what it
// gives, in memory or in a file of `dir` without a name; from then on the loader gives orders alone.
SrStatus sr_feed_keep(SrFeed *feed, SrLoader *in_order, SrCacheKind kind, const char *dir);
void sr_feed_close(SrFeed *feed); // a zeroed one is fine

// Where the batch goes: a plan of at least as many images.
typedef struct {
    SrPlan *plan;
    const SrNodeId *inputs; // one a view or feature
    int n_inputs;
    SrNodeId labels, sample_index; // may be SR_NO_NODE
    const SrExtraInput *extras;
    int n_extras;
} SrFeedTarget;

// A batch of a loader, as sr_feed_next would put it there; nothing of `feed` but trunk and batch is
// used.
void sr_feed_copy(SrFeed *feed, const SrFeedTarget *to, const SrBatch *batch);
SrStatus sr_feed_start(SrFeed *feed, int64_t epoch, int64_t first);
// *rows: images in the batch, 0 at the end; labels: (rows) or (rows, n_targets), until the next call.
SrStatus sr_feed_next(SrFeed *feed, const SrFeedTarget *to, int *rows, const int64_t **labels,
                      double *wait_s);

#endif
