// A convolution with random operands, and its results by plain loops in double precision. Each
// pass runs in guarded memory that starts as NaN: a pass that writes past a buffer fails, and so
// does one that trusts the content of scratch.
#ifndef SR_TESTS_KERNELS_CONV_CASE_H
#define SR_TESTS_KERNELS_CONV_CASE_H

#include "base/rng.h"
#include "kernels/conv/conv_shape.h"

typedef struct {
    SrConvShape s;
    float *x, *w, *dy, *bias;           // inputs
    double *y, *dx, *dw, *dbias;        // expected results, by plain loops
    double y_scale, dx_scale, dw_scale; // largest sum of absolute products of one output
} ConvCase;

size_t conv_x_len(const SrConvShape *s);
size_t conv_y_len(const SrConvShape *s);
size_t conv_w_len(const SrConvShape *s);

int conv_pick(SrRng *rng, int low, int high);
float *conv_draw(SrRng *rng, size_t n);
SrConvShape conv_random_shape(SrRng *rng); // any kind, mostly small
bool conv_shape_empty(SrConvShape s);      // true: no output pixel fits the map

ConvCase conv_case_new(SrConvShape s, SrRng *rng);
void conv_case_free(ConvCase *t);
// Runs one pass into a buffer of `len` numbers that all start as `start`, and returns it. The
// caller frees it. `add` asks the forward pass for a residual (dy, which has the same shape) and
// a ReLU. dbias (K): NULL skips it.
float *conv_case_run(const ConvCase *t, SrConvPass pass, size_t len, float start, bool add,
                     float *dbias);
// Checks all passes of a case; `exact` is the tolerance relative to the largest sum of absolute
// products.
void conv_case_check(const ConvCase *t, double exact);
void conv_case_check_threads(const ConvCase *t); // 1, 2 and 3 threads give the same bits

#endif
