// The vector loops of batch_norm; what each does is said in batch_norm.h.
//
// Sums over rows keep their channels in registers, add 128 rows in single precision and then join a
// sum in double.  Forward and backward compute v by the same expression, so the relu's mask is
// found again exactly.
#include "kernels/batch_norm.h"

#include "base/compiler.h"
#include "kernels/simd.h"

enum {
    GROUP = 4,  // vectors of channels held in registers together
    BLOCK = 128 // rows added in single precision
};

// With m a constant the branch is gone and full vectors are read without a mask.
V_INLINE V load(const float *p, int m) {
    return m == V_LANES ? v_load(p) : v_load_n(p, m);
}
V_INLINE void store(float *p, V a, int m) {
    if (m == V_LANES)
        v_store(p, a);
    else
        v_store_n(p, a, m);
}

// n accumulators join the running sums; the first m lanes of each are channels.
V_INLINE void flush(double *sum, const V *v, int n, int m) {
    for (int k = 0; k < n; k++) {
        float lane[V_LANES];
        v_store(lane, v[k]);
        for (int i = 0; i < m; i++)
            sum[k * V_LANES + i] += (double)lane[i];
    }
}

// n full vectors of channels, or one of m lanes.
V_INLINE void stats_group(const float *x, int64_t rows, int64_t stride, const float *shift,
                          double *sum, double *square, int n, int m) {
    for (int64_t first = 0; first < rows; first += BLOCK) {
        V s[GROUP], q[GROUP], zero_at[GROUP];
        V_UNROLL for (int k = 0; k < n; k++) {
            s[k] = q[k] = v_zero();
            zero_at[k] = load(shift + k * V_LANES, m);
        }
        const float *end = x + SR_MIN(rows, first + BLOCK) * stride;
        for (const float *row = x + first * stride; row < end; row += stride)
            V_UNROLL for (int k = 0; k < n; k++) {
                V d = load(row + k * V_LANES, m) - zero_at[k];
                s[k] += d;
                q[k] = v_fma(d, d, q[k]);
            }
        flush(sum, s, n, m);
        flush(square, q, n, m);
    }
}

static void stats(const float *x, int64_t rows, int64_t stride, int width, const float *shift,
                  double *sum, double *square) {
    int c = 0;
    for (; c + GROUP * V_LANES <= width; c += GROUP * V_LANES)
        stats_group(x + c, rows, stride, shift + c, sum + c, square + c, GROUP, V_LANES);
    for (; c < width; c += V_LANES)
        stats_group(x + c, rows, stride, shift + c, sum + c, square + c, 1,
                    SR_MIN(V_LANES, width - c));
}

// v of the header, at channels c .. of row x.  x - mean comes first: folding the mean into the bias
// would cancel when it is large beside the deviation.
V_INLINE V normalised(V x, SrBatchNormCoefs k, int c, int m) {
    return v_fma(x - load(k.mean + c, m), load(k.a + c, m), load(k.b + c, m));
}

V_INLINE void apply_lanes(float *y, const float *x, const float *residual, int c, int m,
                          SrBatchNormCoefs k, bool relu) {
    V v = normalised(load(x + c, m), k, c, m);
    if (residual)
        v += load(residual + c, m);
    store(y + c, relu ? v_max(v_zero(), v) : v, m);
}

// Constant `residual == NULL` and `relu` make one loop each; inlined three times below.
V_INLINE void apply_rows(float *y, const float *x, const float *residual, int64_t rows, int C,
                         SrBatchNormCoefs k, bool relu) {
    for (int64_t r = 0; r < rows; r++, y += C, x += C, residual = residual ? residual + C : NULL) {
        int c = 0;
        for (; c + V_LANES <= C; c += V_LANES)
            apply_lanes(y, x, residual, c, V_LANES, k, relu);
        if (c < C)
            apply_lanes(y, x, residual, c, C - c, k, relu);
    }
}

static void apply(float *y, const float *x, const float *residual, int64_t rows, int C,
                  SrBatchNormCoefs k, bool relu) {
    if (residual && relu)
        apply_rows(y, x, residual, rows, C, k, true);
    else if (residual)
        apply_rows(y, x, residual, rows, C, k, false);
    else
        apply_rows(y, x, NULL, rows, C, k, relu);
}

// dy where the relu let its input pass.
V_INLINE V masked(V dy, V x, const float *y, SrBatchNormCoefs k, SrBatchNormMask mask, int c,
                  int m) {
    if (mask == SR_BN_MASK_BY_X)
        return v_where_positive(normalised(x, k, c, m), dy);
    if (mask == SR_BN_MASK_BY_Y)
        return v_where_positive(load(y + c, m), dy);
    return dy;
}

