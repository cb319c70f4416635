// Fills a plan's inputs batch by batch, from one of three sources: images of a loader, features
// that a frozen trunk computes from them each time, or features that were computed once and
// kept.  Keeping is possible if the transforms draw nothing.
//
// All three give the same images in the same order, and features with the same bits.
#ifndef SR_TRAINER_RUN_FEED_H
#define SR_TRAINER_RUN_FEED_H

#include "data/load/loader.h"
#include "trainer/data/data_split.h"
#include "trainer/features/feature_source.h"
#include "trainer/model/train_graph.h"

typedef struct {
    SrLoader *loader;       // borrowed
    SrFeatureSource *trunk; // borrowed.  NULL: the plan's inputs are images
    int batch;              // images
    SrShare share;          // the loader's
    bool drop_last;         // the loader's
    // Kept features follow.
    int64_t n, row;        // images, floats per image
    float *rows;           // (n, row) all features of an image.  NULL: nothing is kept
    int n_targets;         // labels per image, if several.  0: one label
    int64_t *labels;       // (n), or (n, n_targets)
    int64_t *batch_labels; // (batch), or (batch, n_targets): labels of the last batch
    size_t bytes;          // size of the mapped memory
    bool on_disk;          // the memory is a mapped file
    uint32_t *order;       // (sr_loader_samples) images in the order of the epoch
    int64_t next;          // next batch of the share
    int64_t at;            // next place in `order`
} SrFeed;

// Runs the trunk over all images of `in_order` (not shuffled, nothing dropped) and keeps the
// features, in memory or in a nameless file in `dir`.  From then on the loader gives only the
// order of images.
SrStatus sr_feed_keep(SrFeed *feed, SrLoader *in_order, SrCacheKind kind, const char *dir);
void sr_feed_close(SrFeed *feed); // legal for a zeroed struct

// Target of a batch: a plan with at least as many images.
typedef struct SrFeedTarget {
    SrPlan *plan;
    const SrNodeId *inputs; // one per view or feature
    int n_inputs;
    SrNodeId labels, sample_index; // may be SR_NO_NODE
    const SrExtraInput *extras;
    int n_extras;
    // Second plan that gets the batch's images: a teacher's.  Ignored for features.  NULL: none
    const struct SrFeedTarget *also;
} SrFeedTarget;

// Copies a loader's batch into the target, as sr_feed_next does.  Uses only trunk and batch of
// the feed.
void sr_feed_copy(SrFeed *feed, const SrFeedTarget *to, const SrBatch *batch);
SrStatus sr_feed_start(SrFeed *feed, int64_t epoch, int64_t first);
// Fills the target with the next batch.
//   rows    gets the images in the batch; 0 at the end of the epoch
//   labels  gets (rows) or (rows, n_targets), valid until the next call
//   wait_s  gets the seconds spent waiting for the loader
SrStatus sr_feed_next(SrFeed *feed, const SrFeedTarget *to, int *rows, const int64_t **labels,
                      double *wait_s);

#endif
