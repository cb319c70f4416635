// Convolution, every design and instruction set, against double-precision loops over random shapes:
// channel tails, strides, dilation, groups, rectangular kernels, padding larger than the image.
// Also: bits do not depend on threads, nothing is written past a buffer, scratch may hold garbage.
#include "kernels/conv/conv.h"

#include <stdlib.h>

#include "base/bf16.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "kernels/cast.h"
#include "kernels/cpu.h"
#include "tests/check.h"

enum { GUARD = 64 }; // floats behind each written buffer that must stay as they were

typedef struct {
    SrConvShape s;
    float *x, *w, *dy, *bias;           // inputs
    double *y, *dx, *dw, *dbias;        // what is right
    double y_scale, dx_scale, dw_scale; // largest sum of absolute products of one output
} Case;

static size_t x_len(const SrConvShape *s) { return (size_t)s->N * s->H * s->W * s->C; }
static size_t y_len(const SrConvShape *s) { return (size_t)s->N * s->P * s->Q * s->K; }
static size_t w_len(const SrConvShape *s) {
    return (size_t)s->K * (s->C / s->groups) * s->R * s->S;
}

static float *draw(SrRng *rng, size_t n) {
    float *a = sr_alloc(n * sizeof(float));
    for (size_t i = 0; i < n; i++)
        a[i] = (float)sr_rng_range(rng, -1, 1);
    return a;
}

// Sums and sums of absolute values, side by side.
typedef struct {
    double sum, size;
} Sum;

static void add(Sum *s, double product) {
    s->sum += product;
    s->size += fabs(product);
}

