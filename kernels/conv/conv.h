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

typedef struct {
    int N, H, W, C; // input
    int K, R, S;    // output channels, kernel rows and columns
    int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;
    int P, Q;     // output rows and columns; sr_conv_shape fills them
    SrDtype type; // of x, y, dx, dy: F32 or BF16
} SrConvShape;

typedef enum { SR_CONV_FORWARD, SR_CONV_BACKWARD_DATA, SR_CONV_BACKWARD_WEIGHT } SrConvPass;

void sr_conv_shape(SrConvShape *s); // P, Q from the rest (PyTorch's formula)

// Scratch for one call of the pass with the present number of threads.
size_t sr_conv_scratch_bytes(const SrConvShape *s, SrConvPass pass);

// Weights in the form a pass reads: packed, perhaps transformed.  Shapes that differ in N, H, W only and
// ask for the same key can share what is made once; bytes 0: the pass reads w itself.
typedef struct {
    size_t bytes;
    uint64_t key;
} SrConvPrepared;
SrConvPrepared sr_conv_prepared(const SrConvShape *s, SrConvPass pass);
// Fills prepared (sr_conv_prepared bytes) from w (K, C/groups, R, S); nothing where it asks for none.
void sr_conv_prepare(const SrConvShape *s, SrConvPass pass, const float *w, void *prepared);

// In forward and backward data `w` is what sr_conv_prepare made for the shape and pass, or the weights
// themselves where it asks for no bytes.  y = x * w + bias; bias (K) may be NULL.
void sr_conv_forward(const SrConvShape *s, const void *x, const float *w, const float *bias,
                     void *y, void *scratch);
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
int64_t sr_conv_sum_units(const SrConvShape *s); // 0: this forward takes no sums
void sr_conv_forward_end(const SrConvShape *s, const void *x, const float *w, const SrConvEnd *end,
                         void *y, void *scratch);

// dx (N, H, W, C) = or, with `add`, += the product of dy (N, P, Q, K) and the transposed weights.  w: as above.
void sr_conv_backward_data(const SrConvShape *s, const void *dy, const float *w, void *dx, bool add,
                           void *scratch);
// dw (K, C/groups, R, S) += the gradient; dbias (K) += row sums of dy unless NULL.
void sr_conv_backward_weight(const SrConvShape *s, const void *x, const void *dy, float *dw,
                             float *dbias, void *scratch);
// The part of it that a frozen weight leaves: dbias alone.
void sr_conv_backward_bias(const SrConvShape *s, const void *dy, float *dbias, void *scratch);

// Which design a pass takes ("direct", "tiles", "winograd4", "plain", ...), for listings.
const char *sr_conv_design(const SrConvShape *s, SrConvPass pass);

// For tests and the bench: only designs in this mask are considered (plain always remains, and for
// bfloat16 the conversion to floats and back).
enum {
    SR_CONV_DIRECT = 1,
    SR_CONV_WINOGRAD4 = 2,
    SR_CONV_WINOGRAD2 = 4,
    SR_CONV_WINOGRAD3 = 8,
    SR_CONV_TILES = 16,
    SR_CONV_ALL = 31
};
void sr_conv_allow(unsigned mask);
unsigned sr_conv_allowed(void);

// How products of floats may be made, of the whole process; at start SR_CONV_FP32_AUTO.  On tile registers floats are
// split into bfloat16 parts: six products of three parts are more exact than fused multiply-adds (32 terms are summed
// apart before they meet the sum), three of two parts have the errors of F(4x4), 5e-6 of the largest value.  An
// infinity comes out as a NaN.  Without tile registers all mean IEEE.
typedef enum {
    SR_CONV_FP32_IEEE, // fused multiply-adds, and Winograd as sr_conv_allow says
    SR_CONV_FP32_X6,   // six products too, where that is faster
    SR_CONV_FP32_X3,   // three
    SR_CONV_FP32_AUTO, // what is at least as exact as IEEE: X6
} SrConvFp32;
void sr_conv_fp32(SrConvFp32 how);

// Whether bfloat16 is multiplied as pairs (vdpbf16ps) where the processor has that; at start yes.  Zen 4 doubles its
// rate by it, Intel's cores take longer than for the same numbers as floats.  SR_CONV_PAIRS_FASTEST measures both
// once in the process, a hundredth of a second, and holds the answer; tile registers are not concerned.
typedef enum { SR_CONV_PAIRS_ALWAYS, SR_CONV_PAIRS_NEVER, SR_CONV_PAIRS_FASTEST } SrConvPairs;
void sr_conv_pairs(SrConvPairs how);
bool sr_conv_has_pairs(void); // of processor and choice
// For tests: `seconds` a product says what would be measured, and what was measured is forgotten.  NULL: the clock again.
void sr_conv_pairs_measure(double (*seconds)(bool pairs));

// What the present threads reach at full speed in products of that type, measured now: takes a few milliseconds
// (conv_peak.c).
double sr_conv_peak_gflops(SrDtype type);

#endif
