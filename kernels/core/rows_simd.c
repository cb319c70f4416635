// Vector loops over contiguous floats, compiled once per instruction set (rows.h).
//
// Elementwise loops are plain C that compilers vectorise.  Sums are written with V, because the
// order of their additions must be fixed.
#include "kernels/core/rows.h"

#include <stddef.h>

#include "base/compiler.h"
#include "kernels/core/simd.h"
#include "kernels/core/vexp.h"

V_INLINE void add_any(SrDtype type, void *y, const void *a, const void *b, int64_t n) {
    for (int64_t i = 0; i < n; i += V_LANES) {
        int m = (int)SR_MIN(V_LANES, n - i);
        v_put(type, y, i, v_get(type, a, i, m) + v_get(type, b, i, m), m);
    }
}

static void add(SrDtype type, void *y, const void *a, const void *b, int64_t n) {
    type == SR_BF16 ? add_any(SR_BF16, y, a, b, n) : add_any(SR_F32, y, a, b, n);
}

// Sums of mixed types: one branch per vector, which the processor predicts, saves four times as
// many loops.
static void sum_of(SrDtype to, void *y, SrDtype a_type, const void *a, SrDtype b_type,
                   const void *b, int64_t n) {
    if (to == a_type && to == b_type) {
        add(to, y, a, b, n);
        return;
    }
    for (int64_t i = 0; i < n; i += V_LANES) {
        int m = (int)SR_MIN(V_LANES, n - i);
        v_put(to, y, i, v_get(a_type, a, i, m) + v_get(b_type, b, i, m), m);
    }
}

V_INLINE void relu_any(SrDtype type, void *y, const void *x, int64_t n) {
    for (int64_t i = 0; i < n; i += V_LANES) {
        int m = (int)SR_MIN(V_LANES, n - i);
        v_put(type, y, i, v_max(v_zero(), v_get(type, x, i, m)), m); // a NaN stays a NaN
    }
}

static void relu(SrDtype type, void *y, const void *x, int64_t n) {
    type == SR_BF16 ? relu_any(SR_BF16, y, x, n) : relu_any(SR_F32, y, x, n);
}

V_INLINE void relu_grad_any(SrDtype type, void *dx, const void *y, const void *dy, int64_t n) {
    for (int64_t i = 0; i < n; i += V_LANES) {
        int m = (int)SR_MIN(V_LANES, n - i);
        v_put(type, dx, i, v_where_positive(v_get(type, y, i, m), v_get(type, dy, i, m)), m);
    }
}

static void relu_grad(SrDtype type, void *dx, const void *y, const void *dy, int64_t n) {
    type == SR_BF16 ? relu_grad_any(SR_BF16, dx, y, dy, n) : relu_grad_any(SR_F32, dx, y, dy, n);
}

V_INLINE void cast_lanes(SrDtype to, void *y, SrDtype from, const void *x, int64_t i, int m,
                         bool join) {
    V v = v_get(from, x, i, m);
    if (join)
        v = v + v_get(to, y, i, m);
    v_put(to, y, i, v, m);
}

// Rows of attention are short, so whole vectors have a loop without masks.
V_INLINE void cast_any(SrDtype to, void *y, SrDtype from, const void *x, int64_t n, bool join) {
    int64_t i = 0;
    for (; i + V_LANES <= n; i += V_LANES)
        cast_lanes(to, y, from, x, i, V_LANES, join);
    if (i < n)
        cast_lanes(to, y, from, x, i, (int)(n - i), join);
}

static void cast(SrDtype to, void *y, SrDtype from, const void *x, int64_t n, bool join) {
    if (to == SR_BF16 && from == SR_BF16)
        cast_any(SR_BF16, y, SR_BF16, x, n, join);
    else if (to == SR_BF16)
        cast_any(SR_BF16, y, SR_F32, x, n, join);
    else if (from == SR_BF16)
        cast_any(SR_F32, y, SR_BF16, x, n, join);
    else
        cast_any(SR_F32, y, SR_F32, x, n, join);
}

static void scale(float *y, const float *x, float factor, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] = factor * x[i];
}

V_INLINE void times_any(SrDtype type, void *y, const void *x, float factor, int64_t n) {
    for (int64_t i = 0; i < n; i += V_LANES) {
        int m = (int)SR_MIN(V_LANES, n - i);
        v_put(type, y, i, v_get(type, x, i, m) * v_set1(factor), m);
    }
}

