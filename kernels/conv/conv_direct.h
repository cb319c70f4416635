// The weight gradient of the direct design, kept in its own file.  Only kernels/conv/*.c include
// this.
#ifndef SR_KERNELS_CONV_CONV_DIRECT_H
#define SR_KERNELS_CONV_CONV_DIRECT_H

#include "kernels/conv/conv.h"

// x (N, H, W, C), dy (N, P, Q, K), dw (K, C/groups, R, S), as SrConvDesign.backward_weight has them.
double sr__conv_direct_weight_cost(const SrConvShape *s, int depth);
size_t sr__conv_direct_weight_bytes(const SrConvShape *s);
// Whether it can add the gradient of the bias on the way; dbias (K) must be NULL otherwise.
bool sr__conv_direct_weight_bias(const SrConvShape *s);
void sr__conv_direct_weight(const SrConvShape *s, const void *x, const void *dy, float *dw,
                            float *dbias, void *scratch);

#endif
