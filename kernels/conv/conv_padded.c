// bfloat16 convolutions of an odd number of channels, mainly the stem's three, through the direct
// design.  x and the weights get one more channel of zeros, because the micro-kernels multiply
// pairs.  y and dy are used as they are; conv_wide.c would widen and round them.  There is no
// gradient of x, which nothing needs for images.
#include <string.h>

#include "base/bf16.h"
#include "base/parallel.h"
#include "kernels/conv/conv_design.h"

enum { KEY = SR_CONV_ALL + 1 }; // key of prepared weights, next to the SR_CONV_ bits

static SrConvShape padded(const SrConvShape *s) {
    SrConvShape even = *s;
    even.C++;
    return even;
}

// Estimated time: the product, and about what copying x takes in multiply-adds.
static double cost(const SrConvShape *s, SrConvPass pass) {
    if (s->type != SR_BF16 || s->groups != 1 || s->C % 2 == 0 || pass == SR_CONV_BACKWARD_DATA)
        return -1;
    SrConvShape even = padded(s);
    double product = sr__conv_direct.cost(&even, pass);
    return product < 0 ? -1 : product + 24.0 * s->N * s->H * s->W * even.C;
}

static int64_t weights(const SrConvShape *s) { return (int64_t)s->K * s->C * s->R * s->S; }

typedef struct {
    SrBf16 *x; // (N, H, W, C + 1)
    float *dw; // (K, C + 1, R, S), for the weight gradient
    void *rest;
} Pieces;

static Pieces take_pieces(SrConvScratch *scratch, const SrConvShape *even, SrConvPass pass) {
    size_t x = (size_t)even->N * (size_t)even->H * (size_t)even->W * (size_t)even->C;
    size_t dw = pass == SR_CONV_BACKWARD_WEIGHT ? (size_t)weights(even) : 0;
    return (Pieces){.x = sr__conv_take(scratch, sizeof(SrBf16) * x),
                    .dw = sr__conv_take(scratch, sizeof(float) * dw),
                    .rest = sr__conv_take(scratch, sr__conv_direct.scratch_bytes(even, pass))};
}

static size_t scratch_bytes(const SrConvShape *s, SrConvPass pass) {
    SrConvShape even = padded(s);
    SrConvScratch count = {0};
    take_pieces(&count, &even, pass);
    return count.used;
}

typedef struct {
    const SrConvShape *s;
    const SrBf16 *x;
    SrBf16 *to;
} Copy;

// Copies row i of all images' rows.
static void pad_row(void *arg, int64_t i, int thread) {
    (void)thread;
    const Copy *copy = arg;
    int C = copy->s->C, W = copy->s->W;
    const SrBf16 *x = copy->x + i * W * C;
    SrBf16 *to = copy->to + i * W * (C + 1);
    for (int w = 0; w < W; w++, x += C, to += C + 1) {
        for (int c = 0; c < C; c++)
            to[c] = x[c];
        to[C] = sr_bf16_round(0);
    }
}

static void pad_x(const SrConvShape *s, const void *x, SrBf16 *to) {
    Copy copy = {s, x, to};
    sr_parallel_for((int64_t)s->N * s->H, pad_row, &copy);
}

// Returns room for the direct design's form of the padded weights, and after it the padded weights.
static SrConvPrepared prepared(const SrConvShape *s, SrConvPass pass) {
    SrConvShape even = padded(s);
    size_t direct = sr__conv_direct.prepared(&even, pass).bytes;
    return sr__conv_prepared(KEY, s, pass, (int64_t)(direct / sizeof(float)) + weights(&even));
}

static void prepare(const SrConvShape *s, SrConvPass pass, const float *w, float *to) {
    SrConvShape even = padded(s);
    size_t from = (size_t)(weights(s) / s->K),
           row = (size_t)(weights(&even) / s->K); // floats of one output's weights
    float *wide = to + sr__conv_direct.prepared(&even, pass).bytes / sizeof(float);
    memset(wide, 0, sizeof(float) * (size_t)weights(&even));
    for (size_t k = 0; k < (size_t)s->K; k++)
        memcpy(wide + k * row, w + k * from, sizeof(float) * from);
    sr__conv_direct.prepare(&even, pass, wide, to);
}

static int64_t sum_units(const SrConvShape *s) {
    SrConvShape even = padded(s);
    return sr__conv_direct.sum_units(&even);
}

static void forward(const SrConvShape *s, const void *x, const float *w, const SrConvEnd *end,
                    void *y, void *scratch) {
    SrConvShape even = padded(s);
    SrConvScratch pool = {scratch, 0};
    Pieces pieces = take_pieces(&pool, &even, SR_CONV_FORWARD);
    pad_x(s, x, pieces.x);
    sr__conv_direct.forward(&even, pieces.x, w, end, y, pieces.rest);
}

static void backward_weight(const SrConvShape *s, const void *x, const void *dy, float *dw,
                            void *scratch) {
    SrConvShape even = padded(s);
    SrConvScratch pool = {scratch, 0};
    Pieces pieces = take_pieces(&pool, &even, SR_CONV_BACKWARD_WEIGHT);
    pad_x(s, x, pieces.x);
    memset(pieces.dw, 0, sizeof(float) * (size_t)weights(&even));
    sr__conv_direct.backward_weight(&even, pieces.x, dy, pieces.dw, pieces.rest);
    int64_t to = weights(s) / s->K, row = weights(&even) / s->K;
    for (int k = 0; k < s->K; k++)
        sr__rows(s->machine)->axpy(dw + k * to, pieces.dw + k * row, 1, (int)to);
}

const SrConvDesign sr__conv_padded = {
    .name = "padded",
    .bit = SR_CONV_DIRECT,
    .cost = cost,
    .scratch_bytes = scratch_bytes,
    .prepared = prepared,
    .prepare = prepare,
    .sum_units = sum_units,
    .forward = forward,
    .backward_weight = backward_weight,
};