static void times(SrDtype type, void *y, const void *x, float factor, int64_t n) {
    type == SR_BF16 ? times_any(SR_BF16, y, x, factor, n) : times_any(SR_F32, y, x, factor, n);
}

static void axpy(float *y, const float *x, float factor, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] += factor * x[i];
}

V_INLINE void finish_any(SrDtype type, void *y, const float *a, const void *b, bool with_relu,
                         int64_t n) {
    for (int64_t i = 0; i < n; i += V_LANES) {
        int m = (int)SR_MIN(V_LANES, n - i);
        V v = v_get(type, y, i, m);
        if (a)
            v = v + v_load_n(a + i, m);
        if (b)
            v = v + v_get(type, b, i, m);
        v_put(type, y, i, with_relu ? v_max(v_zero(), v) : v, m);
    }
}

// Each case has its own loop, without a branch inside.
V_INLINE void finish_kind(SrDtype type, void *y, const float *a, const void *b, bool with_relu,
                          int64_t n) {
    if (a && b && with_relu)
        finish_any(type, y, a, b, true, n);
    else if (a && with_relu)
        finish_any(type, y, a, NULL, true, n);
    else if (a && !b)
        finish_any(type, y, a, NULL, false, n);
    else
        finish_any(type, y, a, b, with_relu, n);
}

static void finish(SrDtype type, void *y, const float *a, const void *b, bool with_relu,
                   int64_t n) {
    type == SR_BF16 ? finish_kind(SR_BF16, y, a, b, with_relu, n)
                    : finish_kind(SR_F32, y, a, b, with_relu, n);
}

static void keep(float *y, const float *x, const uint8_t *mask, float factor, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] = mask[i] ? factor * x[i] : 0;
}

// Adds the lanes of up to four accumulators in double.
#if V_LANES == 16
static double sum_lanes(const V *v, int n) {
    __m512d total = _mm512_setzero_pd();
    for (int k = 0; k < n; k++) {
        total += _mm512_cvtps_pd(_mm512_castps512_ps256(v[k])) +
                 _mm512_cvtps_pd(_mm512_extractf32x8_ps(v[k], 1));
    }
    return _mm512_reduce_add_pd(total);
}
#else
static double sum_lanes(const V *v, int n) {
    double total[4] = {0}; // four chains
    for (int k = 0; k < n; k++) {
        float lane[V_LANES];
        v_store(lane, v[k]);
        for (int i = 0; i < V_LANES; i += 4)
            for (int j = 0; j < 4; j++)
                total[j] += (double)lane[i + j];
    }
    return (total[0] + total[1]) + (total[2] + total[3]);
}
#endif

// Two chains of additions hide the latency of one.
static double sum(const float *x, int64_t n) {
    V s[2] = {v_zero(), v_zero()};
    int64_t i = 0;
    for (; i + 2 * V_LANES <= n; i += 2 * V_LANES) {
        s[0] += v_load(x + i);
        s[1] += v_load(x + i + V_LANES);
    }
    for (; i < n; i += V_LANES)
        s[0] += v_load_n(x + i, (int)SR_MIN(V_LANES, n - i));
    return sum_lanes(s, 2);
}

// Both loops: y may be x, and NULL for exp_sum.
#if V_LANES == 16
V_INLINE V exp_lanes(float *y, const float *x, float shift, float factor, int m) {
    V e = v_exp((v_load_n(x, m) - v_set1(shift)) * v_set1(factor));
    if (y)
        v_store_n(y, e, m);
    return e;
}

static void exp_rows(float *y, const float *x, float shift, float factor, int64_t n) {
    int64_t i = 0;
    for (; i + V_LANES <= n; i += V_LANES)
        exp_lanes(y + i, x + i, shift, factor, V_LANES);
    if (i < n)
        exp_lanes(y + i, x + i, shift, factor, (int)(n - i));
}

