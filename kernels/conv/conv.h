// The one door to convolution: every design (direct, Winograd, plain C) stands behind these calls.
//
// x (N, H, W, C), w (K, C/groups, R, S) as PyTorch stores it, y (N, P, Q, K), dense, any channel
// count, stride, padding, dilation and groups.  x, y and their gradients are floats or bfloat16, as
// the shape says; weights, bias and their gradients floats; sums are made in floats.  Bits do not
// depend on the number of threads.
#ifndef SR_KERNELS_CONV_CONV_H
#define SR_KERNELS_CONV_CONV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tensor.h"
#include "kernels/channel_sums.h"
#include "kernels/machine.h"

typedef struct {
    int N, H, W, C; // input
    int K, R, S;    // output channels, kernel rows and columns
    int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;
    int P, Q;                 // output rows and columns; sr_conv_shape fills them
    SrDtype type;             // of x, y, dx, dy: F32 or BF16
    const SrMachine *machine; // instruction set and designs to choose from; outlives the shape
} SrConvShape;

typedef enum { SR_CONV_FORWARD, SR_CONV_BACKWARD_DATA, SR_CONV_BACKWARD_WEIGHT } SrConvPass;

void sr_conv_shape(SrConvShape *s); // P, Q from the rest (PyTorch's formula)

// A convolution and the design of each pass, chosen once: sizes and calls of one SrConv always agree.
typedef struct SrConvDesign SrConvDesign;
typedef struct {
    SrConvShape shape;
    const SrConvDesign *pass[3]; // indexed by SrConvPass
    bool widened[3];             // the design computes in floats, between conversions (conv_wide.c)
} SrConv;
// The design of each pass that promises the least time among those the machine allows.  P and Q are filled.
SrConv sr_conv_choose(const SrConvShape *s);

// Scratch for one call of the pass with the present number of threads.
size_t sr_conv_scratch_bytes(const SrConv *c, SrConvPass pass);

// Weights in the form a pass reads: packed, perhaps transformed.  Shapes that differ in N, H, W only and
// ask for the same key can share what is made once; bytes 0: the pass reads w itself.
typedef struct {
    size_t bytes;
    uint64_t key;
} SrConvPrepared;
SrConvPrepared sr_conv_prepared(const SrConv *c, SrConvPass pass);
// Fills prepared (sr_conv_prepared bytes) from w (K, C/groups, R, S); nothing where it asks for none.
void sr_conv_prepare(const SrConv *c, SrConvPass pass, const float *w, void *prepared);

// In forward and backward data `w` is what sr_conv_prepare made for the shape and pass, or the weights
// themselves where it asks for no bytes.  y = x * w + bias; bias (K) may be NULL.
void sr_conv_forward(const SrConv *c, const void *x, const float *w, const float *bias, void *y,
                     void *scratch);
// What happens to an output on its way out, while it is still in the cache:
// y = relu(y + bias + residual), without the parts that are NULL or false, or activate in relu's place.
typedef struct {
    const float *bias;                                                 // (K)
    const void *residual;                                              // (N, P, Q, K), of y's type
    bool relu;                                                         // a NaN stays one
    void (*activate)(SrDtype type, void *y, const void *x, int64_t n); // kernels/pointwise.h's f
    SrChannelSums
        sums; // of y as it is stored; with nothing of the above, in units of sr_conv_sum_units
} SrConvEnd;
int64_t sr_conv_sum_units(const SrConv *c); // 0: this forward takes no sums
void sr_conv_forward_end(const SrConv *c, const void *x, const float *w, const SrConvEnd *end,
                         void *y, void *scratch);

// dx (N, H, W, C) = or, with `add`, += the product of dy (N, P, Q, K) and the transposed weights.  w: as above.
void sr_conv_backward_data(const SrConv *c, const void *dy, const float *w, void *dx, bool add,
                           void *scratch);
// dw (K, C/groups, R, S) += the gradient; dbias (K) += row sums of dy unless NULL.
void sr_conv_backward_weight(const SrConv *c, const void *x, const void *dy, float *dw,
                             float *dbias, void *scratch);
// The part of it that a frozen weight leaves: dbias alone.
void sr_conv_backward_bias(const SrConv *c, const void *dy, float *dbias, void *scratch);

// Which design a pass takes ("direct", "tiles", "winograd4", "plain", ...), for listings.
const char *sr_conv_design(const SrConv *c, SrConvPass pass);

// What the present threads reach at full speed in products of that type, measured now: takes a few milliseconds
// (conv_peak.c).
double sr_conv_peak_gflops(const SrMachine *machine, SrDtype type);

// Whether the default machine multiplies bfloat16 faster as pairs than as floats: measured by the first call, a hundredth
// of a second, and constant afterwards.  False without pairs.
bool sr_conv_pairs_are_faster(void);
// The measurement itself, for tests: `seconds` is the time of one product.
bool sr__conv_pairs_win(double (*seconds)(bool pairs));

#endif
