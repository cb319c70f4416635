// A convolution with random operands and its three results by plain loops in double precision.  Passes run in guarded
// memory that starts as NaN: nothing may be written past a buffer, and scratch may hold garbage.
#ifndef SR_TESTS_KERNELS_CONV_CASE_H
#define SR_TESTS_KERNELS_CONV_CASE_H

#include "base/rng.h"
#include "kernels/conv/conv.h"

typedef struct {
    SrConvShape s;
    float *x, *w, *dy, *bias;           // inputs
    double *y, *dx, *dw, *dbias;        // what is right
    double y_scale, dx_scale, dw_scale; // largest sum of absolute products of one output
} ConvCase;

size_t conv_x_len(const SrConvShape *s);
size_t conv_y_len(const SrConvShape *s);
size_t conv_w_len(const SrConvShape *s);

int conv_pick(SrRng *rng, int low, int high);
float *conv_draw(SrRng *rng, size_t n);
SrConvShape conv_random_shape(SrRng *rng); // anything at all, mostly small
bool conv_shape_empty(SrConvShape s);      // no output fits the map

ConvCase conv_case_new(SrConvShape s, SrRng *rng);
void conv_case_free(ConvCase *t);
// What one pass leaves in a buffer of `len` numbers that starts as `start` everywhere.  `add` asks a forward for a
// residual (dy, which has its shape) and a ReLU as well.
float *conv_case_run(const ConvCase *t, SrConvPass pass, size_t len, float start, bool add,
                     float *dbias);
// All passes against the truth; tolerance relative to the largest sum of absolute products.
void conv_case_check(const ConvCase *t, double exact);
void conv_case_check_threads(const ConvCase *t); // 1, 2 and 3 of them leave the same bits

#endif
