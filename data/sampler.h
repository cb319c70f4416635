// Which images take part (DATA_LIMIT) and in which order an epoch shows them.
#ifndef SR_DATA_SAMPLER_H
#define SR_DATA_SAMPLER_H

#include "data/data.h"

// The subset as positions in the data set: *subset (n), or NULL when all take part.  The caller
// frees it.
SrStatus sr__sampler_subset(const SrLoaderConfig *config, uint32_t **subset, int64_t *n);
// The order of one epoch, a function of (seed, epoch) alone: order (n).
void sr__sampler_order(uint64_t seed, int64_t epoch, bool shuffle, uint32_t *order, int64_t n);

// The same for a set whose items lie in runs (SrDataset.runs), which are read from their beginning to their end: runs in
// a random order; each replica has its part of that long line, known before the epoch begins; and within it a buffer of
// SR_SAMPLER_BUFFER images, out of which one is drawn at a time.  A function of seed, epoch, replicas and batch.
// first (n_runs + 1).
#define SR_SAMPLER_BUFFER 8192
typedef struct {
    const int64_t *first;
    int64_t n;
} SrRuns;
SrStatus sr__sampler_runs(uint64_t seed, int64_t epoch, SrRuns runs, int replicas, int batch,
                          uint32_t *order, int64_t n);

// Number, among all batches, of a share's own k-th; and how many of `batches` are its own.
int64_t sr_share_batch(SrShare share, int64_t k);
int64_t sr_share_count(SrShare share, int64_t batches);

#endif
