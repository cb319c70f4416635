// Params of add_positions.
#ifndef SR_KERNELS_ADD_POSITIONS_H
#define SR_KERNELS_ADD_POSITIONS_H

#include <stdbool.h>

typedef struct { // add_positions: tokens are `prefix` ones without a place, then a grid's rows
    int prefix;  // class token, registers
    int from_h, from_w;  // grid of the learned embeddings
    int to_h, to_w;      // grid of the tokens
    bool align_corners;  // torchvision: corners of both grids lie on each other
    bool antialias;      // a smaller grid is filtered
    double offset;       // DINO: 0.1 is added to the tokens' grid when the scale is taken
    bool sequence_first; // the parameter is (L, 1, D) instead of (1, L, D)
} SrAddPositionsParams;

// Embeddings (prefix + from_h from_w, D) on the tokens' grid, (prefix + to_h to_w, D), as the op resamples them.
void sr_add_positions_resample(const SrAddPositionsParams *p, const float *from, int D, float *to);

#endif
