// Weight gradient of the design on tile registers.
#ifndef SR_KERNELS_CONV_TILES_CONV_TILE_WEIGHT_H
#define SR_KERNELS_CONV_TILES_CONV_TILE_WEIGHT_H

#include "kernels/conv/conv_shape.h"

// x (N, H, W, C), dy (N, P, Q, K); adds to dw (K, C/groups, R, S).
size_t sr__tile_weight_bytes(const SrConvShape *s);
void sr__tile_weight(const SrConvShape *s, const void *x, const void *dy, float *dw, void *scratch);

#endif
