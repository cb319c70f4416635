// Memory bank: one stored embedding per training image, a moving average of the image's embeddings.
// Losses draw negatives from it.  Sources: Wu et al., "Unsupervised feature learning via
// non-parametric instance discrimination", CVPR 2018, section 3.1; Misra and van der Maaten, PIRL,
// CVPR 2020, section 2.2.
//
// A batch may move rows before the step ends.  Its moved rows are a node (n, D) until the end of
// the step, when sr_memory_bank_put writes them; until then index N + i names moved row i.
#ifndef SR_LOSSES_SHARED_MEMORY_BANK_H
#define SR_LOSSES_SHARED_MEMORY_BANK_H

#include "losses/loss.h"

typedef struct {
    int64_t N;      // images of the training set
    int D;          // length of an embedding
    int memory;     // table index: memory (N, D)
    int32_t *place; // (N) scratch of the graph, zeros: 1 + position of the image in the batch
} SrMemoryBank;

// Adds the entry under the builder's prefix, drawn from U(-1, 1) / sqrt(D / 3) as in VISSL.  The
// loss must set needs_samples.  SR_ERR_CONFIG: N is 0 or above INT32_MAX.
SrStatus sr_memory_bank_build(SrLossContext *ctx, int D, SrMemoryBank *out);
// Scales every row to length 1.  A loss calls it in `start` of a run that is not resumed.
void sr_memory_bank_start(const SrMemoryBank *bank, SrParams *params);
// Draws the rows that n images are compared with.  index: (n, 1 + K); column 0 gets image[i], the
// image's own row.  The others get K rows, drawn evenly with repeats; the own row may be among
// them, as in the paper.  draw: number of the draw within the step.
void sr_memory_bank_draw(const SrMemoryBank *bank, uint64_t seed, int64_t iteration, int draw,
                         const int64_t *image, int n, int K, int64_t *index);
// Replaces every image[i] in index (count) by N + i, so that the image's moved row is read.  If an
// image occurs twice, the last i counts.
void sr_memory_bank_redirect(const SrMemoryBank *bank, const int64_t *image, int n, int64_t *index,
                             int64_t count);
// Builds the products (n, 1 + K) of z (n, D) with the rows in index (n, 1 + K).  moved: node of
// sr_memory_bank_move; SR_NO_NODE: no row has moved.
SrNodeId sr_memory_bank_scores(SrLossContext *ctx, const SrMemoryBank *bank, SrNodeId z,
                               SrNodeId index, SrNodeId moved);
// Builds the new value (n, D) of each image's row, which column 0 of index names:
// momentum * row + (1 - momentum) * z, normalised to length 1.  moved: as above.
SrNodeId sr_memory_bank_move(SrLossContext *ctx, const SrMemoryBank *bank, double momentum,
                             SrNodeId z, SrNodeId index, SrNodeId moved);
// Writes row i of x (n, D) to row image[i] of the memory.  Skips an image that equals `ignored` or
// is not in the bank.
void sr_memory_bank_put(const SrMemoryBank *bank, SrParams *params, const int64_t *image,
                        int64_t ignored, const float *x, int n);

#endif
