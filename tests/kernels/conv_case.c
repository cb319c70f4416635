// Runs random convolutions in guarded memory and compares each pass with plain loops in double
// precision (conv_case.h).
#include "tests/kernels/conv_case.h"

#include <stdlib.h>

#include "base/bf16.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/basic/cast.h"
#include "kernels/conv/conv.h"
#include "tests/check.h"
#include "tests/machine.h"

enum { GUARD = 64 }; // floats after each written buffer that a pass must not change

size_t conv_x_len(const SrConvShape *s) { return (size_t)s->N * s->H * s->W * s->C; }
size_t conv_y_len(const SrConvShape *s) { return (size_t)s->N * s->P * s->Q * s->K; }
size_t conv_w_len(const SrConvShape *s) { return (size_t)s->K * (s->C / s->groups) * s->R * s->S; }

float *conv_draw(SrRng *rng, size_t n) {
    float *a = sr_alloc(n * sizeof(float));
    for (size_t i = 0; i < n; i++)
        a[i] = (float)sr_rng_range(rng, -1, 1);
    return a;
}

// Two arrays of the same length: sums of products, and sums of their absolute values, from which
// tolerances follow.
typedef struct {
    double sum, size;
} Sum;

static void add(Sum *s, double product) {
    s->sum += product;
    s->size += fabs(product);
}

// Adds what one output pixel contributes under one tap of the kernel to y, dx and dw. w and dw
// are (K, C / groups) of that tap.
static void reference_tap(const ConvCase *t, const float *x, const float *dy, const double *w,
                          Sum *y, Sum *dx, Sum *dw) {
    int cg = t->s.C / t->s.groups, kg = t->s.K / t->s.groups;
    for (int k = 0; k < t->s.K; k++)
        for (int c = 0; c < cg; c++) {
            int i = k / kg * cg + c, j = k * cg + c;
            add(&y[k], x[i] * w[j]);
            add(&dx[i], dy[k] * w[j]);
            add(&dw[j], (double)x[i] * dy[k]);
        }
}

static double split(const Sum *from, size_t n, double *sums) {
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        sums[i] += from[i].sum;
        most = fmax(most, from[i].size);
    }
    return most;
}

// Computes the expected y, dx, dw and dbias of a case by plain loops in double precision.
static void reference(ConvCase *t) {
    const SrConvShape *s = &t->s;
    size_t taps = (size_t)(s->R * s->S), one = conv_w_len(s) / taps; // weights under one tap
    double *w = sr_alloc(conv_w_len(s) * sizeof *w);
    Sum *y = sr_calloc(conv_y_len(s), sizeof *y), *dx = sr_calloc(conv_x_len(s), sizeof *dx);
    Sum *dw = sr_calloc(conv_w_len(s), sizeof *dw),
        *dw_tap_last = sr_calloc(conv_w_len(s), sizeof *dw);
    for (size_t i = 0; i < conv_w_len(s); i++)
        w[i % taps * one + i / taps] = t->w[i];
    for (int n = 0; n < s->N; n++)
        for (int p = 0; p < s->P; p++)
            for (int q = 0; q < s->Q; q++)
                for (int tap = 0; tap < (int)taps; tap++) {
                    int h = p * s->stride_h - s->pad_h + tap / s->S * s->dilation_h;
                    int v = q * s->stride_w - s->pad_w + tap % s->S * s->dilation_w;
                    if (h < 0 || h >= s->H || v < 0 || v >= s->W)
                        continue;
                    size_t o = (((size_t)n * s->P + p) * s->Q + q) * s->K;
                    size_t a = (((size_t)n * s->H + h) * s->W + v) * s->C;
                    reference_tap(t, t->x + a, t->dy + o, w + tap * one, y + o, dx + a,
                                  dw + tap * one);
                }
    for (size_t i = 0; i < conv_w_len(s); i++)
        dw_tap_last[i] = dw[i % taps * one + i / taps];
    for (size_t i = 0; i < conv_y_len(s); i++) {
        t->y[i] = t->bias[i % s->K];
        t->dbias[i % s->K] += t->dy[i];
    }
    t->y_scale = split(y, conv_y_len(s), t->y);
    t->dx_scale = split(dx, conv_x_len(s), t->dx);
    t->dw_scale = split(dw_tap_last, conv_w_len(s), t->dw);
    sr_free(w), sr_free(y), sr_free(dx), sr_free(dw), sr_free(dw_tap_last);
}

