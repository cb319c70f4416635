// Weights of the direct design: from PyTorch's order to the blocks that the micro-kernels read, and
// gradients back.  Only kernels/conv/*.c include this file.
//
// Groups narrower than a vector are merged: `merged` of them become one dense group with zeros
// between channels of different groups.  The vectors would otherwise be that empty, and merging
// gives fewer and fuller tiles.
#ifndef SR_KERNELS_CONV_CONV_PACK_H
#define SR_KERNELS_CONV_CONV_PACK_H

#include "kernels/conv/conv_kernels.h"
#include "kernels/conv/conv_shape.h"

// Channels to reduce over are counted in the kernels' units (conv_kernels.h).
typedef struct {
    const SrConvKernels *kernels;
    int groups, merged; // groups after merging; layer's groups in one of them
    int C, K, taps;     // of one group after merging
    int Cg, Kg;         // of one of the layer's groups
} SrConvPacking;

SrConvPacking sr__conv_packing(const SrConvShape *s);

// Units of one group's packed weights, (blocks, taps, reduced units, width); a full block
// before block b takes taps * reduced * block floats.  Forward reduces over C, backward over K.
static inline int64_t sr__conv_pack_floats(const SrConvPacking *p, int reduced, int columns) {
    return (int64_t)p->taps * reduced * sr__conv_width(p->kernels, columns);
}

// A merged group's lanes meet only their own channels where the kernel can pick them: packed rows
// c of a tap then hold, at column j, the weight of channel c of j's own group; rows past a group
// are unused.
static inline bool sr__conv_picks(const SrConvPacking *p) {
    return p->merged > 1 && p->kernels->picks;
}

// Packs w (K, C/groups, R, S) into packed (groups, blocks, taps, C, width) for the pass that reads
// it.  In backward data C and K have changed places.
void sr__conv_pack_forward(const SrConvPacking *p, const float *w, float *packed);
void sr__conv_pack_backward(const SrConvPacking *p, const float *w, float *packed);

// Adds to dw the sum of `parts` parts, in order; each is (groups, blocks, taps, C, width), like
// packed weights.
void sr__conv_unpack(const SrConvPacking *p, const float *part, int parts, float *dw);

#endif
