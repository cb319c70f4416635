// Chooses the images that take part (DATA_LIMIT) and the order in which an epoch shows them.
#ifndef SR_DATA_LOAD_SAMPLER_H
#define SR_DATA_LOAD_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "data/dataset.h"

// Choice of the images of a split.  All pointers are borrowed.
typedef struct {
    const SrDataset *dataset;
    const void *set;     // open set of that source
    int64_t limit;       // DATA_LIMIT: number of images; -1: all
    bool limit_balanced; // take equally many images of every class
    uint64_t limit_seed;
    int64_t limit_skip; // images to leave out before the first one that is taken
} SrSubset;
// Gives the subset as positions in the data set: *subset (n), which the caller frees.  NULL: all
// images take part.
SrStatus sr__sampler_subset(const SrSubset *config, uint32_t **subset, int64_t *n);
// Writes the order of one epoch into order (n).  It depends on (seed, epoch) alone.
void sr__sampler_order(uint64_t seed, int64_t epoch, bool shuffle, uint32_t *order, int64_t n);

// Images in the shuffle buffer of sr__sampler_runs.
#define SR_SAMPLER_BUFFER 8192
typedef struct {
    const int64_t *first; // (n + 1) first item of each run, and the end; borrowed
    int64_t n;            // number of runs
} SrRuns;
// Writes the order of one epoch into order (n) for a set whose items lie in runs (SrDataset.runs),
// so that files are read from beginning to end.  Runs are put into a random order, and each replica
// gets one part of that line.  Within a part each image is drawn out of the next SR_SAMPLER_BUFFER.
// The order depends on (seed, epoch, replicas, batch).  SR_ERR_MEMORY.
SrStatus sr__sampler_runs(uint64_t seed, int64_t epoch, SrRuns runs, int replicas, int batch,
                          uint32_t *order, int64_t n);

// Part of the batches, for the replicas of one rank: out of every `of` consecutive batches the
// `count` batches from number `first` on.  of 0: all batches.
typedef struct {
    int of, first, count;
} SrShare;
// Number among all batches of the share's k-th batch.
int64_t sr_share_batch(SrShare share, int64_t k);
// Number of batches that belong to the share, out of `batches`.
int64_t sr_share_count(SrShare share, int64_t batches);

#endif
