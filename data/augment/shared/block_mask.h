// Draws masks of patches from random rectangles (BEiT, arXiv:2106.08254, algorithm 1), as VISSL
// does for iBOT.
#ifndef SR_DATA_AUGMENT_SHARED_BLOCK_MASK_H
#define SR_DATA_AUGMENT_SHARED_BLOCK_MASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

// Source of random numbers; a test can replay recorded ones.
typedef struct {
    double (*uniform)(void *arg, double low, double high);
    int (*whole)(void *arg, int low, int high); // both ends are possible
    void *arg;
} SrDraws;
SrDraws sr__draws_of(SrRng *rng);

typedef struct {
    int n_ratios;
    // (n_ratios) One pair is chosen; the share of hidden patches is uniform in mean -+ var.
    const double *mean, *var;
    double log_aspect[2]; // range of the logarithm of height / width
} SrBlockMask;

// Draws mask (h, w): 1 for a hidden patch, else 0.  Returns the number of hidden patches, at most
// h * w times the drawn share.
int sr__block_mask_draw(const SrBlockMask *p, SrDraws draws, int h, int w, uint8_t *mask);

#endif
