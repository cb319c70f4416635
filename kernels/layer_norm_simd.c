// Rows of layer_norm; see the header.  A row is read twice or three times while it lies in the nearest
// cache; sums run in two chains of vectors, whose lanes are added in double.
#include <math.h>
#include <stddef.h>

#include "base/compiler.h"
#include "kernels/layer_norm.h"
#include "kernels/simd.h"

V_INLINE double lanes(V a, V b) {
    float l[V_LANES];
    double sum = 0;
    v_store(l, a + b);
    for (int i = 0; i < V_LANES; i++)
        sum += (double)l[i];
    return sum;
}

// Sum of x - shift, or of its square; lanes past the end add nothing.
V_INLINE double row_sum(SrDtype type, const void *x, int64_t at, int C, float shift, bool square) {
    V s[2] = {v_zero(), v_zero()}, from = v_set1(shift);
    int c = 0;
    for (; c + 2 * V_LANES <= C; c += 2 * V_LANES)
        V_FOR (k, 2) {
            V d = v_get(type, x, at + c + k * V_LANES, V_LANES) - from;
            if (square)
                s[k] = v_fma(d, d, s[k]);
            else
                s[k] = s[k] + d;
        }
    double rest = 0;
    for (; c < C; c += V_LANES) {
        int m = SR_MIN(V_LANES, C - c);
        float l[V_LANES];
        v_store(l, v_get(type, x, at + c, m) - from);
        for (int i = 0; i < m; i++)
            rest += square ? (double)l[i] * (double)l[i] : (double)l[i];
    }
    return lanes(s[0], s[1]) + rest;
}

V_INLINE void forward_row(SrDtype type, void *y, const void *x, int64_t at, int C, float mean,
                          float invstd, const float *weight, const float *bias) {
    V mu = v_set1(mean), inv = v_set1(invstd);
    for (int c = 0; c < C; c += V_LANES) {
        int m = SR_MIN(V_LANES, C - c);
        V hat = (v_get(type, x, at + c, m) - mu) * inv;
        v_put(type, y, at + c, v_fma(hat, v_load_n(weight + c, m), v_load_n(bias + c, m)), m);
    }
}

V_INLINE void forward_any(SrDtype type, void *y, const void *x, int64_t rows, int C, double eps,
                          const float *weight, const float *bias, float *mean, float *invstd,
                          bool again) {
    for (int64_t r = 0; r < rows; r++) {
        if (!again) {
            mean[r] = (float)(row_sum(type, x, r * C, C, 0, false) / C);
            double var = row_sum(type, x, r * C, C, mean[r], true) / C;
            invstd[r] = (float)(1 / sqrt(var + eps));
        }
        forward_row(type, y, x, r * C, C, mean[r], invstd[r], weight, bias);
    }
}

static void forward(SrDtype type, void *y, const void *x, int64_t rows, int C, double eps,
                    const float *weight, const float *bias, float *mean, float *invstd,
                    bool again) {
    if (type == SR_BF16)
        forward_any(SR_BF16, y, x, rows, C, eps, weight, bias, mean, invstd, again);
    else
        forward_any(SR_F32, y, x, rows, C, eps, weight, bias, mean, invstd, again);
}

// One row's sums of w dy and of w dy xhat, while dweight and dbias take their parts.
V_INLINE void reduce_row(SrDtype type, const void *x, const void *dy, int64_t at, int C, V mu,
                         V inv, const float *weight, float *dweight, float *dbias, double sums[2]) {
    V s0 = v_zero(), s1 = v_zero();
    for (int c = 0; c < C; c += V_LANES) {
        int m = SR_MIN(V_LANES, C - c);
        V g = v_get(type, dy, at + c, m); // 0 past the end, and so is all that follows
        V hat = (v_get(type, x, at + c, m) - mu) * inv;
        V wg = g * v_load_n(weight + c, m);
        s0 = s0 + wg;
        s1 = v_fma(wg, hat, s1);
        if (dweight) {
            v_store_n(dweight + c, v_fma(g, hat, v_load_n(dweight + c, m)), m);
            v_store_n(dbias + c, v_load_n(dbias + c, m) + g, m);
        }
    }
    sums[0] = lanes(s0, v_zero());
    sums[1] = lanes(s1, v_zero());
}

// dx = invstd (w dy - mean(w dy) - xhat mean(w dy xhat)).
V_INLINE void input_row(SrDtype type, void *dx, const void *x, const void *dy, int64_t at, int C,
                        V mu, V inv, const float *weight, const double sums[2]) {
    V k0 = v_set1((float)(sums[0] / C)), k1 = v_set1((float)(sums[1] / C));
    for (int c = 0; c < C; c += V_LANES) {
        int m = SR_MIN(V_LANES, C - c);
        V hat = (v_get(type, x, at + c, m) - mu) * inv;
        V wg = v_get(type, dy, at + c, m) * v_load_n(weight + c, m);
        v_put(type, dx, at + c, (wg - k0 - hat * k1) * inv, m);
    }
}

V_INLINE void backward_any(SrDtype type, void *dx, const void *x, const void *dy, int64_t rows,
                           int C, const float *weight, const float *mean, const float *invstd,
                           float *dweight, float *dbias) {
    for (int64_t r = 0; r < rows; r++) {
        double sums[2];
        V mu = v_set1(mean[r]), inv = v_set1(invstd[r]);
        reduce_row(type, x, dy, r * C, C, mu, inv, weight, dweight, dbias, sums);
        if (dx)
            input_row(type, dx, x, dy, r * C, C, mu, inv, weight, sums);
    }
}

static void backward(SrDtype type, void *dx, const void *x, const void *dy, int64_t rows, int C,
                     const float *weight, const float *mean, const float *invstd, float *dweight,
                     float *dbias) {
    if (type == SR_BF16)
        backward_any(SR_BF16, dx, x, dy, rows, C, weight, mean, invstd, dweight, dbias);
    else
        backward_any(SR_F32, dx, x, dy, rows, C, weight, mean, invstd, dweight, dbias);
}

const SrLayerNormKernels SR_ISA_SYMBOL(sr__layer_norm_kernels) = {forward, backward};
