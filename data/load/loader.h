// The loader: makes batches in a fixed order with any number of threads.
//
// The content of a place in a batch depends on (seed, epoch, position) alone: threads decide when,
// never what.
#ifndef SR_DATA_LOAD_LOADER_H
#define SR_DATA_LOAD_LOADER_H

#include "data/collation.h"
#include "data/dataset.h"
#include "data/load/sampler.h"
#include "data/pipeline.h"

typedef struct {
    const SrDataset *dataset; // source of all images
    void *set;                // set of that source, open; the caller closes it after the loader
    int64_t limit;            // DATA_LIMIT: number of images; -1: all
    bool limit_balanced;      // take equally many images of every class
    uint64_t limit_seed;
    int64_t limit_skip;         // images to leave out before the first one that is taken
    const SrPipeline *pipeline; // borrowed
    // Plan for the pipeline's views, borrowed.  NULL: one input per view.
    const SrCollation *collation;
    int batch;     // images of the data set per batch
    SrShare share; // batches that this loader gives
    int replicas;  // batch k is for replica k mod replicas; 0 means 1
    bool drop_last, shuffle;
    const char *label_type; // "standard", "sample_index" or "zero"
    // Label for each class of the set, borrowed.  NULL: every class is its own label.
    const int64_t *class_map;
    int threads;   // NUM_DATALOADER_WORKERS; 0: the caller decodes
    int prefetch;  // number of batches to prepare ahead; at least 1
    int gray_size; // side in pixels of the grey image that replaces a bad one
    // A replaced image gets the label -1, or -1 in all targets, so that it counts in no measure.
    bool unlabel_bad;
    double max_bad_share; // largest share of bad images per epoch; above it the run fails
    bool fast;            // allows approximations (SrTransformContext.fast)
    uint64_t seed;
} SrLoaderConfig;

// The part of a configuration that chooses the images.
SrSubset sr_loader_subset(const SrLoaderConfig *config);

typedef struct SrLoader SrLoader;

SrStatus sr_loader_new(const SrLoaderConfig *config, SrLoader **out);
void sr_loader_free(SrLoader *loader);             // joins all threads
int64_t sr_loader_length(const SrLoader *loader);  // images per epoch, over all shares
int64_t sr_loader_samples(const SrLoader *loader); // images in the subset, dropped ones too
int64_t sr_loader_batches(const SrLoader *loader); // batches per epoch in this share
int sr_loader_targets(const SrLoader *loader);     // n_targets of its batches
int sr_loader_batch(const SrLoader *loader);       // images in a full batch
// Changes the share from the next sr_loader_start on.  Ends the present epoch: its batches are
// lost.
void sr_loader_set_share(SrLoader *loader, SrShare share);
// Writes the images of an epoch into order (sr_loader_samples), in the order of its batches and
// numbered as SrBatch.index.  The order depends on (seed, epoch); for a source with runs also on
// config.replicas and config.batch.
SrStatus sr_loader_order(const SrLoader *loader, int64_t epoch, uint32_t *order);
// Returns the item of the data set that an SrBatch.index stands for.
int64_t sr_loader_in_set(const SrLoader *loader, int64_t index);
// Starts an epoch at batch `first` (resume).  SR_ERR_CONFIG: there is no such batch.
SrStatus sr_loader_start(SrLoader *loader, int64_t epoch, int64_t first);
// Gives the next batch in order, NULL at the end of the epoch.  Its memory is valid until the next
// call.  Allocates nothing after the pools have grown in the first epoch.  wait_s: seconds that the
// caller waited.
SrStatus sr_loader_next(SrLoader *loader, const SrBatch **batch, double *wait_s);

// Counts of the images seen so far and of the bad ones among them.
typedef struct {
    int64_t seen, bad;             // counts over all epochs
    int64_t epoch_seen, epoch_bad; // counts of the last epoch
    int n_listed;
    const char *listed[20]; // (n_listed) first bad paths with reasons; owned by the loader
} SrBadReport;
void sr_loader_bad(const SrLoader *loader, SrBadReport *out);

#endif
