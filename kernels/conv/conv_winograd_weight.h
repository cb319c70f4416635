// Weight gradient of the Winograd design.
#ifndef SR_KERNELS_CONV_CONV_WINOGRAD_WEIGHT_H
#define SR_KERNELS_CONV_CONV_WINOGRAD_WEIGHT_H

#include "kernels/conv/conv_shape.h"

// x (N, H, W, C), dy (N, P, Q, K); adds to dw (K, C, 3, 3).
double sr__winograd_weight_cost(const SrConvShape *s, int m);
size_t sr__winograd_weight_bytes(const SrConvShape *s, int m);
void sr__winograd_weight(const SrConvShape *s, int m, const void *x, const void *dy, float *dw,
                         void *scratch);

#endif
