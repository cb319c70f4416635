// Masks of patches made of random rectangles (BEiT, arXiv:2106.08254, algorithm 1), as VISSL draws them
// for iBOT.
#ifndef SR_DATA_AUGMENT_BLOCK_MASK_H
#define SR_DATA_AUGMENT_BLOCK_MASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

// Where the numbers come from, so that recorded ones can be replayed.
typedef struct {
    double (*uniform)(void *arg, double low, double high);
    int (*whole)(void *arg, int low, int high); // both ends are possible
    void *arg;
} SrDraws;
SrDraws sr__draws_of(SrRng *rng);

typedef struct {
    int n_ratios;
    const double *mean,
        *var; // (n_ratios) one is chosen; the share of patches is uniform in mean -+ var
    double log_aspect[2]; // exponents of height / width
} SrBlockMask;

// mask (h, w): 1 where a patch is hidden; returns their number, at most h * w * ratio.
int sr__block_mask_draw(const SrBlockMask *p, SrDraws draws, int h, int w, uint8_t *mask);

#endif
