// Loops that the vector code of batch_norm and of gated_norm share: normalised rows, activations
// over strips of channels, sums over rows.  Only for *_simd.c files.
#ifndef SR_KERNELS_NORM_BATCH_NORM_VALUES_H
#define SR_KERNELS_NORM_BATCH_NORM_VALUES_H

#include <string.h>

#include "base/compiler.h"
#include "kernels/activation/pointwise_values.h"
#include "kernels/core/simd.h"
#include "kernels/norm/batch_norm_rows.h"

enum { BLOCK = 128 }; // rows added in single precision

// With a constant m the branch disappears, and full vectors are read without a mask.
V_INLINE V load(const float *p, int m) { return m == V_LANES ? v_load(p) : v_load_n(p, m); }
V_INLINE void store(float *p, V a, int m) {
    if (m == V_LANES)
        v_store(p, a);
    else
        v_store_n(p, a, m);
}

// Returns whether rows of `width` elements from `to` on can be streamed: whole vectors from an
// aligned start.
V_INLINE bool streams(SrDtype type, const void *to, int width) {
    size_t vector = V_LANES * (type == SR_BF16 ? sizeof(SrBf16) : sizeof(float));
    return width % V_LANES == 0 && (uintptr_t)to % vector == 0;
}

// Stores element `i` and the m - 1 after it; with `stream`, bypassing the caches.
V_INLINE void give(SrDtype type, void *p, int64_t i, V a, int m, bool stream) {
    if (!stream)
        v_put(type, p, i, a, m);
    else if (type == SR_BF16)
        v_stream_bf16((SrBf16 *)p + i, a);
    else
        v_stream((float *)p + i, a);
}

// Sums of a strip: `width` floats join doubles every BLOCK rows, so that single precision only
// meets numbers of like size.  The sums live in the first-level cache, not in registers, because
// memory is fastest when rows are read whole.
V_INLINE void flush(double *sum, float *part, int width) {
    for (int i = 0; i < width; i++)
        sum[i] += (double)part[i];
    memset(part, 0, sizeof(float) * (size_t)width);
}

// Returns v (batch_norm_rows.h) at channels c .. of row x.  x - mean comes first: folding the mean
// into the bias would cancel when the mean is large compared with the deviation.
V_INLINE V normalised(V x, SrBatchNormCoefs k, int c, int m) {
    return v_fma(x - load(k.mean + c, m), load(k.a + c, m), load(k.b + c, m));
}

// Applies a function of one number to each lane.
#define EACH_LANE(name, v)                \
    do {                                  \
        float lanes[V_LANES];             \
        v_store(lanes, v);                \
        SR_SIMD                           \
        for (int i = 0; i < V_LANES; i++) \
            lanes[i] = name(lanes[i]);    \
        v = v_load(lanes);                \
    } while (0)

// Returns the activation's value; f is a constant wherever this is inlined.
V_INLINE V value_of(SrBatchNormActivation f, V v) {
    V zero = v_zero(), six = v_set1(6);
    if (f == SR_BN_RELU)
        return v_max(zero, v); // a NaN stays a NaN
    if (f == SR_BN_RELU6)
        return v_min(six, v_max(zero, v));
    if (f == SR_BN_HARDSWISH)
        return v * (v_min(six, v_max(zero, v + v_set1(3))) * v_set1(1.0f / 6));
    if (f == SR_BN_GELU)
        return v_gelu(v);
#if V_LANES == 16
    if (f == SR_BN_SILU)
        return v_silu(v);
#endif
    if (f == SR_BN_SILU)
        EACH_LANE(silu_value, v);
    return v;
}

V_INLINE V slope_of(SrBatchNormActivation f, V v) {
    V zero = v_zero(), one = v_set1(1);
    if (f == SR_BN_RELU)
        return v_where_positive(v, one);
    if (f == SR_BN_RELU6)
        return v_where_positive(v, v_if_less(v, v_set1(6), one, zero));
    if (f == SR_BN_HARDSWISH) {
        V inside = v_fma(v, v_set1(1.0f / 3), v_set1(0.5f));
        return v_if_less(v, v_set1(-3), zero, v_if_less(v_set1(3), v, one, inside));
    }
    if (f == SR_BN_GELU)
        return v_gelu_slope(v);
#if V_LANES == 16
    if (f == SR_BN_SILU)
        return v_silu_slope(v);
#endif
    if (f == SR_BN_SILU)
        EACH_LANE(silu_slope, v);
    return v;
}

// Calls run(f) with f as a constant.
#define WITH_ACTIVATION(f, run)          \
    do {                                 \
        if ((f) == SR_BN_RELU)           \
            run(SR_BN_RELU);             \
        else if ((f) == SR_BN_RELU6)     \
            run(SR_BN_RELU6);            \
        else if ((f) == SR_BN_SILU)      \
            run(SR_BN_SILU);             \
        else if ((f) == SR_BN_HARDSWISH) \
            run(SR_BN_HARDSWISH);        \
        else                             \
            run(SR_BN_GELU);             \
    } while (0)

// Normalises channels c .. of the row that begins at element `at`.
V_INLINE V sum_lanes(SrDtype type, const void *x, const void *residual, int64_t at, int c, int m,
                     SrBatchNormCoefs k) {
    V v = normalised(v_get(type, x, at + c, m), k, c, m);
    if (residual)
        v += v_get(type, residual, at + c, m);
    return v;
}

// Returns the coefficients of channels from `c` on.
V_INLINE SrBatchNormCoefs coefs_from(SrBatchNormCoefs k, int c) {
    return (SrBatchNormCoefs){k.mean + c, k.a + c, k.b + c, NULL, NULL};
}

#endif
