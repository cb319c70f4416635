// Random numbers without state to save: Philox4x32-10 (Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011), keyed by the purpose of the number.
//
// Equal (seed, purpose, epoch, sample, view, stage) give equal draws on every machine, for any
// number of threads, before and after a resume.  There is no shared generator, and the clock
// plays no part.
#ifndef SR_BASE_RNG_H
#define SR_BASE_RNG_H

#include <stdint.h>

// One purpose per consumer, so that new draws of one never change another's.  Never change a
// number: runs would not be repeatable.
typedef enum {
    SR_RNG_INIT = 1,      // parameter initialisation; sample = hash of the parameter's name
    SR_RNG_ORDER = 2,     // sample order of an epoch
    SR_RNG_TRANSFORM = 3, // augmentation: epoch, sample, view, stage = index of the transform
    SR_RNG_DROPOUT = 4,   // epoch = iteration, sample = node
    SR_RNG_STATE = 5,     // initial queues, memory banks, centres
    SR_RNG_SYNTHETIC = 6, // synthetic images
    SR_RNG_SUBSET = 7,    // DATA_LIMIT
    SR_RNG_LOW_SHOT = 11, // images per class: epoch = draw, sample = class, view = k
    SR_RNG_CLUSTER = 12,  // first centres of k-means, empty clusters
    SR_RNG_SHUFFLE = 20,  // which replica encodes which image: epoch = iteration
    SR_RNG_COLLATE = 21,  // mixing images of a batch: epoch, sample = batch, view, stage = image
    // Draws from a memory bank: epoch = iteration, sample = row, view = number of the draw.
    SR_RNG_NEGATIVES = 22,
    SR_RNG_DIRECTIONS = 23, // SIGReg's directions: epoch = iteration, sample = direction
    SR_RNG_TOKENS = 24,     // visible patches: epoch = iteration, sample = image of the step
    SR_RNG_FOLDS = 31,      // folds of a cross validation: sample = row
    SR_RNG_PATCHES = 32,    // sparse projection and sample of patches: sample = column or patch
    SR_RNG_BALANCED = 33,   // rows that a balanced sample takes: sample = cluster
    SR_RNG_TEST = 99,       // tests
} SrRngPurpose;

typedef struct {
    uint32_t key[2];
    uint32_t counter[4]; // counter[0] counts blocks of four draws
    uint32_t block[4];
    int used; // draws taken from `block`
} SrRng;

// Returns the start of one stream.  Used bits: 64 of `sample`, 32 of `epoch`, 16 of `view` and
// `stage`.
SrRng sr_rng(uint64_t seed, SrRngPurpose purpose, uint64_t epoch, uint64_t sample, uint32_t view,
             uint32_t stage);

uint32_t sr_rng_u32(SrRng *rng);
double sr_rng_uniform(SrRng *rng);                        // [0, 1), 53 bits
double sr_rng_range(SrRng *rng, double low, double high); // [low, high)
// Fills out (n) with the numbers of n calls of sr_rng_range on a fresh stream, rounded to float.
void sr_rng_fill_range(SrRng *rng, double low, double high, float *out, int64_t n);
uint32_t sr_rng_below(SrRng *rng, uint32_t n); // {0 .. n-1}, unbiased; n >= 1
double sr_rng_normal(SrRng *rng);              // mean 0, variance 1 (Box-Muller)
// Draws from Beta(a, b) on [0, 1]; a, b > 0.  Uses two gamma variables by Marsaglia and Tsang, "A
// simple method for generating gamma variables" (TOMS 2000).
double sr_rng_beta(SrRng *rng, double a, double b);
void sr_rng_permutation(SrRng *rng, uint32_t *out, uint32_t n); // Fisher-Yates of 0 .. n-1

// Computes one block of Philox, for tests against the published vectors.
void sr_rng_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#endif
