// Interface of convolution.  Every design (direct, Winograd, tile registers, plain C) is reached
// through these calls; sr_conv_choose picks one per pass.
//
// Layouts: x (N, H, W, C), w (K, C/groups, R, S) as PyTorch stores it, y (N, P, Q, K), all dense.
// Any channel count, stride, padding, dilation and number of groups is allowed.  x, y and their
// gradients are floats or bfloat16, as the shape says.  Weights, bias and their gradients are
// floats, and sums are made in floats.  The bits of a result do not depend on the number of
// threads.
#ifndef SR_KERNELS_CONV_CONV_H
#define SR_KERNELS_CONV_CONV_H

#include "kernels/conv/conv_shape.h"

// Picks for each pass the design of least estimated time among those that the machine allows.  P
// and Q of the shape must be filled.
SrConv sr_conv_choose(const SrConvShape *s);

// Bytes of scratch for one call of the pass with the present number of threads.
size_t sr_conv_scratch_bytes(const SrConv *c, SrConvPass pass);

SrConvPrepared sr_conv_prepared(const SrConv *c, SrConvPass pass);
// Fills prepared (sr_conv_prepared bytes) from w (K, C/groups, R, S).  Does nothing where `bytes`
// is 0.
void sr_conv_prepare(const SrConv *c, SrConvPass pass, const float *w, void *prepared);

// Computes y = x * w + bias; bias (K) may be NULL.  In forward and backward data, `w` is what
// sr_conv_prepare made for the shape and pass, or the weights themselves where `bytes` is 0.
void sr_conv_forward(const SrConv *c, const void *x, const float *w, const float *bias, void *y,
                     void *scratch);
// Number of row blocks of the sums; 0: this forward takes none.
int64_t sr_conv_sum_units(const SrConv *c);
void sr_conv_forward_end(const SrConv *c, const void *x, const float *w, const SrConvEnd *end,
                         void *y, void *scratch);

// Computes dx (N, H, W, C) = or, with `add`, += the product of dy (N, P, Q, K) and the transposed
// weights.  w: as in forward.
void sr_conv_backward_data(const SrConv *c, const void *dy, const float *w, void *dx, bool add,
                           void *scratch);
// Adds the gradient to dw (K, C/groups, R, S), and the row sums of dy to dbias.  dbias NULL: not
// wanted.
void sr_conv_backward_weight(const SrConv *c, const void *x, const void *dy, float *dw,
                             float *dbias, void *scratch);
// Computes both gradients, in one walk over dy where the design can: backward_weight, then
// backward_data.
void sr_conv_backward(const SrConv *c, const void *x, const void *dy, const float *w, void *dx,
                      bool add, float *dw, float *dbias, void *scratch);
// Adds the row sums of dy to dbias alone, for a layer whose weight is frozen.
void sr_conv_backward_bias(const SrConv *c, const void *dy, float *dbias, void *scratch);

// Returns the name of the pass's design for listings: "direct", "tiles", "winograd4", "plain", ...
const char *sr_conv_design(const SrConv *c, SrConvPass pass);

#endif
