// Products of rows with a weight, as linear layers make them: y = x W^T and its two gradients, x (rows, C), W (K, C),
// y (rows, K).  A map of one row of pixels for the convolutions (kernels/conv/conv.h), whatever multiplies that; floats of few
// rows by OpenBLAS: our product is faster, packing the weights for it is not.
#ifndef SR_KERNELS_ROW_PRODUCT_H
#define SR_KERNELS_ROW_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/conv/conv.h"

// The products as a convolution, with its designs chosen.
SrConv sr__row_conv(const SrMachine *machine, int64_t rows, int C, int K, SrDtype type);
bool sr__rows_by_conv(const SrConv *c, SrConvPass pass);

// Bytes of scratch that any of the three needs, which the calls below divide among packed weights and the product.
size_t sr__row_product_bytes(const SrConv *c);
// Floats, weights packed at each call.  y = x W^T.
void sr__row_forward(const SrConv *c, const float *x, const float *w, float *y, void *scratch);
// dx = or, with `add`, += dy W.
void sr__row_backward_data(const SrConv *c, const float *dy, const float *w, float *dx, bool add,
                           void *scratch);
// dw += dy^T x.
void sr__row_backward_weight(const SrConv *c, const float *x, const float *dy, float *dw,
                             void *scratch);

#endif
