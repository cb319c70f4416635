// Attention of heads whose scores fit a core's second-level cache at once, as those of small images do: nothing is cut
// into tiles of keys, scores are made with queries side by side, so that maxima, sums and gradients of the softmax
// are sums of vectors, and operands are laid out once a head (attention_whole_simd.c).  Longer sequences, biases, masks
// and dropout are attention_tiles.c's.
#ifndef SR_KERNELS_ATTENTION_WHOLE_H
#define SR_KERNELS_ATTENTION_WHOLE_H

#include "kernels/attention_internal.h"
#include "kernels/machine.h"

// Where each thing lies in a head's space, in floats; a row of keys or queries is a number of whole vectors.
typedef struct {
    int q_row, d_row; // queries and channels, rounded up to vectors of 16
    int words;        // lanes that a row of d numbers fills: of bfloat16 two numbers each
    size_t qt, dyt;   // (words, q_row): queries and dy, turned
    size_t qr, dyr;   // (queries or pairs of them, d_row): queries and dy as right operands
    size_t kr;        // (keys or pairs, d_row): forward values, backward keys as right operands
    size_t s, ds;     // (keys, 32): scores of 32 queries and their gradient
    size_t p, dst;    // (keys, q_row numbers): probabilities and the scores' gradient
    size_t dsp;       // (pairs of keys, q_row): the gradient as pairs
    size_t sum;       // (keys, d_row): a product
    size_t along;     // (q_row)
    size_t floats;    // all
} SrWholeLayout;

// One head of one image: rows of q, k, v and their gradients lie `far` numbers apart, of y and dy `near`.
typedef struct {
    const SrWholeLayout *at;
    int L, Q, d;
    int64_t far, near;
    float scale;
    const void *q, *k, *v; // (L, d), of q the first Q rows
    void *y;               // (Q, d)
    const void *dy;        // (Q, d)
    void *dq, *dk, *dv;    // (Q, d), (L, d), (L, d)
    float *lse;            // (Q): as attention.c keeps it; forward: NULL where it is kept already
    float *space;          // sr__attention_whole_floats of a thread's own
} SrWholeHead;

typedef struct {
    // What `next` has to read is brought nearer meanwhile.
    void (*forward)(SrDtype type, const SrWholeHead *head, const SrWholeHead *next);
    void (*backward)(SrDtype type, const SrWholeHead *head, const SrWholeHead *next);
} SrWholeKernels; // NULL where vectors are short
SR_CPU_TABLES_BF16(SrWholeKernels, sr__attention_whole);

SrWholeLayout sr__attention_whole_layout(SrDtype type, int L, int Q, int d);

#endif