// Channels c .. of a strip: n full vectors, or one of m lanes.
V_INLINE void reduce_group(const float *x, const float *y, const float *dy, float *g_out,
                           int64_t rows, int64_t stride, int c, SrBatchNormCoefs k,
                           SrBatchNormMask mask, double *sum_g, double *sum_gx, int n, int m) {
    for (int64_t first = 0; first < rows; first += BLOCK) {
        V s[GROUP], q[GROUP];
        V_UNROLL for (int j = 0; j < n; j++) s[j] = q[j] = v_zero();
        int64_t end = SR_MIN(rows, first + BLOCK);
        for (int64_t r = first; r < end; r++)
            V_UNROLL for (int j = 0; j < n; j++) {
                int i = c + j * V_LANES;
                int64_t at = r * stride;
                V v = load(x + at + i, m);
                V g = masked(load(dy + at + i, m), v, y + at, k, mask, i, m);
                if (g_out)
                    store(g_out + at + i, g, m);
                s[j] += g;
                q[j] = v_fma(g, v - load(k.mean + i, m), q[j]);
            }
        flush(sum_g + c, s, n, m);
        flush(sum_gx + c, q, n, m);
    }
}

V_INLINE void reduce_strip(const float *x, const float *y, const float *dy, float *g_out,
                           int64_t rows, int64_t stride, int width, SrBatchNormCoefs k,
                           SrBatchNormMask mask, double *sum_g, double *sum_gx) {
    int c = 0;
    for (; c + GROUP * V_LANES <= width; c += GROUP * V_LANES)
        reduce_group(x, y, dy, g_out, rows, stride, c, k, mask, sum_g, sum_gx, GROUP, V_LANES);
    for (; c < width; c += V_LANES)
        reduce_group(x, y, dy, g_out, rows, stride, c, k, mask, sum_g, sum_gx, 1,
                     SR_MIN(V_LANES, width - c));
}

static void reduce(const float *x, const float *y, const float *dy, float *g_out, int64_t rows,
                   int64_t stride, int width, SrBatchNormCoefs k, SrBatchNormMask mask,
                   double *sum_g, double *sum_gx) {
    if (mask == SR_BN_MASK_BY_X) // never with a residual, so never with g_out
        reduce_strip(x, x, dy, NULL, rows, stride, width, k, SR_BN_MASK_BY_X, sum_g, sum_gx);
    else if (mask == SR_BN_MASK_BY_Y)
        reduce_strip(x, y, dy, g_out, rows, stride, width, k, SR_BN_MASK_BY_Y, sum_g, sum_gx);
    else
        reduce_strip(x, x, dy, g_out, rows, stride, width, k, SR_BN_NO_MASK, sum_g, sum_gx);
}

V_INLINE void input_grad_lanes(float *dx, const float *x, const float *y, const float *dy, int c,
                               int m, SrBatchNormCoefs k, SrBatchNormMask mask) {
    V v = load(x + c, m);
    V g = masked(load(dy + c, m), v, y, k, mask, c, m);
    V from_sums = v_fma(v - load(k.mean + c, m), load(k.k1 + c, m), load(k.k0 + c, m));
    store(dx + c, g * load(k.a + c, m) - from_sums, m);
}

V_INLINE void input_grad_rows(float *dx, const float *x, const float *y, const float *dy,
                              int64_t rows, int C, SrBatchNormCoefs k, SrBatchNormMask mask) {
    for (int64_t r = 0; r < rows; r++, dx += C, x += C, y += C, dy += C) {
        int c = 0;
        for (; c + V_LANES <= C; c += V_LANES)
            input_grad_lanes(dx, x, y, dy, c, V_LANES, k, mask);
        if (c < C)
            input_grad_lanes(dx, x, y, dy, c, C - c, k, mask);
    }
}

static void input_grad(float *dx, const float *x, const float *y, const float *dy, int64_t rows,
                       int C, SrBatchNormCoefs k, SrBatchNormMask mask) {
    if (mask == SR_BN_MASK_BY_X)
        input_grad_rows(dx, x, x, dy, rows, C, k, SR_BN_MASK_BY_X);
    else if (mask == SR_BN_MASK_BY_Y)
        input_grad_rows(dx, x, y, dy, rows, C, k, SR_BN_MASK_BY_Y);
    else
        input_grad_rows(dx, x, x, dy, rows, C, k, SR_BN_NO_MASK);
}

const SrBatchNormKernels SR_ISA_SYMBOL(sr__batch_norm_kernels) = {stats, apply, reduce, input_grad};
