// Vector loops over rows of layer_norm, compiled once per instruction set (layer_norm.h).  A row is
// read two or three times while it lies in the nearest cache.  Sums run in two chains of vectors,
// whose lanes are added in double.
#include <math.h>
#include <stddef.h>

#include "base/compiler.h"
#include "kernels/core/simd.h"
#include "kernels/norm/layer_norm.h"

// Sums x - shift, or its square; lanes past the end add nothing.
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
    return v_sum_double(s[0] + s[1]) + rest;
}

V_INLINE void forward_row(SrDtype to, void *y, SrDtype type, const void *x, int64_t at, int C,
                          float mean, float invstd, const float *weight, const float *bias) {
    V mu = v_set1(mean), inv = v_set1(invstd);
    for (int c = 0; c < C; c += V_LANES) {
        int m = SR_MIN(V_LANES, C - c);
        V hat = (v_get(type, x, at + c, m) - mu) * inv;
        v_put(to, y, at + c, v_fma(hat, v_load_n(weight + c, m), v_load_n(bias + c, m)), m);
    }
}

V_INLINE void forward_any(SrDtype to, void *y, SrDtype type, const void *x, int64_t rows, int C,
                          double eps, const float *weight, const float *bias, float *mean,
                          float *invstd, bool again) {
    for (int64_t r = 0; r < rows; r++) {
        if (!again) {
            mean[r] = (float)(row_sum(type, x, r * C, C, 0, false) / C);
            double var = row_sum(type, x, r * C, C, mean[r], true) / C;
            invstd[r] = (float)(1 / sqrt(var + eps));
        }
        forward_row(to, y, type, x, r * C, C, mean[r], invstd[r], weight, bias);
    }
}

#define FORWARD(to, type) \
    forward_any(to, y, type, x, rows, C, eps, weight, bias, mean, invstd, again)
static void forward(SrDtype to, void *y, SrDtype type, const void *x, int64_t rows, int C,
                    double eps, const float *weight, const float *bias, float *mean, float *invstd,
                    bool again) {
    if (to == SR_BF16)
        type == SR_BF16 ? FORWARD(SR_BF16, SR_BF16) : FORWARD(SR_BF16, SR_F32);
    else
        type == SR_BF16 ? FORWARD(SR_F32, SR_BF16) : FORWARD(SR_F32, SR_F32);
}

// Returns a row's sums of w dy and of w dy xhat, and adds the row's part to dweight and dbias.
V_INLINE void reduce_row(SrDtype type, const void *x, SrDtype above, const void *dy, int64_t at,
                         int C, V mu, V inv, const float *weight, float *dweight, float *dbias,
                         double sums[2]) {
    V s0 = v_zero(), s1 = v_zero();
    for (int c = 0; c < C; c += V_LANES) {
        int m = SR_MIN(V_LANES, C - c);
        V g = v_get(above, dy, at + c, m); // 0 past the end, and so are the products
        V hat = (v_get(type, x, at + c, m) - mu) * inv;
        V wg = g * v_load_n(weight + c, m);
        s0 = s0 + wg;
        s1 = v_fma(wg, hat, s1);
        if (dweight) {
            v_store_n(dweight + c, v_fma(g, hat, v_load_n(dweight + c, m)), m);
            v_store_n(dbias + c, v_load_n(dbias + c, m) + g, m);
        }
    }
    sums[0] = v_sum_double(s0);
    sums[1] = v_sum_double(s1);
}

// Computes dx = invstd (w dy - mean(w dy) - xhat mean(w dy xhat)).
V_INLINE void input_row(SrDtype type, void *dx, const void *x, SrDtype above, const void *dy,
                        int64_t at, int C, V mu, V inv, const float *weight, const double sums[2]) {
    V k0 = v_set1((float)(sums[0] / C)), k1 = v_set1((float)(sums[1] / C));
    for (int c = 0; c < C; c += V_LANES) {
        int m = SR_MIN(V_LANES, C - c);
        V hat = (v_get(type, x, at + c, m) - mu) * inv;
        V wg = v_get(above, dy, at + c, m) * v_load_n(weight + c, m);
        v_put(type, dx, at + c, (wg - k0 - hat * k1) * inv, m);
    }
}

V_INLINE void backward_any(SrDtype type, void *dx, const void *x, SrDtype above, const void *dy,
                           int64_t rows, int C, const float *weight, const float *mean,
                           const float *invstd, float *dweight, float *dbias) {
    for (int64_t r = 0; r < rows; r++) {
        double sums[2];
        V mu = v_set1(mean[r]), inv = v_set1(invstd[r]);
        reduce_row(type, x, above, dy, r * C, C, mu, inv, weight, dweight, dbias, sums);
        if (dx)
            input_row(type, dx, x, above, dy, r * C, C, mu, inv, weight, sums);
    }
}

#define BACKWARD(type, above) \
    backward_any(type, dx, x, above, dy, rows, C, weight, mean, invstd, dweight, dbias)
static void backward(SrDtype type, void *dx, const void *x, SrDtype above, const void *dy,
                     int64_t rows, int C, const float *weight, const float *mean,
                     const float *invstd, float *dweight, float *dbias) {
    if (type == SR_BF16)
        above == SR_BF16 ? BACKWARD(SR_BF16, SR_BF16) : BACKWARD(SR_BF16, SR_F32);
    else
        above == SR_BF16 ? BACKWARD(SR_F32, SR_BF16) : BACKWARD(SR_F32, SR_F32);
}

const SrLayerNormKernels SR_ISA_SYMBOL(sr__layer_norm_kernels) = {forward, backward};
