// A memory bank: one embedding of every image of the training set, which follows the image's newest by a moving
// average, and from which negatives are drawn (Wu et al., "Unsupervised feature learning via non-parametric
// instance discrimination", CVPR 2018, section 3.1; Misra and van der Maaten, PIRL, CVPR 2020, section 2.2).
#ifndef SR_LOSSES_MEMORY_BANK_H
#define SR_LOSSES_MEMORY_BANK_H

#include "losses/loss.h"

typedef struct {
    int64_t N; // images of the training set
    int D;
    int memory;     // table index: memory (N, D)
    int32_t *place; // (N) scratch, zeros: 1 + where the image stands in the batch
} SrMemoryBank;

// Adds the entry under the builder's prefix, drawn from U(-1, 1) / sqrt(D / 3) as VISSL draws it.  The loss must say
// needs_samples.
SrStatus sr_memory_bank_build(SrLossContext *ctx, int D, SrMemoryBank *out);
// Rows as they were drawn become unit vectors: in `start` of a run that is not resumed.
void sr_memory_bank_start(const SrMemoryBank *bank, SrParams *params);
// Which rows to compare n images with: index (n, 1 + K) gets the image's own row image[i] in column 0, and K rows
// drawn evenly, with repeats (the own row among them, as in the paper).  `draw` tells several draws of a step apart.
void sr_memory_bank_draw(const SrMemoryBank *bank, uint64_t seed, int64_t iteration, int draw,
                         const int64_t *image, int n, int K, int64_t *index);
// Where rows of this step's images have moved already, they are rows N + i of memory_scores: each of the `count`
// numbers that is image[i] becomes N + i.
void sr_memory_bank_redirect(const SrMemoryBank *bank, const int64_t *image, int n, int64_t *index,
                             int64_t count);
// Scores (n, 1 + K) of z (n, D) with the rows; moved (n, D): what memory_move gave, SR_NO_NODE: nothing has moved.
SrNodeId sr_memory_bank_scores(SrLossContext *ctx, const SrMemoryBank *bank, SrNodeId z,
                               SrNodeId index, SrNodeId moved);
// Where the own rows (column 0 of index) move: momentum row + (1 - momentum) z at length 1.  -> (n, D)
SrNodeId sr_memory_bank_move(SrLossContext *ctx, const SrMemoryBank *bank, double momentum,
                             SrNodeId z, SrNodeId index, SrNodeId moved);
// Row image[i] <- row i of x (n, D).  Rows of `ignored`, and of images that the bank has not, are passed over.
void sr_memory_bank_put(const SrMemoryBank *bank, SrParams *params, const int64_t *image,
                        int64_t ignored, const float *x, int n);

#endif
