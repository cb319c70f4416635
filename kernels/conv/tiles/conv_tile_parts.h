// Parts of numbers on tile registers: a float is the sum of up to three bfloat16 parts, and a
// product the sum of the products of parts that matter.
#ifndef SR_KERNELS_CONV_TILES_CONV_TILE_PARTS_H
#define SR_KERNELS_CONV_TILES_CONV_TILE_PARTS_H

#include "kernels/conv/tiles/conv_tile_kernels.h"

// The products of parts that matter, smallest first: which part of the pixels meets which part of
// the weights.
typedef struct {
    int n, pixels[6], weights[6];
} SrTileParts;
SrTileParts sr__tile_parts(int parts);
// Returns the number of parts of a number: 1 for bfloat16 itself; 0: floats are not split
// (SrConvFp32).
int sr__tile_parts_of(const SrMachine *machine, SrDtype type);

static inline int64_t sr__tile_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
static inline int sr__tile_blocks(int channels) {
    return (channels + SR_TILE_BLOCK - 1) / SR_TILE_BLOCK;
}

// Zeros that stand in for a pixel, SR_TILE_MOST_CHUNKS chunks of them.
extern const char sr__tile_zeros[];

#endif