static double exp_sum(float *y, const float *x, float shift, float factor, int64_t n) {
    enum { BLOCK = 512 }; // numbers summed in floats
    double total = 0;
    for (int64_t b = 0; b < n; b += BLOCK) {
        int64_t i = b, end = SR_MIN(b + BLOCK, n);
        V s[2] = {v_zero(), v_zero()};
        for (int chain = 0; i + V_LANES <= end; i += V_LANES, chain = 1 - chain) {
            V e = exp_lanes(y ? y + i : NULL, x + i, shift, factor, V_LANES);
            s[chain] = s[chain] + e;
        }
        if (i < end) {
            int m = (int)(end - i);
            V e = exp_lanes(y ? y + i : NULL, x + i, shift, factor, m);
            s[0] = s[0] + _mm512_maskz_mov_ps(v_mask_(m), e);
        }
        total += sum_lanes(s, 2);
    }
    return total;
}
#else
static void exp_rows(float *y, const float *x, float shift, float factor, int64_t n) {
    SR_SIMD
    for (int64_t i = 0; i < n; i++)
        y[i] = sr__expf((x[i] - shift) * factor);
}

static double exp_sum(float *y, const float *x, float shift, float factor, int64_t n) {
    enum { BLOCK = 512 }; // numbers that stay in the first-level cache between the two loops
    float block[BLOCK];
    double total = 0;
    for (int64_t b = 0; b < n; b += BLOCK) {
        int64_t m = SR_MIN(BLOCK, n - b);
        float *to = y ? y + b : block;
        exp_rows(to, x + b, shift, factor, m);
        total += sum(to, m);
    }
    return total;
}
#endif

// NaN is never larger, so a row with one still has the maximum of the rest.
static float row_max(const float *x, int64_t n) {
    float best = x[0];
    V m = v_set1(best);
    int64_t i = 0;
    for (; i + V_LANES <= n; i += V_LANES)
        m = v_max(v_load(x + i), m);
    float lane[V_LANES];
    v_store(lane, m);
    for (int k = 0; k < V_LANES; k++)
        best = lane[k] > best ? lane[k] : best;
    for (; i < n; i++)
        best = x[i] > best ? x[i] : best;
    return best;
}

static float max_sum(const float *a, const float *b, int64_t n) {
    enum { CHAINS = 4 }; // a comparison waits for the one before it in its chain
    float best = -__builtin_inff();
    V m[CHAINS];
    int64_t i = 0;
    V_FOR (c, CHAINS)
        m[c] = v_set1(best);
    for (; i + CHAINS * V_LANES <= n; i += CHAINS * V_LANES)
        V_FOR (c, CHAINS)
            m[c] = v_max(v_load(a + i + c * V_LANES) + v_load(b + i + c * V_LANES), m[c]);
    for (; i + V_LANES <= n; i += V_LANES)
        m[0] = v_max(v_load(a + i) + v_load(b + i), m[0]);
    float lane[V_LANES];
    v_store(lane, v_max(v_max(m[0], m[1]), v_max(m[2], m[3])));
    for (int k = 0; k < V_LANES; k++)
        best = lane[k] > best ? lane[k] : best;
    for (; i < n; i++)
        best = a[i] + b[i] > best ? a[i] + b[i] : best;
    return best;
}

// Four chains of fused multiply-adds; the lanes join in double.
static double dot(const float *a, const float *b, int64_t n) {
    V s[4] = {v_zero(), v_zero(), v_zero(), v_zero()};
    int64_t i = 0;
    for (; i + 4 * V_LANES <= n; i += 4 * V_LANES)
        V_UNROLL for (int k = 0; k < 4; k++) {
            s[k] = v_fma(v_load(a + i + k * V_LANES), v_load(b + i + k * V_LANES), s[k]);
        }
    for (; i < n; i += V_LANES) {
        int m = (int)SR_MIN(V_LANES, n - i);
        s[0] = v_fma(v_load_n(a + i, m), v_load_n(b + i, m), s[0]);
    }
    return sum_lanes(s, 4);
}

V_INLINE float float_dot_any(SrDtype type, const void *a, const void *b, int64_t n) {
    V s = v_zero();
    for (int64_t i = 0; i < n; i += V_LANES) {
        int m = (int)SR_MIN(V_LANES, n - i);
        s = v_fma(v_get(type, a, i, m), v_get(type, b, i, m), s);
    }
    return v_sum(s);
}

static float float_dot(SrDtype type, const void *a, const void *b, int64_t n) {
    return type == SR_BF16 ? float_dot_any(SR_BF16, a, b, n) : float_dot_any(SR_F32, a, b, n);
}

