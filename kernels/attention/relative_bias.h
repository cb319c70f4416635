// Params of relative_bias and relative_coords.
#ifndef SR_KERNELS_ATTENTION_RELATIVE_BIAS_H
#define SR_KERNELS_ATTENTION_RELATIVE_BIAS_H

#include <stdbool.h>

typedef struct { // a table over offsets -> (1, heads, L, L)
    int num_heads;
    int window_h, window_w; // places of the grid
    bool class_token;       // a token before the grid, with three more rows of the table
    int tokens;             // only the first that many rows and columns; 0: all
} SrRelativeBiasParams;

typedef struct {            // relative_coords: (1, 2 h - 1, 2 w - 1, 2)
    int window_h, window_w; // at least 2
} SrRelativeCoordsParams;

#endif