// Rounds n numbers to what the type can hold, so that the reference and the kernels see the same
// operands.
static void round_to(SrDtype type, float *a, size_t n) {
    for (size_t i = 0; type == SR_BF16 && i < n; i++)
        a[i] = sr_bf16_float(sr_bf16_round(a[i]));
}

ConvCase conv_case_new(SrConvShape s, SrRng *rng) {
    sr_conv_shape(&s);
    ConvCase t = {.s = s,
                  .x = conv_draw(rng, conv_x_len(&s)),
                  .w = conv_draw(rng, conv_w_len(&s)),
                  .dy = conv_draw(rng, conv_y_len(&s)),
                  .bias = conv_draw(rng, (size_t)s.K),
                  .y = sr_calloc(conv_y_len(&s), sizeof(double)),
                  .dx = sr_calloc(conv_x_len(&s), sizeof(double)),
                  .dw = sr_calloc(conv_w_len(&s), sizeof(double)),
                  .dbias = sr_calloc((size_t)s.K, sizeof(double))};
    round_to(s.type, t.x, conv_x_len(&s));
    round_to(s.type, t.dy, conv_y_len(&s));
    reference(&t);
    return t;
}

void conv_case_free(ConvCase *t) {
    sr_free(t->x), sr_free(t->w), sr_free(t->dy), sr_free(t->bias);
    sr_free(t->y), sr_free(t->dx), sr_free(t->dw), sr_free(t->dbias);
}

static const char *describe(const ConvCase *t, SrConvPass pass) {
    static char text[256];
    const SrConvShape *s = &t->s;
    SrConv c = test_conv(s);
    snprintf(text, sizeof text,
             "%s %s %s pass %d: N%d %dx%d C%d -> K%d, %dx%d stride %d,%d pad %d,%d dilation %d,%d "
             "groups %d",
             sr_cpu_name(test_machine()->level), sr_dtype_name(s->type), sr_conv_design(&c, pass),
             pass, s->N, s->H, s->W, s->C, s->K, s->R, s->S, s->stride_h, s->stride_w, s->pad_h,
             s->pad_w, s->dilation_h, s->dilation_w, s->groups);
    return text;
}

// Returns a copy of n floats in the type of the shape. The caller frees it.
static void *typed(SrDtype type, const float *a, size_t n) {
    void *out = sr_alloc(n * sizeof(float));
    sr_cast(test_machine(), type, out, SR_F32, a, (int64_t)n);
    return out;
}

