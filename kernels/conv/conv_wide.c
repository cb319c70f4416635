// bfloat16 tensors through the designs for floats: x and dy widened to floats in scratch, y and dx rounded from there.
// For processors without vdpbf16ps and for odd channel counts that conv_padded.c does not take; its cost beside the
// product is one more pass over memory each.
#include "base/bf16.h"
#include "kernels/cast.h"
#include "kernels/conv/conv_design.h"

static int64_t x_count(const SrConvShape *s) { return (int64_t)s->N * s->H * s->W * s->C; }
static int64_t y_count(const SrConvShape *s) { return (int64_t)s->N * s->P * s->Q * s->K; }

static SrConvShape widened(const SrConvShape *s) {
    SrConvShape wide = *s;
    wide.type = SR_F32;
    return wide;
}

// The product, and about what the conversions take in multiply-adds.
static double cost(const SrConvShape *s, SrConvPass pass) {
    SrConvShape wide = widened(s);
    return sr__conv_cost(&wide, pass) + 24.0 * (double)(x_count(s) + y_count(s));
}

// Floats in place of x and y (or dx and dy), and for the residual; then what the product needs.
typedef struct {
    float *x, *y, *residual;
    void *rest;
} Pieces;

static Pieces take_pieces(SrConvScratch *scratch, const SrConvShape *s, SrConvPass pass) {
    SrConvShape wide = widened(s);
    size_t x = sizeof(float) * (size_t)x_count(s), y = sizeof(float) * (size_t)y_count(s);
    return (Pieces){.x = sr__conv_take(scratch, x),
                    .y = sr__conv_take(scratch, y),
                    .residual = sr__conv_take(scratch, pass == SR_CONV_FORWARD ? y : 0),
                    .rest = sr__conv_take(scratch, sr_conv_scratch_bytes(&wide, pass))};
}

static size_t scratch_bytes(const SrConvShape *s, SrConvPass pass) {
    SrConvScratch count = {0};
    take_pieces(&count, s, pass);
    return count.used;
}

static SrConvPrepared prepared(const SrConvShape *s, SrConvPass pass) {
    SrConvShape wide = widened(s);
    return sr_conv_prepared(&wide, pass);
}

static void prepare(const SrConvShape *s, SrConvPass pass, const float *w, float *to) {
    SrConvShape wide = widened(s);
    sr_conv_prepare(&wide, pass, w, to);
}

static void forward(const SrConvShape *s, const void *x, const float *w, const SrConvEnd *end,
                    void *y, void *scratch) {
    SrConvScratch pool = {scratch, 0};
    Pieces pieces = take_pieces(&pool, s, SR_CONV_FORWARD);
    SrConvShape wide = widened(s);
    SrConvEnd wide_end = end ? *end : (SrConvEnd){0};
    sr_cast(SR_F32, pieces.x, SR_BF16, x, x_count(s));
    if (wide_end.residual) {
        sr_cast(SR_F32, pieces.residual, SR_BF16, wide_end.residual, y_count(s));
        wide_end.residual = pieces.residual;
    }
    sr_conv_forward_end(&wide, pieces.x, w, &wide_end, pieces.y, pieces.rest);
    sr_cast(SR_BF16, y, SR_F32, pieces.y, y_count(s));
}

static void backward_data(const SrConvShape *s, const void *dy, const float *w, void *dx, bool add,
                          void *scratch) {
    SrConvScratch pool = {scratch, 0};
    Pieces pieces = take_pieces(&pool, s, SR_CONV_BACKWARD_DATA);
    SrConvShape wide = widened(s);
    sr_cast(SR_F32, pieces.y, SR_BF16, dy, y_count(s));
    sr_conv_backward_data(&wide, pieces.y, w, pieces.x, false, pieces.rest);
    if (add)
        sr_accumulate(SR_BF16, dx, SR_F32, pieces.x, x_count(s));
    else
        sr_cast(SR_BF16, dx, SR_F32, pieces.x, x_count(s));
}

static void backward_weight(const SrConvShape *s, const void *x, const void *dy, float *dw,
                            void *scratch) {
    SrConvScratch pool = {scratch, 0};
    Pieces pieces = take_pieces(&pool, s, SR_CONV_BACKWARD_WEIGHT);
    SrConvShape wide = widened(s);
    sr_cast(SR_F32, pieces.x, SR_BF16, x, x_count(s));
    sr_cast(SR_F32, pieces.y, SR_BF16, dy, y_count(s));
    sr_conv_backward_weight(&wide, pieces.x, pieces.y, dw, NULL, pieces.rest);
}

const SrConvDesign sr__conv_wide = {
    .name = "widened",
    .cost = cost,
    .scratch_bytes = scratch_bytes,
    .prepared = prepared,
    .prepare = prepare,
    .forward = forward,
    .backward_data = backward_data,
    .backward_weight = backward_weight,
};
