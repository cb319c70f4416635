// bfloat16 convolutions through the designs for floats: x and dy are widened to floats in scratch,
// y and dx are rounded from there.  Used for groups on processors that do not multiply pairs, and
// for odd channel counts that conv_padded.c does not take.  The conversions cost one more pass over
// memory for each tensor.
#ifndef SR_KERNELS_CONV_CONV_WIDE_H
#define SR_KERNELS_CONV_CONV_WIDE_H

#include "kernels/conv/conv_shape.h"

// c->widened is set for the pass.
double sr__conv_wide_cost(const SrConvShape *s); // of the conversions alone
size_t sr__conv_wide_scratch(const SrConv *c, SrConvPass pass);
SrConvPrepared sr__conv_wide_prepared(const SrConv *c, SrConvPass pass);
void sr__conv_wide_prepare(const SrConv *c, SrConvPass pass, const float *w, float *to);
void sr__conv_wide_forward(const SrConv *c, const void *x, const float *w, const SrConvEnd *end,
                           void *y, void *scratch);
void sr__conv_wide_backward_data(const SrConv *c, const void *dy, const float *w, void *dx,
                                 bool add, void *scratch);
void sr__conv_wide_backward_weight(const SrConv *c, const void *x, const void *dy, float *dw,
                                   void *scratch);

#endif
