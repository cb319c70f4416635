// Products of rows with a weight, by the convolutions or by sr_gemm (row_product.h).  The rows are
// a map of one row of pixels.
#include "kernels/core/row_product.h"

#include <string.h>

#include "base/compiler.h"
#include "kernels/conv/conv.h"
#include "kernels/core/gemm.h"

SrConv sr__row_conv(const SrMachine *machine, int64_t rows, int C, int K, SrDtype type) {
    SrConvShape s = {.N = 1, .H = 1, .W = (int)rows, .C = C, .K = K};
    SR_ASSERT(rows > 0 && rows <= INT32_MAX);
    s.R = s.S = s.stride_h = s.stride_w = s.dilation_h = s.dilation_w = s.groups = 1;
    s.type = type;
    s.machine = machine;
    sr_conv_shape(&s);
    return sr_conv_choose(&s);
}

// With few rows packing the weights does not pay.
bool sr__rows_by_conv(const SrConv *c, SrConvPass pass) {
    enum { MANY_ROWS = 128 };
    return c->shape.type == SR_BF16 ||
           (c->shape.W >= MANY_ROWS && strcmp(sr_conv_design(c, pass), "plain") != 0);
}

static size_t packed_bytes(const SrConv *c, SrConvPass pass) {
    size_t bytes = pass == SR_CONV_BACKWARD_WEIGHT ? 0 : sr_conv_prepared(c, pass).bytes;
    return (bytes + SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN;
}

size_t sr__row_product_bytes(const SrConv *c) {
    size_t most = 0;
    for (int pass = SR_CONV_FORWARD; pass <= SR_CONV_BACKWARD_WEIGHT; pass++)
        if (sr__rows_by_conv(c, (SrConvPass)pass))
            most = SR_MAX(most, packed_bytes(c, (SrConvPass)pass) +
                                    sr_conv_scratch_bytes(c, (SrConvPass)pass));
    return most;
}

// Returns w in the form that the pass reads, and the rest of the scratch.
static const float *pack(const SrConv *c, SrConvPass pass, const float *w, void **scratch) {
    size_t bytes = packed_bytes(c, pass);
    float *packed = *scratch;
    if (!bytes)
        return w;
    sr_conv_prepare(c, pass, w, packed);
    *scratch = (char *)*scratch + bytes;
    return packed;
}

void sr__row_forward(const SrConv *c, const float *x, const float *w, float *y, void *scratch) {
    if (!sr__rows_by_conv(c, SR_CONV_FORWARD)) {
        const SrConvShape *s = &c->shape;
        sr_gemm(false, true, s->W, s->K, s->C, 1, x, s->C, w, s->C, 0, y, s->K);
        return;
    }
    w = pack(c, SR_CONV_FORWARD, w, &scratch);
    SR_ASSERT((uintptr_t)scratch % SR_ALIGN == 0);
    sr_conv_forward(c, x, w, NULL, y, scratch);
}

void sr__row_backward_data(const SrConv *c, const float *dy, const float *w, float *dx, bool add,
                           void *scratch) {
    if (!sr__rows_by_conv(c, SR_CONV_BACKWARD_DATA)) {
        const SrConvShape *s = &c->shape;
        sr_gemm(false, false, s->W, s->C, s->K, 1, dy, s->K, w, s->C, (float)add, dx, s->C);
        return;
    }
    w = pack(c, SR_CONV_BACKWARD_DATA, w, &scratch);
    sr_conv_backward_data(c, dy, w, dx, add, scratch);
}

void sr__row_backward_weight(const SrConv *c, const float *x, const float *dy, float *dw,
                             void *scratch) {
    const SrConvShape *s = &c->shape;
    if (sr__rows_by_conv(c, SR_CONV_BACKWARD_WEIGHT))
        sr_conv_backward_weight(c, x, dy, dw, NULL, scratch);
    else
        sr_gemm(true, false, s->K, s->C, s->W, 1, dy, s->K, x, s->C, 1, dw, s->C);
}
