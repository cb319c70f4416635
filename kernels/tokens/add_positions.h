// Params of add_positions.
#ifndef SR_KERNELS_TOKENS_ADD_POSITIONS_H
#define SR_KERNELS_TOKENS_ADD_POSITIONS_H

#include <stdbool.h>

typedef struct {         // the tokens are `prefix` ones without a place, then the rows of a grid
    int prefix;          // class token, registers
    int from_h, from_w;  // grid of the learned embeddings
    int to_h, to_w;      // grid of the tokens
    bool align_corners;  // corners of both grids coincide (torchvision)
    bool antialias;      // a filter is applied when the grid shrinks
    double offset;       // added to the tokens' grid when the scale is computed; DINO: 0.1
    bool sequence_first; // the parameter is (L, 1, D); false: (1, L, D)
} SrAddPositionsParams;

// Resamples embeddings (prefix + from_h from_w, D) to the tokens' grid, (prefix + to_h to_w, D), as
// the op does.
void sr_add_positions_resample(const SrAddPositionsParams *p, const float *from, int D, float *to);

#endif
