// Types of a convolution: its shape, the design of each pass, prepared weights, and what follows on
// the output.
#ifndef SR_KERNELS_CONV_CONV_SHAPE_H
#define SR_KERNELS_CONV_CONV_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tensor.h"
#include "kernels/machine.h"
#include "kernels/norm/channel_sums.h"

typedef struct {
    int N, H, W, C; // input
    int K, R, S;    // output channels, kernel rows and columns
    int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;
    int P, Q;                 // output rows and columns; sr_conv_shape fills them
    SrDtype type;             // of x, y, dx, dy: F32 or BF16
    const SrMachine *machine; // instruction set and designs to choose from; outlives the shape
} SrConvShape;

typedef enum { SR_CONV_FORWARD, SR_CONV_BACKWARD_DATA, SR_CONV_BACKWARD_WEIGHT } SrConvPass;

void sr_conv_shape(SrConvShape *s); // Computes P and Q by PyTorch's formula.

// A convolution and the design of each pass.  The choice is made once, so that sizes and calls of
// one SrConv always agree.
typedef struct SrConvDesign SrConvDesign;
typedef struct {
    SrConvShape shape;
    const SrConvDesign *pass[3]; // indexed by SrConvPass
    bool widened[3]; // true: the design computes in floats, between conversions (conv_wide.c)
} SrConv;

// Weights in the form that a pass reads: packed, perhaps transformed.  Shapes that differ only in
// N, H and W and return the same key can share one prepared copy.  bytes 0: the pass reads w
// itself.
typedef struct {
    size_t bytes;
    uint64_t key;
} SrConvPrepared;

// Operations on an output while it is still in the cache: y = relu(y + bias + residual).  NULL or
// false leaves a part out; activate takes the place of relu.
typedef struct {
    const float *bias;    // (K) or NULL
    const void *residual; // (N, P, Q, K), of y's type, or NULL
    bool relu;            // A NaN stays a NaN.
    // Function `f` of kernels/activation/pointwise.h, or NULL
    void (*activate)(SrDtype type, void *y, const void *x, int64_t n);
    // Sums per channel of y as it is stored.  Only allowed without bias, residual, relu and
    // activate; units: sr_conv_sum_units.  sums.unit NULL: none.
    SrChannelSums sums;
} SrConvEnd;

#endif
