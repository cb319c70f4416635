// Attention of heads whose scores fit a core's second-level cache at once, as those of small images
// do (attention_whole_simd.c).  Nothing is cut into tiles of keys, and operands are laid out once
// per head.  Queries lie side by side, so that maxima, sums and gradients of the softmax are sums
// of vectors.  attention_tiles.c computes longer sequences, biases, masks and dropout.
#ifndef SR_KERNELS_ATTENTION_ATTENTION_WHOLE_H
#define SR_KERNELS_ATTENTION_ATTENTION_WHOLE_H

#include "kernels/attention/attention_internal.h"
#include "kernels/machine.h"

// Layout of a head's space, in floats; a row of keys or queries is a whole number of vectors.
typedef struct {
    int q_row, d_row; // queries and channels, rounded up to vectors of 16
    int words;        // lanes that a row of d numbers fills; a lane holds two bfloat16 numbers
    size_t qt, dyt;   // (words, q_row): queries and dy, transposed
    size_t qr, dyr;   // (queries or pairs of them, d_row): queries and dy as right operands
    size_t kr;        // (keys or pairs, d_row): forward values, backward keys as right operands
    size_t s, ds;     // (keys, 32): scores of 32 queries and their gradient
    size_t p, dst;    // (keys, q_row numbers): probabilities and the scores' gradient
    size_t dsp;       // (pairs of keys, q_row): the gradient as pairs
    size_t sum;       // (keys, d_row): a product
    size_t along;     // (q_row)
    size_t floats;    // total
} SrWholeLayout;

// One head of one image: rows of q, k, v and their gradients lie `far` numbers apart, those of y
// and dy `near`.
typedef struct {
    const SrWholeLayout *at;
    int L, Q, d;
    int64_t far, near;
    float scale;
    const void *q, *k, *v; // (L, d); of q the first Q rows
    void *y;               // (Q, d)
    const void *dy;        // (Q, d)
    void *dq, *dk, *dv;    // (Q, d), (L, d), (L, d)
    float *lse;            // (Q): as attention.c saves it; forward: NULL if it is saved already
    float *space;          // sr__attention_whole_floats per thread
} SrWholeHead;

typedef struct {
    // The operands of `next` are prefetched meanwhile.
    void (*forward)(SrDtype type, const SrWholeHead *head, const SrWholeHead *next);
    void (*backward)(SrDtype type, const SrWholeHead *head, const SrWholeHead *next);
} SrWholeKernels; // NULL where vectors are short
SR_CPU_TABLES_BF16(SrWholeKernels, sr__attention_whole);

SrWholeLayout sr__attention_whole_layout(SrDtype type, int L, int Q, int d);

#endif
