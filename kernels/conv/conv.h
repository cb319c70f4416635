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
// Picks for each pass the design of least estimated time among those that the machine allows.  P
// and Q of the shape must be filled.
SrConv sr_conv_choose(const SrConvShape *s);

// Bytes of scratch for one call of the pass with the present number of threads.
size_t sr_conv_scratch_bytes(const SrConv *c, SrConvPass pass);

// Weights in the form that a pass reads: packed, perhaps transformed.  Shapes that differ only in
// N, H and W and return the same key can share one prepared copy.  bytes 0: the pass reads w
// itself.
typedef struct {
    size_t bytes;
    uint64_t key;
} SrConvPrepared;
SrConvPrepared sr_conv_prepared(const SrConv *c, SrConvPass pass);
// Fills prepared (sr_conv_prepared bytes) from w (K, C/groups, R, S).  Does nothing where `bytes`
// is 0.
void sr_conv_prepare(const SrConv *c, SrConvPass pass, const float *w, void *prepared);

// Computes y = x * w + bias; bias (K) may be NULL.  In forward and backward data, `w` is what
// sr_conv_prepare made for the shape and pass, or the weights themselves where `bytes` is 0.
void sr_conv_forward(const SrConv *c, const void *x, const float *w, const float *bias, void *y,
                     void *scratch);
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

// Returns the speed in GFLOP/s that the present threads reach in products of that type.  The speed
// is measured by each call, which takes a few milliseconds (conv_peak.c).
double sr_conv_peak_gflops(const SrMachine *machine, SrDtype type);

// Returns whether the default machine multiplies bfloat16 faster as pairs than as floats.  The
// first call measures it in about 10 ms; later calls return the same answer.  False on a machine
// without pairs.
bool sr_conv_pairs_are_faster(void);
// Makes the comparison with the caller's clock, for tests: `seconds` returns the time of one
// product.
bool sr__conv_pairs_win(double (*seconds)(bool pairs));

#endif
