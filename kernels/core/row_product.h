// Products of rows with a weight, as in linear layers: y = x W^T and its two gradients; x (rows,
// C), W (K, C), y (rows, K).  The rows are a map of one row of pixels for the convolutions
// (kernels/conv/conv.h), whatever design multiplies it.  Few rows of floats go to sr_gemm, because
// packing the weights would cost more than our faster product saves.
#ifndef SR_KERNELS_CORE_ROW_PRODUCT_H
#define SR_KERNELS_CORE_ROW_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/conv/conv_shape.h"

// The products as a convolution, with its designs chosen.
SrConv sr__row_conv(const SrMachine *machine, int64_t rows, int C, int K, SrDtype type);
bool sr__rows_by_conv(const SrConv *c, SrConvPass pass);

// Returns the bytes of scratch that any of the three products needs.  The calls below divide it
// among packed weights and the product.
size_t sr__row_product_bytes(const SrConv *c);
// Products of floats that pack the weights in each call.  Computes y = x W^T.
void sr__row_forward(const SrConv *c, const float *x, const float *w, float *y, void *scratch);
// Computes dx = or, with `add`, += dy W.
void sr__row_backward_data(const SrConv *c, const float *dy, const float *w, float *dx, bool add,
                           void *scratch);
// Computes dw += dy^T x.
void sr__row_backward_weight(const SrConv *c, const float *x, const float *dy, float *dw,
                             void *scratch);

#endif