// Guarded memory: `bytes` bytes of NaN followed by a guard. free_guarded fails the test if the
// guard was written.
static unsigned char *guarded(size_t bytes) {
    unsigned char *p = aligned_alloc(SR_ALIGN, (bytes + 2 * SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN);
    memset(p, 0xff, bytes + 1);
    return p;
}

static void free_guarded(const ConvCase *t, SrConvPass pass, unsigned char *p, size_t bytes,
                         const char *what) {
    if (p[bytes] != 0xff)
        fail_msg("%s overrun: %s", what, describe(t, pass));
    free(p);
}

// Runs one pass into a fresh buffer of len + GUARD numbers that all start as `start`, and returns
// the buffer as floats. `add` asks the forward pass for a residual (dy, which has the same shape)
// and a ReLU.
float *conv_case_run(const ConvCase *t, SrConvPass pass, size_t len, float start, bool add,
                     float *dbias) {
    const SrConvShape *s = &t->s;
    SrConv c = test_conv(s);
    size_t bytes = sr_conv_scratch_bytes(&c, pass),
           prepared_bytes = sr_conv_prepared(&c, pass).bytes;
    unsigned char *scratch = guarded(bytes), *prepared = guarded(prepared_bytes);
    sr_conv_prepare(&c, pass, t->w, prepared);
    const float *w = prepared_bytes ? (const float *)prepared : t->w;
    float *out = sr_alloc((len + GUARD) * sizeof(float));
    for (size_t i = 0; i < len + GUARD; i++)
        out[i] = start;
    SrDtype type = pass == SR_CONV_BACKWARD_WEIGHT ? SR_F32 : s->type;
    void *x = typed(s->type, t->x, conv_x_len(s)), *dy = typed(s->type, t->dy, conv_y_len(s));
    void *raw = typed(type, out, len + GUARD);
    if (pass == SR_CONV_FORWARD)
        sr_conv_forward_end(&c, x, w,
                            &(SrConvEnd){.bias = t->bias, .residual = add ? dy : NULL, .relu = add},
                            raw, scratch);
    else if (pass == SR_CONV_BACKWARD_DATA)
        sr_conv_backward_data(&c, dy, w, raw, add, scratch);
    else
        sr_conv_backward_weight(&c, x, dy, raw, dbias, scratch);
    sr_cast(test_machine(), SR_F32, out, type, raw, (int64_t)(len + GUARD));
    sr_free(x), sr_free(dy), sr_free(raw);
    for (size_t i = len; i < len + GUARD; i++)
        if (out[i] != start)
            fail_msg("written %zu past the end: %s", i - len, describe(t, pass));
    free_guarded(t, pass, scratch, bytes, "scratch");
    free_guarded(t, pass, prepared, prepared_bytes, "prepared weights");
    return out;
}

static void compare(const ConvCase *t, SrConvPass pass, const float *out, const double *right,
                    size_t len, double start, double tolerance) {
    for (size_t i = 0; i < len; i++)
        if (!(fabs(out[i] - right[i] - start) <= tolerance))
            fail_msg("%s: element %zu is %.9g, expected %.9g, allowed %.3g", describe(t, pass), i,
                     (double)out[i], right[i] + start, tolerance);
}

// Compares the channel sums that a forward pass wrote for channel k with sums over y (pixels, K)
// in double precision.
static void check_channel(const ConvCase *t, SrChannelSums sums, const float *y, int k) {
    int64_t pixels = (int64_t)t->s.N * t->s.P * t->s.Q, K = t->s.K;
    double n = 0, sum = 0, square = 0, right = 0, right_square = 0, size = 0;
    for (int64_t u = 0; u < sums.units; u++) {
        const float *own = sums.unit + 3 * u * K + k;
        double shift = (double)own[0], count = (double)sums.count[u], s = (double)own[K];
        n += count;
        sum += s + count * shift;
        square += (double)own[2 * K] + shift * (2 * s + count * shift);
    }
    for (int64_t p = 0; p < pixels; p++) {
        double v = (double)y[p * K + k];
        right += v;
        right_square += v * v;
        size = fmax(size, fabs(v));
    }
    double tolerance = 1e-5 * (double)pixels;
    if (n != (double)pixels || !(fabs(sum - right) <= tolerance * size) ||
        !(fabs(square - right_square) <= tolerance * size * size))
        fail_msg("%s: sums of channel %d: %g pixels, %.9g and %.9g, expected %.9g and %.9g",
                 describe(t, SR_CONV_FORWARD), k, n, sum, square, right, right_square);
}

// The forward pass with channel sums gives the sums of its outputs and the same bits of y as the
// forward pass without.
static void check_sums(const ConvCase *t) {
    const SrConvShape *s = &t->s;
    SrConv c = test_conv(s);
    int64_t units = sr_conv_sum_units(&c);
    size_t bytes = sr_conv_scratch_bytes(&c, SR_CONV_FORWARD),
           sums_bytes = sr__sums_bytes(units, s->K),
           prepared_bytes = sr_conv_prepared(&c, SR_CONV_FORWARD).bytes,
           n = conv_y_len(s) * sizeof(float);
    if (units == 0)
        return;
    unsigned char *scratch = guarded(bytes), *prepared = guarded(prepared_bytes),
                  *left = guarded(sums_bytes);
    void *x = typed(s->type, t->x, conv_x_len(s)), *y = sr_calloc(1, n), *plain = sr_calloc(1, n);
    float *y_floats = sr_alloc(n);
    sr_conv_prepare(&c, SR_CONV_FORWARD, t->w, prepared);
    const float *w = prepared_bytes ? (const float *)prepared : t->w;
    SrChannelSums sums = sr__sums_in(left, units);
    sr_conv_forward_end(&c, x, w, &(SrConvEnd){.sums = sums}, y, scratch);
    sr_conv_forward(&c, x, w, NULL, plain, scratch);
    CHECK(memcmp(y, plain, n) == 0);
    sr_cast(test_machine(), SR_F32, y_floats, s->type, y, (int64_t)conv_y_len(s));
    for (int k = 0; k < s->K; k++)
        check_channel(t, sums, y_floats, k);
    free_guarded(t, SR_CONV_FORWARD, scratch, bytes, "scratch");
    free_guarded(t, SR_CONV_FORWARD, prepared, prepared_bytes, "prepared weights");
    free_guarded(t, SR_CONV_FORWARD, left, sums_bytes, "sums");
    sr_free(x), sr_free(y), sr_free(plain), sr_free(y_floats);
}

// Checks that both gradients in one call have the bits of two calls; dx and dw start as 2 and 1.
static void check_both(const ConvCase *t, const float *dx, bool add, const float *dw) {
    const SrConvShape *s = &t->s;
    SrConv c = test_conv(s);
    size_t nx = conv_x_len(s), nw = conv_w_len(s),
           prepared_bytes = sr_conv_prepared(&c, SR_CONV_BACKWARD_DATA).bytes,
           bytes = SR_MAX(sr_conv_scratch_bytes(&c, SR_CONV_BACKWARD_DATA),
                          sr_conv_scratch_bytes(&c, SR_CONV_BACKWARD_WEIGHT));
    unsigned char *scratch = guarded(bytes), *prepared = guarded(prepared_bytes);
    sr_conv_prepare(&c, SR_CONV_BACKWARD_DATA, t->w, prepared);
    float *both_dx = sr_alloc(nx * sizeof(float)), *both_dw = sr_alloc(nw * sizeof(float));
    for (size_t i = 0; i < nx; i++)
        both_dx[i] = 2;
    for (size_t i = 0; i < nw; i++)
        both_dw[i] = 1;
    void *x = typed(s->type, t->x, nx), *dy = typed(s->type, t->dy, conv_y_len(s)),
         *raw = typed(s->type, both_dx, nx);
    sr_conv_backward(&c, x, dy, prepared_bytes ? (const float *)prepared : t->w, raw, add, both_dw,
                     NULL, scratch);
    sr_cast(test_machine(), SR_F32, both_dx, s->type, raw, (int64_t)nx);
    CHECK(memcmp(both_dx, dx, nx * sizeof(float)) == 0);
    CHECK(memcmp(both_dw, dw, nw * sizeof(float)) == 0);
    free_guarded(t, SR_CONV_BACKWARD_WEIGHT, scratch, bytes, "scratch");
    free_guarded(t, SR_CONV_BACKWARD_DATA, prepared, prepared_bytes, "prepared weights");
    sr_free(x), sr_free(dy), sr_free(raw), sr_free(both_dx), sr_free(both_dw);
}

// Checks the three passes of one case. `exact` is the tolerance relative to the largest sum of
// absolute products. In bfloat16 the weights and the outputs are rounded, 2^-9 each; the weight
// gradient has neither rounding.
void conv_case_check(const ConvCase *t, double exact) {
    const SrConvShape *s = &t->s;
    double tolerance = exact + (s->type == SR_BF16 ? 0x1p-8 : 0);
    float *y = conv_case_run(t, SR_CONV_FORWARD, conv_y_len(s), 7, false, NULL);
    compare(t, SR_CONV_FORWARD, y, t->y, conv_y_len(s), 0, tolerance * (t->y_scale + 1));
    sr_free(y);
    check_sums(t);
    double *ended = sr_alloc(conv_y_len(s) * sizeof *ended);
    for (size_t i = 0; i < conv_y_len(s); i++)
        ended[i] = fmax(t->y[i] + (double)t->dy[i], 0);
    y = conv_case_run(t, SR_CONV_FORWARD, conv_y_len(s), 7, true, NULL);
    compare(t, SR_CONV_FORWARD, y, ended, conv_y_len(s), 0, tolerance * (t->y_scale + 2));
    sr_free(y), sr_free(ended);
    float *dbias = sr_calloc((size_t)s->K, sizeof(float));
    float *dw = conv_case_run(t, SR_CONV_BACKWARD_WEIGHT, conv_w_len(s), 1, false, dbias);
    compare(t, SR_CONV_BACKWARD_WEIGHT, dw, t->dw, conv_w_len(s), 1, exact * (t->dw_scale + 1));
    compare(t, SR_CONV_BACKWARD_WEIGHT, dbias, t->dbias, (size_t)s->K, 0,
            1e-6 * (s->N * s->P * s->Q + 1));
    for (int add = 0; add < 2; add++) {
        float *dx = conv_case_run(t, SR_CONV_BACKWARD_DATA, conv_x_len(s), 2, add, NULL);
        compare(t, SR_CONV_BACKWARD_DATA, dx, t->dx, conv_x_len(s), add ? 2 : 0,
                tolerance * (t->dx_scale + 2));
        check_both(t, dx, add, dw);
        sr_free(dx);
    }
    sr_free(dw), sr_free(dbias);
}

int conv_pick(SrRng *rng, int low, int high) {
    return low + (int)sr_rng_below(rng, (uint32_t)(high - low + 1));
}

// Draws a convolution of any kind. Most are small, so that the reference is cheap.
SrConvShape conv_random_shape(SrRng *rng) {
    static const int widths[] = {1, 2, 3, 4, 5, 8, 16, 17, 20, 24, 31, 33, 48, 64, 65, 96};
    SrConvShape s = {.N = conv_pick(rng, 1, 3),
                     .H = conv_pick(rng, 1, 9),
                     .W = conv_pick(rng, 1, 9),
                     .C = widths[conv_pick(rng, 0, SR_COUNT(widths) - 1)],
                     .K = widths[conv_pick(rng, 0, SR_COUNT(widths) - 1)],
                     .R = conv_pick(rng, 1, 4),
                     .S = conv_pick(rng, 1, 4),
                     .stride_h = conv_pick(rng, 1, 3),
                     .stride_w = conv_pick(rng, 1, 3),
                     .pad_h = conv_pick(rng, 0, 3),
                     .pad_w = conv_pick(rng, 0, 3),
                     .dilation_h = conv_pick(rng, 0, 3) ? 1 : 2,
                     .dilation_w = conv_pick(rng, 0, 3) ? 1 : 3,
                     .groups = 1};
    if (conv_pick(rng, 0, 3) == 0) { // 1x1 and 3x3 kernels with the padding that networks use
        s.R = s.S = conv_pick(rng, 0, 1) ? 3 : 1;
        s.pad_h = s.pad_w = s.R / 2;
        s.dilation_h = s.dilation_w = 1;
    }
    if (conv_pick(rng, 0, 3) == 0) {
        s.groups = conv_pick(rng, 2, 9);
        s.C = s.groups * conv_pick(rng, 1, 9);
        s.K = s.groups * conv_pick(rng, 1, 9);
    }
    // Some grouped shapes have as many channels out as in and whole groups in a vector.
    if (s.groups > 1 && conv_pick(rng, 0, 1)) {
        s.C = s.K = s.groups << conv_pick(rng, 0, 4);
        s.S = 3;
        s.stride_w = conv_pick(rng, 1, 2);
        s.dilation_w = 1;
    }
    if (conv_pick(rng, 0, 7) == 0) { // many images of small maps
        s.N = conv_pick(rng, 12, 20);
        s.H = conv_pick(rng, 1, 4);
        s.W = conv_pick(rng, 1, 4);
    }
    // Limits the cost of the naive loops.
    if ((double)s.C * s.K / s.groups * s.N * s.H * s.W * s.R * s.S > 3e5)
        s.N = 1, s.C = s.groups * SR_MIN(s.C / s.groups, 20);
    return s;
}

bool conv_shape_empty(SrConvShape s) {
    return s.H + 2 * s.pad_h < s.dilation_h * (s.R - 1) + 1 ||
           s.W + 2 * s.pad_w < s.dilation_w * (s.S - 1) + 1;
}

static float *bits(const ConvCase *t, SrConvPass pass, int threads, size_t len) {
    sr_parallel_set_threads(threads);
    return conv_case_run(t, pass, len, 1, true, NULL);
}

void conv_case_check_threads(const ConvCase *t) {
    const size_t len[] = {conv_y_len(&t->s), conv_x_len(&t->s), conv_w_len(&t->s)};
    int before = sr_parallel_threads();
    for (int pass = 0; pass < 3; pass++) {
        float *one = bits(t, (SrConvPass)pass, 1, len[pass]);
        for (int threads = 2; threads <= 3; threads++) {
            float *many = bits(t, (SrConvPass)pass, threads, len[pass]);
            if (memcmp(one, many, len[pass] * sizeof(float)) != 0)
                fail_msg("%d threads change bits: %s", threads, describe(t, (SrConvPass)pass));
            sr_free(many);
        }
        sr_free(one);
    }
    sr_parallel_set_threads(before);
}