static double distance(const float *a, const float *x, float from, int64_t n) {
    V s[2] = {v_zero(), v_zero()}, f = v_set1(from);
    int64_t i = 0;
    for (; i + 2 * V_LANES <= n; i += 2 * V_LANES)
        V_UNROLL for (int k = 0; k < 2; k++) {
            int64_t at = i + k * V_LANES;
            s[k] = v_fma(v_load(a + at), f - v_load(x + at), s[k]);
        }
    for (; i < n; i += V_LANES) {
        int m = (int)SR_MIN(V_LANES, n - i);
        s[0] = v_fma(v_load_n(a + i, m), f - v_load_n(x + i, m), s[0]);
    }
    return sum_lanes(s, 2);
}

static void column_sums(double *sums, const float *x, int64_t rows, int64_t stride, int width) {
    enum { BLOCK = 128 }; // rows added in single precision before they join the sum in double
    for (int64_t b = 0; b < rows; b += BLOCK) {
        const float *end = x + SR_MIN(rows, b + BLOCK) * stride;
        for (int c = 0; c < width; c += V_LANES) {
            int m = SR_MIN(V_LANES, width - c);
            V s = v_zero();
            for (const float *row = x + b * stride + c; row < end; row += stride)
                s += m == V_LANES ? v_load(row) : v_load_n(row, m);
            float lane[V_LANES];
            v_store(lane, s);
            for (int i = 0; i < m; i++)
                sums[c + i] += (double)lane[i];
        }
    }
}

V_INLINE void mul_rows_any(SrDtype type, void *y, const void *a, const float *w, int64_t rows,
                           int C) {
    for (int64_t r = 0; r < rows; r++)
        for (int c = 0; c < C; c += V_LANES) {
            int m = SR_MIN(V_LANES, C - c);
            v_put(type, y, r * C + c, v_get(type, a, r * C + c, m) * v_load_n(w + c, m), m);
        }
}

static void mul_rows(SrDtype type, void *y, const void *a, const float *w, int64_t rows, int C) {
    type == SR_BF16 ? mul_rows_any(SR_BF16, y, a, w, rows, C)
                    : mul_rows_any(SR_F32, y, a, w, rows, C);
}

// Sums columns c to c + width - 1, at most SR_STRIP of them.
V_INLINE void sum_products_strip(SrDtype type, float *sum, const void *a, const void *b,
                                 int64_t rows, int C, int c, int width, bool join) {
    enum { N = SR_STRIP / V_LANES };
    V s[N];
    V_FOR (i, N)
        s[i] = v_zero();
    for (int64_t at = c; at < rows * C; at += C)
        V_FOR (i, N) {
            int m = SR_MIN(V_LANES, width - i * V_LANES);
            if (m > 0)
                s[i] = v_fma(v_get(type, a, at + i * V_LANES, m),
                             v_get(type, b, at + i * V_LANES, m), s[i]);
        }
    V_FOR (i, N) {
        int m = SR_MIN(V_LANES, width - i * V_LANES);
        if (m <= 0)
            break;
        if (join)
            s[i] = s[i] + v_load_n(sum + c + i * V_LANES, m);
        v_store_n(sum + c + i * V_LANES, s[i], m);
    }
}

V_INLINE void sum_products_any(SrDtype type, float *sum, const void *a, const void *b, int64_t rows,
                               int C, bool join) {
    int c = 0;
    for (; c + SR_STRIP <= C; c += SR_STRIP)
        sum_products_strip(type, sum, a, b, rows, C, c, SR_STRIP, join);
    if (c < C)
        sum_products_strip(type, sum, a, b, rows, C, c, C - c, join);
}

static void sum_products(SrDtype type, float *sum, const void *a, const void *b, int64_t rows,
                         int C, bool join) {
    type == SR_BF16 ? sum_products_any(SR_BF16, sum, a, b, rows, C, join)
                    : sum_products_any(SR_F32, sum, a, b, rows, C, join);
}

const SrRows SR_ISA_SYMBOL(sr__rows_table) = {
    .add = add,
    .sum_of = sum_of,
    .scale = scale,
    .times = times,
    .axpy = axpy,
    .relu = relu,
    .finish = finish,
    .relu_grad = relu_grad,
    .cast = cast,
    .keep = keep,
    .exp = exp_rows,
    .exp_sum = exp_sum,
    .max = row_max,
    .max_sum = max_sum,
    .dot = dot,
    .float_dot = float_dot,
    .sum = sum,
    .distance = distance,
    .column_sums = column_sums,
    .mul_rows = mul_rows,
    .sum_products = sum_products,
};
