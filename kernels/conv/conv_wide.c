// Converts the tensors of a pass, and calls the design for floats in between.
#include "kernels/conv/conv_wide.h"

#include "base/bf16.h"
#include "base/compiler.h"
#include "kernels/basic/cast.h"
#include "kernels/conv/conv_design.h"

static int64_t x_count(const SrConvShape *s) { return (int64_t)s->N * s->H * s->W * s->C; }
static int64_t y_count(const SrConvShape *s) { return (int64_t)s->N * s->P * s->Q * s->K; }

// Returns the convolution of floats, with the designs that were chosen for it.
static SrConv of_floats(const SrConv *c) {
    SrConv wide = {.shape = c->shape};
    SR_ASSERT(c->shape.type == SR_BF16);
    wide.shape.type = SR_F32;
    for (int pass = 0; pass < SR_COUNT(wide.pass); pass++)
        wide.pass[pass] = c->pass[pass];
    return wide;
}

// Returns about what the conversions take in multiply-adds.
double sr__conv_wide_cost(const SrConvShape *s) { return 24.0 * (double)(x_count(s) + y_count(s)); }

// Scratch: floats in place of x and y (or dx and dy), and for the residual; then the product's own.
typedef struct {
    float *x, *y, *residual;
    void *rest;
} Pieces;

static Pieces take_pieces(SrConvScratch *scratch, const SrConv *wide, SrConvPass pass) {
    const SrConvShape *s = &wide->shape;
    size_t x = sizeof(float) * (size_t)x_count(s), y = sizeof(float) * (size_t)y_count(s);
    return (Pieces){.x = sr__conv_take(scratch, x),
                    .y = sr__conv_take(scratch, y),
                    .residual = sr__conv_take(scratch, pass == SR_CONV_FORWARD ? y : 0),
                    .rest = sr__conv_take(scratch, wide->pass[pass]->scratch_bytes(s, pass))};
}

size_t sr__conv_wide_scratch(const SrConv *c, SrConvPass pass) {
    SrConv wide = of_floats(c);
    SrConvScratch count = {0};
    take_pieces(&count, &wide, pass);
    return count.used;
}

SrConvPrepared sr__conv_wide_prepared(const SrConv *c, SrConvPass pass) {
    SrConv wide = of_floats(c);
    return wide.pass[pass]->prepared(&wide.shape, pass);
}

void sr__conv_wide_prepare(const SrConv *c, SrConvPass pass, const float *w, float *to) {
    SrConv wide = of_floats(c);
    wide.pass[pass]->prepare(&wide.shape, pass, w, to);
}

void sr__conv_wide_forward(const SrConv *c, const void *x, const float *w, const SrConvEnd *end,
                           void *y, void *scratch) {
    SrConv wide = of_floats(c);
    const SrConvShape *s = &wide.shape;
    SrConvScratch pool = {scratch, 0};
    Pieces pieces = take_pieces(&pool, &wide, SR_CONV_FORWARD);
    SrConvEnd wide_end = *end;
    sr_cast(s->machine, SR_F32, pieces.x, SR_BF16, x, x_count(s));
    if (wide_end.residual) {
        sr_cast(s->machine, SR_F32, pieces.residual, SR_BF16, wide_end.residual, y_count(s));
        wide_end.residual = pieces.residual;
    }
    sr__conv_design_forward(wide.pass[SR_CONV_FORWARD], s, pieces.x, w, &wide_end, pieces.y,
                            pieces.rest);
    sr_cast(s->machine, SR_BF16, y, SR_F32, pieces.y, y_count(s));
}

void sr__conv_wide_backward_data(const SrConv *c, const void *dy, const float *w, void *dx,
                                 bool add, void *scratch) {
    SrConv wide = of_floats(c);
    const SrConvShape *s = &wide.shape;
    SrConvScratch pool = {scratch, 0};
    Pieces pieces = take_pieces(&pool, &wide, SR_CONV_BACKWARD_DATA);
    sr_cast(s->machine, SR_F32, pieces.y, SR_BF16, dy, y_count(s));
    wide.pass[SR_CONV_BACKWARD_DATA]->backward_data(s, pieces.y, w, pieces.x, false, pieces.rest);
    if (add)
        sr_accumulate(s->machine, SR_BF16, dx, SR_F32, pieces.x, x_count(s));
    else
        sr_cast(s->machine, SR_BF16, dx, SR_F32, pieces.x, x_count(s));
}

void sr__conv_wide_backward_weight(const SrConv *c, const void *x, const void *dy, float *dw,
                                   void *scratch) {
    SrConv wide = of_floats(c);
    const SrConvShape *s = &wide.shape;
    SrConvScratch pool = {scratch, 0};
    Pieces pieces = take_pieces(&pool, &wide, SR_CONV_BACKWARD_WEIGHT);
    sr_cast(s->machine, SR_F32, pieces.x, SR_BF16, x, x_count(s));
    sr_cast(s->machine, SR_F32, pieces.y, SR_BF16, dy, y_count(s));
    wide.pass[SR_CONV_BACKWARD_WEIGHT]->backward_weight(s, pieces.x, pieces.y, dw, pieces.rest);
}
