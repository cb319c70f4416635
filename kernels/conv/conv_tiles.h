// What the files of the tile design share (conv_tiles.c).  Only kernels/conv/conv_tile* include this.
#ifndef SR_KERNELS_CONV_CONV_TILES_H
#define SR_KERNELS_CONV_CONV_TILES_H

#include "kernels/conv/conv_design.h"
#include "kernels/conv/conv_tile_kernels.h"
#include "kernels/conv/conv_tile_plan.h"

// Products of parts that matter, smallest first: which part of the pixels, which of the weights.
typedef struct {
    int n, pixels[6], weights[6];
} SrTileParts;
SrTileParts sr__tile_parts(int parts);
int sr__tile_parts_of(const SrMachine *machine,
                      SrDtype type); // 1: bfloat16 itself; 0: floats are not split (SrConvFp32)

static inline int64_t sr__tile_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
static inline int sr__tile_blocks(int channels) {
    return (channels + SR_TILE_BLOCK - 1) / SR_TILE_BLOCK;
}

// Zeros in place of a pixel, SR_TILE_MOST_CHUNKS chunks of them.
extern const char sr__tile_zeros[];

// The weight gradient, in a file of its own: x (N, H, W, C), dy (N, P, Q, K), dw (K, C/groups, R, S) += .
size_t sr__tile_weight_bytes(const SrConvShape *s);
void sr__tile_weight(const SrConvShape *s, const void *x, const void *dy, float *dw, void *scratch);

#endif