// One output pixel under one tap: w, dw (K, C / groups) of that tap.
static void reference_tap(const Case *t, const float *x, const float *dy, const double *w, Sum *y,
                          Sum *dx, Sum *dw) {
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

// The truth, by plain loops in double precision.
static void reference(Case *t) {
    const SrConvShape *s = &t->s;
    size_t taps = (size_t)(s->R * s->S), one = w_len(s) / taps; // weights of a tap
    double *w = sr_alloc(w_len(s) * sizeof *w);
    Sum *y = sr_calloc(y_len(s), sizeof *y), *dx = sr_calloc(x_len(s), sizeof *dx);
    Sum *dw = sr_calloc(w_len(s), sizeof *dw), *dw_tap_last = sr_calloc(w_len(s), sizeof *dw);
    for (size_t i = 0; i < w_len(s); i++)
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
    for (size_t i = 0; i < w_len(s); i++)
        dw_tap_last[i] = dw[i % taps * one + i / taps];
    for (size_t i = 0; i < y_len(s); i++) {
        t->y[i] = t->bias[i % s->K];
        t->dbias[i % s->K] += t->dy[i];
    }
    t->y_scale = split(y, y_len(s), t->y);
    t->dx_scale = split(dx, x_len(s), t->dx);
    t->dw_scale = split(dw_tap_last, w_len(s), t->dw);
    sr_free(w), sr_free(y), sr_free(dx), sr_free(dw), sr_free(dw_tap_last);
}

// To what the type can hold, so that the reference sees what the kernels see.
static void round_to(SrDtype type, float *a, size_t n) {
    for (size_t i = 0; type == SR_BF16 && i < n; i++)
        a[i] = sr_bf16_float(sr_bf16_round(a[i]));
}

static Case new_case(SrConvShape s, SrRng *rng) {
    sr_conv_shape(&s);
    Case t = {.s = s,
              .x = draw(rng, x_len(&s)),
              .w = draw(rng, w_len(&s)),
              .dy = draw(rng, y_len(&s)),
              .bias = draw(rng, (size_t)s.K),
              .y = sr_calloc(y_len(&s), sizeof(double)),
              .dx = sr_calloc(x_len(&s), sizeof(double)),
              .dw = sr_calloc(w_len(&s), sizeof(double)),
              .dbias = sr_calloc((size_t)s.K, sizeof(double))};
    round_to(s.type, t.x, x_len(&s));
    round_to(s.type, t.dy, y_len(&s));
    reference(&t);
    return t;
}

static void free_case(Case *t) {
    sr_free(t->x), sr_free(t->w), sr_free(t->dy), sr_free(t->bias);
    sr_free(t->y), sr_free(t->dx), sr_free(t->dw), sr_free(t->dbias);
}

static const char *describe(const Case *t, SrConvPass pass) {
    static char text[256];
    const SrConvShape *s = &t->s;
    snprintf(text, sizeof text,
             "%s %s %s pass %d: N%d %dx%d C%d -> K%d, %dx%d stride %d,%d pad %d,%d dilation %d,%d "
             "groups %d",
             sr_cpu_name(sr_cpu_level()), sr_dtype_name(s->type), sr_conv_design(s, pass), pass,
             s->N, s->H, s->W, s->C, s->K, s->R, s->S, s->stride_h, s->stride_w, s->pad_h, s->pad_w,
             s->dilation_h, s->dilation_w, s->groups);
    return text;
}

// A copy in the type of the shape.
static void *typed(SrDtype type, const float *a, size_t n) {
    void *out = sr_alloc(n * sizeof(float));
    sr_cast(type, out, SR_F32, a, (int64_t)n);
    return out;
}

// Guarded memory that starts as NaN, and as it should end: nothing written behind `bytes`.
static unsigned char *guarded(size_t bytes) {
    unsigned char *p = aligned_alloc(SR_ALIGN, (bytes + 2 * SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN);
    memset(p, 0xff, bytes + 1);
    return p;
}

static void free_guarded(const Case *t, SrConvPass pass, unsigned char *p, size_t bytes,
                         const char *what) {
    if (p[bytes] != 0xff)
        fail_msg("%s overrun: %s", what, describe(t, pass));
    free(p);
}

// One pass into a fresh buffer of len + GUARD numbers that starts as `start` everywhere; what it held,
// as floats.  `add` asks a forward for a residual (dy, which has its shape) and a ReLU as well.
static float *run(const Case *t, SrConvPass pass, size_t len, float start, bool add, float *dbias) {
    const SrConvShape *s = &t->s;
    size_t bytes = sr_conv_scratch_bytes(s, pass), prepared_bytes = sr_conv_prepared(s, pass).bytes;
    unsigned char *scratch = guarded(bytes), *prepared = guarded(prepared_bytes);
    sr_conv_prepare(s, pass, t->w, prepared);
    const float *w = prepared_bytes ? (const float *)prepared : t->w;
    float *out = sr_alloc((len + GUARD) * sizeof(float));
    for (size_t i = 0; i < len + GUARD; i++)
        out[i] = start;
    SrDtype type = pass == SR_CONV_BACKWARD_WEIGHT ? SR_F32 : s->type;
    void *x = typed(s->type, t->x, x_len(s)), *dy = typed(s->type, t->dy, y_len(s));
    void *raw = typed(type, out, len + GUARD);
    if (pass == SR_CONV_FORWARD)
        sr_conv_forward_end(s, x, w,
                            &(SrConvEnd){.bias = t->bias, .residual = add ? dy : NULL, .relu = add},
                            raw, scratch);
    else if (pass == SR_CONV_BACKWARD_DATA)
        sr_conv_backward_data(s, dy, w, raw, add, scratch);
    else
        sr_conv_backward_weight(s, x, dy, raw, dbias, scratch);
    sr_cast(SR_F32, out, type, raw, (int64_t)(len + GUARD));
    sr_free(x), sr_free(dy), sr_free(raw);
    for (size_t i = len; i < len + GUARD; i++)
        if (out[i] != start)
            fail_msg("written %zu past the end: %s", i - len, describe(t, pass));
    free_guarded(t, pass, scratch, bytes, "scratch");
    free_guarded(t, pass, prepared, prepared_bytes, "prepared weights");
    return out;
}

static void compare(const Case *t, SrConvPass pass, const float *out, const double *right,
                    size_t len, double start, double tolerance) {
    for (size_t i = 0; i < len; i++)
        if (!(fabs(out[i] - right[i] - start) <= tolerance))
            fail_msg("%s: element %zu is %.9g, expected %.9g, allowed %.3g", describe(t, pass), i,
                     (double)out[i], right[i] + start, tolerance);
}

// Channel k of sums that were left, beside those of y (pixels, K) itself.
static void check_channel(const Case *t, SrChannelSums sums, const float *y, int k) {
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

// A forward that leaves the sums of its outputs; without changing a bit of these.
static void check_sums(const Case *t) {
    const SrConvShape *s = &t->s;
    int64_t units = sr_conv_sum_units(s);
    size_t bytes = sr_conv_scratch_bytes(s, SR_CONV_FORWARD),
           sums_bytes = sr__sums_bytes(units, s->K),
           prepared_bytes = sr_conv_prepared(s, SR_CONV_FORWARD).bytes,
           n = y_len(s) * sizeof(float);
    if (units == 0)
        return;
    unsigned char *scratch = guarded(bytes), *prepared = guarded(prepared_bytes),
                  *left = guarded(sums_bytes);
    void *x = typed(s->type, t->x, x_len(s)), *y = sr_calloc(1, n), *plain = sr_calloc(1, n);
    float *y_floats = sr_alloc(n);
    sr_conv_prepare(s, SR_CONV_FORWARD, t->w, prepared);
    const float *w = prepared_bytes ? (const float *)prepared : t->w;
    SrChannelSums sums = sr__sums_in(left, units);
    sr_conv_forward_end(s, x, w, &(SrConvEnd){.sums = sums}, y, scratch);
    sr_conv_forward(s, x, w, NULL, plain, scratch);
    CHECK(memcmp(y, plain, n) == 0);
    sr_cast(SR_F32, y_floats, s->type, y, (int64_t)y_len(s));
    for (int k = 0; k < s->K; k++)
        check_channel(t, sums, y_floats, k);
    free_guarded(t, SR_CONV_FORWARD, scratch, bytes, "scratch");
    free_guarded(t, SR_CONV_FORWARD, prepared, prepared_bytes, "prepared weights");
    free_guarded(t, SR_CONV_FORWARD, left, sums_bytes, "sums");
    sr_free(x), sr_free(y), sr_free(plain), sr_free(y_floats);
}

// The three passes of one case; tolerance is relative to the largest sum of absolute products.  In
// bfloat16 weights and outputs are rounded, 2^-9 each; the weight gradient has neither.
static void check_case(const Case *t, double exact) {
    const SrConvShape *s = &t->s;
    double tolerance = exact + (s->type == SR_BF16 ? 0x1p-8 : 0);
    float *y = run(t, SR_CONV_FORWARD, y_len(s), 7, false, NULL);
    compare(t, SR_CONV_FORWARD, y, t->y, y_len(s), 0, tolerance * (t->y_scale + 1));
    sr_free(y);
    check_sums(t);
    double *ended = sr_alloc(y_len(s) * sizeof *ended);
    for (size_t i = 0; i < y_len(s); i++)
        ended[i] = fmax(t->y[i] + (double)t->dy[i], 0);
    y = run(t, SR_CONV_FORWARD, y_len(s), 7, true, NULL);
    compare(t, SR_CONV_FORWARD, y, ended, y_len(s), 0, tolerance * (t->y_scale + 2));
    sr_free(y), sr_free(ended);
    for (int add = 0; add < 2; add++) {
        float *dx = run(t, SR_CONV_BACKWARD_DATA, x_len(s), 2, add, NULL);
        compare(t, SR_CONV_BACKWARD_DATA, dx, t->dx, x_len(s), add ? 2 : 0,
                tolerance * (t->dx_scale + 2));
        sr_free(dx);
    }
    float *dbias = sr_calloc((size_t)s->K, sizeof(float));
    float *dw = run(t, SR_CONV_BACKWARD_WEIGHT, w_len(s), 1, false, dbias);
    compare(t, SR_CONV_BACKWARD_WEIGHT, dw, t->dw, w_len(s), 1, exact * (t->dw_scale + 1));
    compare(t, SR_CONV_BACKWARD_WEIGHT, dbias, t->dbias, (size_t)s->K, 0,
            1e-6 * (s->N * s->P * s->Q + 1));
    sr_free(dw), sr_free(dbias);
}

static int pick(SrRng *rng, int low, int high) {
    return low + (int)sr_rng_below(rng, (uint32_t)(high - low + 1));
}

// Anything at all, mostly small.
static SrConvShape random_shape(SrRng *rng) {
    static const int widths[] = {1, 2, 3, 4, 5, 8, 16, 17, 20, 24, 31, 33, 48, 64, 65, 96};
    SrConvShape s = {.N = pick(rng, 1, 3),
                     .H = pick(rng, 1, 9),
                     .W = pick(rng, 1, 9),
                     .C = widths[pick(rng, 0, SR_COUNT(widths) - 1)],
                     .K = widths[pick(rng, 0, SR_COUNT(widths) - 1)],
                     .R = pick(rng, 1, 4),
                     .S = pick(rng, 1, 4),
                     .stride_h = pick(rng, 1, 3),
                     .stride_w = pick(rng, 1, 3),
                     .pad_h = pick(rng, 0, 3),
                     .pad_w = pick(rng, 0, 3),
                     .dilation_h = pick(rng, 0, 3) ? 1 : 2,
                     .dilation_w = pick(rng, 0, 3) ? 1 : 3,
                     .groups = 1};
    if (pick(rng, 0, 3) == 0) { // 1x1 and 3x3 as networks have them
        s.R = s.S = pick(rng, 0, 1) ? 3 : 1;
        s.pad_h = s.pad_w = s.R / 2;
        s.dilation_h = s.dilation_w = 1;
    }
    if (pick(rng, 0, 3) == 0) {
        s.groups = pick(rng, 2, 9);
        s.C = s.groups * pick(rng, 1, 9);
        s.K = s.groups * pick(rng, 1, 9);
    }
    if (pick(rng, 0, 7) == 0) { // many small maps
        s.N = pick(rng, 12, 20);
        s.H = pick(rng, 1, 4);
        s.W = pick(rng, 1, 4);
    }
    // Keep the naive loops cheap.
    if ((double)s.C * s.K / s.groups * s.N * s.H * s.W * s.R * s.S > 3e5)
        s.N = 1, s.C = s.groups * SR_MIN(s.C / s.groups, 20);
    return s;
}

static bool empty(SrConvShape s) {
    return s.H + 2 * s.pad_h < s.dilation_h * (s.R - 1) + 1 ||
           s.W + 2 * s.pad_w < s.dilation_w * (s.S - 1) + 1;
}

static void sweep(SrDtype type, unsigned mask, int count, double tolerance,
                  SrConvShape (*shape)(SrRng *)) {
    SrCpuLevel best = sr_cpu_level();
    int threads = sr_parallel_threads();
    sr_parallel_set_threads(1); // thousands of small calls; threads have their own test
    sr_conv_allow(mask);
    SrRng rng = sr_rng(3, SR_RNG_TEST, 0, mask, 0, 0);
    for (int i = 0; i < count; i++) {
        SrConvShape s = shape(&rng);
        s.type = type;
        if (empty(s))
            continue;
        Case t = new_case(s, &rng);
        // The plain design does not depend on the level.
        for (int level = SR_CPU_PLAIN; level <= (mask ? (int)best : SR_CPU_PLAIN); level++) {
            sr_cpu_set_level((SrCpuLevel)level);
            check_case(&t, tolerance);
        }
        sr_cpu_set_level(best);
        free_case(&t);
    }
    sr_conv_allow(SR_CONV_ALL);
    sr_parallel_set_threads(threads);
}

static void test_plain(void **state) {
    (void)state;
    sweep(SR_F32, 0, 100, 1e-6, random_shape);
}

static void test_direct(void **state) {
    (void)state;
    sweep(SR_F32, SR_CONV_DIRECT, 1000, 1e-6, random_shape);
}

// 3x3 kernels with stride 1, channels around the limits of vectors and blocks; some with so many that the
// weight gradient's tiles are shared.
static SrConvShape winograd_shape(SrRng *rng) {
    static const int widths[] = {16, 20, 33, 48, 64, 65, 100};
    bool many = pick(rng, 0, 5) == 0;
    return (SrConvShape){
        .N = pick(rng, 1, 3),
        .H = pick(rng, 1, many ? 5 : 10),
        .W = pick(rng, 1, many ? 5 : 10),
        .C = many ? pick(rng, 129, 280) : widths[pick(rng, 0, SR_COUNT(widths) - 1)],
        .K = many ? pick(rng, 129, 280) : widths[pick(rng, 0, SR_COUNT(widths) - 1)],
        .R = 3,
        .S = 3,
        .stride_h = 1,
        .stride_w = 1,
        .pad_h = pick(rng, 0, 2),
        .pad_w = pick(rng, 0, 2),
        .dilation_h = 1,
        .dilation_w = 1,
        .groups = 1};
}

static void test_winograd2(void **state) {
    (void)state;
    sweep(SR_F32, SR_CONV_WINOGRAD2, 60, 1e-6, winograd_shape);
}

static void test_winograd3(void **state) {
    (void)state;
    sweep(SR_F32, SR_CONV_WINOGRAD3, 60, 2e-6, winograd_shape);
}

static void test_winograd4(void **state) {
    (void)state;
    sweep(SR_F32, SR_CONV_WINOGRAD4, 60, 3e-6, winograd_shape);
}

static void test_bf16_widened(void **state) {
    (void)state;
    sweep(SR_BF16, 0, 100, 1e-6, random_shape);
}

static void test_bf16_direct(void **state) {
    (void)state;
    sweep(SR_BF16, SR_CONV_DIRECT, 1000, 1e-6, random_shape);
}

static void test_bf16_winograd(void **state) {
    (void)state;
    sweep(SR_BF16, SR_CONV_WINOGRAD2, 40, 1e-6, winograd_shape);
    sweep(SR_BF16, SR_CONV_WINOGRAD3, 40, 2e-6, winograd_shape);
    sweep(SR_BF16, SR_CONV_WINOGRAD4, 40, 3e-6, winograd_shape);
}

static void test_shape_formula(void **state) {
    (void)state;
    SrConvShape s = {.H = 224,
                     .W = 97,
                     .R = 7,
                     .S = 3,
                     .stride_h = 2,
                     .stride_w = 3,
                     .pad_h = 3,
                     .pad_w = 0,
                     .dilation_h = 1,
                     .dilation_w = 2};
    sr_conv_shape(&s);
    CHECK_INT(s.P, 112);
    CHECK_INT(s.Q, 31);
}

// Larger shapes, so that work is really cut into several chunks.
static const SrConvShape large[] = {
    // clang-format off
    //  N   H   W    C    K  R  S  stride pad   dil  groups
    {   5, 13, 11,  64, 130, 3, 3, 1, 1, 1, 1, 1, 1, 1,  0, 0, SR_F32}, // three blocks of columns
    {   5, 17, 14,  70,  96, 3, 3, 2, 2, 1, 1, 1, 1, 1,  0, 0, SR_F32},
    {   6, 12, 12, 300,  64, 1, 1, 1, 1, 0, 0, 1, 1, 1,  0, 0, SR_F32},
    {   3,  6,  7, 300,  40, 3, 3, 1, 1, 1, 1, 1, 1, 1,  0, 0, SR_F32}, // channels in two steps
    {   6, 12, 12,  64, 256, 1, 1, 2, 2, 0, 0, 1, 1, 1,  0, 0, SR_F32}, // phases no tap reaches
    {   3, 33, 31,   3,  64, 7, 7, 2, 2, 3, 3, 1, 1, 1,  0, 0, SR_F32}, // rows of the kernel folded
    {  20,  4,  4,  96,  64, 3, 3, 1, 1, 1, 1, 1, 1, 1,  0, 0, SR_F32}, // taps skipped on small maps
    {   8, 28, 28,  20,  24, 3, 3, 1, 1, 1, 1, 1, 1, 1,  0, 0, SR_F32}, // weight gradient in ranges
    { 100,  3,  3,  16, 240, 3, 3, 1, 1, 1, 1, 1, 1, 1,  0, 0, SR_F32}, // Winograd by columns, two groups
    { 290,  3,  3, 130, 200, 3, 3, 1, 1, 1, 1, 1, 1, 1,  0, 0, SR_F32}, // its gradient's tiles shared, in chunks
    {   4, 14, 14,  64,  64, 3, 3, 1, 1, 1, 1, 1, 1, 16,  0, 0, SR_F32},
    {   4, 14, 14,  64,  64, 3, 3, 1, 1, 2, 2, 2, 2, 1,  0, 0, SR_F32},
    // clang-format on
};

static float *bits(const Case *t, SrConvPass pass, int threads, size_t len) {
    sr_parallel_set_threads(threads);
    return run(t, pass, len, 1, true, NULL);
}

static void check_threads(const Case *t) {
    const size_t len[] = {y_len(&t->s), x_len(&t->s), w_len(&t->s)};
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

static void test_threads_keep_bits(void **state) {
    (void)state;
    static const unsigned masks[] = {SR_CONV_DIRECT, SR_CONV_DIRECT | SR_CONV_WINOGRAD4,
                                     SR_CONV_DIRECT | SR_CONV_WINOGRAD3,
                                     SR_CONV_DIRECT | SR_CONV_WINOGRAD2};
    SrCpuLevel best = sr_cpu_level();
    SrRng rng = sr_rng(4, SR_RNG_TEST, 0, 0, 0, 0);
    for (int i = 0; i < 2 * SR_COUNT(large); i++) {
        SrConvShape s = large[i / 2];
        s.type = i % 2 ? SR_BF16 : SR_F32;
        Case t = new_case(s, &rng);
        for (int m = 0; m < SR_COUNT(masks); m++)
            for (int level = SR_CPU_PLAIN; level <= (int)best; level++) {
                sr_cpu_set_level((SrCpuLevel)level);
                sr_conv_allow(masks[m]);
                check_case(&t, 3e-6);
                if (level == (int)best)
                    check_threads(&t);
            }
        sr_cpu_set_level(best);
        sr_conv_allow(SR_CONV_ALL);
        free_case(&t);
    }
}

static const char *pass_design(SrConvPass pass, SrDtype type, int N, int side, int C, int K, int R,
                               int stride, int groups) {
    SrConvShape s = {N,     side,  side, C, K,      R, R, stride, stride,
                     R / 2, R / 2, 1,    1, groups, 0, 0, type};
    sr_conv_shape(&s);
    return sr_conv_design(&s, pass);
}

static const char *design(int N, int side, int C, int K, int R, int stride, int groups) {
    return pass_design(SR_CONV_FORWARD, SR_F32, N, side, C, K, R, stride, groups);
}

static const char *weight_design(SrDtype type, int N, int side, int C, int K) {
    return pass_design(SR_CONV_BACKWARD_WEIGHT, type, N, side, C, K, 3, 1, 1);
}

static void test_choice(void **state) {
    (void)state;
    CHECK_STR(design(16, 56, 64, 64, 3, 1, 1), "winograd4");
    CHECK_STR(design(16, 7, 512, 512, 3, 1, 1), "winograd4");
    CHECK_STR(design(16, 14, 256, 256, 3, 1, 1), "winograd3"); // 5 x 5 tiles against 4 x 4
    CHECK_STR(design(48, 6, 256, 256, 3, 1, 1), "winograd3");
    CHECK_STR(design(48, 3, 512, 512, 3, 1, 1), "winograd3");
    CHECK_STR(design(48, 2, 512, 512, 3, 1, 1), "direct");  // padding outweighs the tiles
    CHECK_STR(design(1, 7, 512, 512, 3, 1, 1), "direct");   // too few tiles for their weights
    CHECK_STR(design(16, 56, 64, 256, 1, 1, 1), "direct");  // no Winograd without 3x3,
    CHECK_STR(design(16, 56, 128, 128, 3, 2, 1), "direct"); // with strides
    CHECK_STR(design(16, 56, 128, 128, 3, 1, 4), "direct"); // or groups
    CHECK_STR(weight_design(SR_F32, 16, 14, 256, 256), "winograd4"); // measured, as is all of this
    CHECK_STR(weight_design(SR_F32, 48, 6, 256, 256), "winograd3");
    CHECK_STR(weight_design(SR_F32, 48, 3, 512, 512), "winograd3");
    CHECK_STR(weight_design(SR_F32, 2, 3, 512, 512), "direct");
    if (sr_cpu_has_bf16()) {
        CHECK_STR(weight_design(SR_BF16, 16, 7, 512, 512), "winograd4");
        CHECK_STR(pass_design(SR_CONV_FORWARD, SR_BF16, 16, 224, 3, 64, 7, 2, 1), "padded");
        CHECK_STR(pass_design(SR_CONV_BACKWARD_WEIGHT, SR_BF16, 16, 224, 3, 64, 7, 2, 1), "padded");
        CHECK_STR(weight_design(SR_BF16, 48, 3, 512, 512),
                  "direct"); // products of pairs take half the time
    }
    sr_conv_allow(0);
    CHECK_STR(design(16, 56, 64, 64, 3, 1, 1), "plain");
    sr_conv_allow(SR_CONV_ALL);
}

// An output larger than the caches is written past them, to the same bits as its halves, which are not.
static void test_streamed_output(void **state) {
    (void)state;
    SrRng rng = sr_rng(11, SR_RNG_TEST, 0, 0, 0, 0);
    SrConvShape s = {.N = 4,
                     .H = 128,
                     .W = 128,
                     .C = 8,
                     .K = 64,
                     .R = 1,
                     .S = 1,
                     .stride_h = 1,
                     .stride_w = 1,
                     .dilation_h = 1,
                     .dilation_w = 1,
                     .groups = 1};
    sr_conv_shape(&s);
    size_t nx = x_len(&s), ny = y_len(&s), bytes = ny * sizeof(float);
    CHECK(ny >= 3 << 20 && ny / 2 < 3 << 20);
    float *x = draw(&rng, nx), *w = draw(&rng, w_len(&s)), *bias = draw(&rng, 64),
          *residual = draw(&rng, ny);
    float *y = aligned_alloc(SR_ALIGN, bytes), *halves = aligned_alloc(SR_ALIGN, bytes);
    void *scratch = aligned_alloc(
        SR_ALIGN, (sr_conv_scratch_bytes(&s, SR_CONV_FORWARD) / SR_ALIGN + 1) * SR_ALIGN);
    float *packed = aligned_alloc(SR_ALIGN, sr_conv_prepared(&s, SR_CONV_FORWARD).bytes);
    sr_conv_prepare(&s, SR_CONV_FORWARD, w, packed);
    sr_conv_forward_end(&s, x, packed,
                        &(SrConvEnd){.bias = bias, .residual = residual, .relu = true}, y, scratch);
    s.N /= 2;
    for (size_t half = 0; half < 2; half++)
        sr_conv_forward_end(
            &s, x + half * nx / 2, packed,
            &(SrConvEnd){.bias = bias, .residual = residual + half * ny / 2, .relu = true},
            halves + half * ny / 2, scratch);
    CHECK(memcmp(y, halves, bytes) == 0);
    free(y), free(halves), free(scratch), free(packed);
    sr_free(x), sr_free(w), sr_free(bias), sr_free(residual);
}

SR_TESTS(conv, unit(test_streamed_output), unit(test_shape_formula), unit(test_choice),
         unit(test_plain), unit(test_direct), unit(test_winograd2), unit(test_winograd3),
         unit(test_winograd4), unit(test_bf16_widened), unit(test_bf16_direct),
         unit(test_bf16_winograd), unit(test_threads_keep_bits))
