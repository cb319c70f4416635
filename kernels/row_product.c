// See the header.
#include "kernels/row_product.h"

#include <string.h>

#include "base/compiler.h"
#include "kernels/gemm.h"

SrConvShape sr__row_shape(int64_t rows, int C, int K, SrDtype type) {
    SrConvShape s = {.N = 1, .H = 1, .W = (int)rows, .C = C, .K = K};
    s.R = s.S = s.stride_h = s.stride_w = s.dilation_h = s.dilation_w = s.groups = 1;
    s.type = type;
    sr_conv_shape(&s);
    return s;
}

// Few rows are not worth packing the weights for.
bool sr__rows_by_conv(const SrConvShape *s, SrConvPass pass) {
    enum { MANY_ROWS = 128 };
    return s->type == SR_BF16 ||
           (s->W >= MANY_ROWS && strcmp(sr_conv_design(s, pass), "plain") != 0);
}

static size_t packed_bytes(const SrConvShape *s, SrConvPass pass) {
    size_t bytes = pass == SR_CONV_BACKWARD_WEIGHT ? 0 : sr_conv_prepared(s, pass).bytes;
    return (bytes + SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN;
}

size_t sr__row_product_bytes(const SrConvShape *s) {
    size_t most = 0;
    for (int pass = SR_CONV_FORWARD; pass <= SR_CONV_BACKWARD_WEIGHT; pass++)
        if (sr__rows_by_conv(s, (SrConvPass)pass))
            most = SR_MAX(most, packed_bytes(s, (SrConvPass)pass) +
                                    sr_conv_scratch_bytes(s, (SrConvPass)pass));
    return most;
}

// w as the pass reads it, and what is left of the scratch.
static const float *pack(const SrConvShape *s, SrConvPass pass, const float *w, void **scratch) {
    size_t bytes = packed_bytes(s, pass);
    float *packed = *scratch;
    if (!bytes)
        return w;
    sr_conv_prepare(s, pass, w, packed);
    *scratch = (char *)*scratch + bytes;
    return packed;
}

void sr__row_forward(const SrConvShape *s, const float *x, const float *w, float *y,
                     void *scratch) {
    if (!sr__rows_by_conv(s, SR_CONV_FORWARD)) {
        sr_gemm(false, true, s->W, s->K, s->C, 1, x, s->C, w, s->C, 0, y, s->K);
        return;
    }
    w = pack(s, SR_CONV_FORWARD, w, &scratch);
    sr_conv_forward(s, x, w, NULL, y, scratch);
}

void sr__row_backward_data(const SrConvShape *s, const float *dy, const float *w, float *dx,
                           bool add, void *scratch) {
    if (!sr__rows_by_conv(s, SR_CONV_BACKWARD_DATA)) {
        sr_gemm(false, false, s->W, s->C, s->K, 1, dy, s->K, w, s->C, (float)add, dx, s->C);
        return;
    }
    w = pack(s, SR_CONV_BACKWARD_DATA, w, &scratch);
    sr_conv_backward_data(s, dy, w, dx, add, scratch);
}

void sr__row_backward_weight(const SrConvShape *s, const float *x, const float *dy, float *dw,
                             void *scratch) {
    if (sr__rows_by_conv(s, SR_CONV_BACKWARD_WEIGHT))
        sr_conv_backward_weight(s, x, dy, dw, NULL, scratch);
    else
        sr_gemm(true, false, s->K, s->C, s->W, 1, dy, s->K, x, s->C, 1, dw, s->C);
}
