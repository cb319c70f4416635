// Weight gradient of the direct design.
#ifndef SR_KERNELS_CONV_CONV_DIRECT_WEIGHT_H
#define SR_KERNELS_CONV_CONV_DIRECT_WEIGHT_H

#include "kernels/conv/conv_shape.h"

// x (N, H, W, C), dy (N, P, Q, K), dw (K, C/groups, R, S), as in SrConvDesign.backward_weight.
double sr__conv_direct_weight_cost(const SrConvShape *s, int depth);
size_t sr__conv_direct_weight_bytes(const SrConvShape *s);
// Returns whether the weight gradient can add the gradient of the bias as well.  Where it cannot,
// dbias must be NULL; else it is (K) or NULL.
bool sr__conv_direct_weight_bias(const SrConvShape *s);
void sr__conv_direct_weight(const SrConvShape *s, const void *x, const void *dy, float *dw,
                            float *dbias, void *scratch);

#endif
