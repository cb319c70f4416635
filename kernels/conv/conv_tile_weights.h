// Packing of weights for the direct convolution's micro-kernels, and gradients back.  Only
// conv_tile_simd.c includes this file, whose types and sizes begin here.
#ifndef SR_KERNELS_CONV_CONV_TILE_WEIGHTS_H
#define SR_KERNELS_CONV_CONV_TILE_WEIGHTS_H

#include "base/compiler.h"
#include "kernels/conv/conv_kernels.h"
#include "kernels/core/simd_pairs.h"

#if V_PAIRS
enum { DEPTH = 2 };
// The numbers are hidden from the optimiser: gcc 12 for aarch64 would write ones of half precision.
V_INLINE V v_ones(void) {
    uint32_t pair = 0x3f803f80;
    __asm__("" : "+r"(pair));
    return (V)((VBits)v_zero() + pair);
}
#else
enum { DEPTH = 1 };
#define DEPTH_IS_ONE 1
V_INLINE V v_ones(void) { return v_set1(1); }
#endif

enum { BLOCK = SR_CONV_VECTORS * V_LANES, LINE = 16, AHEAD = 4 * LINE };

static inline int clamp(int n, int low, int high) { return n < low ? low : n > high ? high : n; }

// Stores the weights of one row of a block.  In a pair the first channel comes first.
V_INLINE void put_weights(float *packed, int64_t row, int width, int j, V a) {
#if V_PAIRS
    float *to = packed + row / 2 * width + j;
    VBits half = (VBits)v_rounded(SR_BF16, a);
    v_store(to, (V)(row % 2 ? (VBits)v_load(to) | half : half >> 16));
#else
    v_store(packed + row * width + j, a);
#endif
}

// Stores rows `row` and, for pairs, row + 1, which share a unit: one store takes the place of two
// and a load.
V_INLINE void put_unit(float *packed, int64_t row, int width, int j, V a, V b) {
#if V_PAIRS
    v_store(packed + row / 2 * width + j, v_pair(a, b));
#else
    (void)b;
    v_store(packed + row * width + j, a);
#endif
}

// Where V_LANES columns of PyTorch's rows, from `column` on, go.  Column c * taps + t is row t * C
// + c of a packed block; for pairs it is half of row (t * C + c) / 2.
static void list_rows(const SrConvWeights *w, int column, int64_t row[V_LANES]) {
    int c = column / w->taps, t = column % w->taps;
    for (int u = 0; u < V_LANES; u++) {
        row[u] = (int64_t)t * w->C + c;
        if (++t == w->taps) {
            t = 0;
            c++;
        }
    }
}

// Packs one tap: V_LANES output channels from end to end before the next ones, because rows whose
// distance is a power of two share few places in the first-level cache.
static void pack_points(const SrConvWeights *w, int k0, int columns, float *packed) {
    int width = (columns + V_LANES - 1) / V_LANES * V_LANES;
    for (int j = 0; j < width; j += V_LANES)
        for (int i = 0; i < w->C; i += V_LANES) {
            int n = clamp(w->C - i, 0, V_LANES);
            V r[V_LANES];
            V_FOR (u, V_LANES) {
                const float *from = w->w + (int64_t)(k0 + j + u) * w->C + i;
                __builtin_prefetch(from + AHEAD);
                r[u] = j + u < columns ? v_load_n(from, n) : v_zero();
            }
            v_transpose(r);
            for (int u = 0; u < n; u += DEPTH)
                put_unit(packed, i + u, width, j, r[u], r[u + DEPTH - 1]);
        }
}

// Squares of V_LANES output channels x V_LANES weights, transposed in registers: both sides are
// read and written in whole vectors.  The next rows are prefetched by hand, because the processor
// cannot follow so many streams.
static void pack_forward(const SrConvWeights *w, int k0, int columns, float *packed) {
    int length = w->C * w->taps, width = (columns + V_LANES - 1) / V_LANES * V_LANES;
    int64_t row[2][V_LANES]; // of the present columns and the next
    if (w->taps == 1) {
        pack_points(w, k0, columns, packed);
        return;
    }
    list_rows(w, 0, row[0]);
    for (int i = 0, now = 0; i < length; i += V_LANES, now = 1 - now) {
        int n = clamp(length - i, 0, V_LANES);
        list_rows(w, i + V_LANES, row[1 - now]);
        for (int j = 0; j < width; j += V_LANES) {
            V r[V_LANES];
            V_FOR (u, V_LANES) {
                const float *from = w->w + (int64_t)(k0 + j + u) * length + i;
                __builtin_prefetch(from + AHEAD);
                __builtin_prefetch(packed + row[1 - now][u] / DEPTH * width + j, 1);
                r[u] = j + u < columns ? v_load_n(from, n) : v_zero();
            }
            v_transpose(r);
            for (int u = 0; u < n; u++)
                put_weights(packed, row[now][u], width, j, r[u]);
        }
    }
}

// Packs the taps t to t + n - 1 of V_LANES input channels of one output channel: squares again, of
// (channel, tap).
V_INLINE void pack_taps(const SrConvWeights *w, const float *from, int columns, int k, int t, int n,
                        int width, int j, float *packed) {
    V r[V_LANES];
    V_FOR (u, V_LANES)
        r[u] = j + u < columns ? v_load_n(from + (int64_t)(j + u) * w->taps + t, n) : v_zero();
    v_transpose(r);
    for (int u = 0; u < n; u++)
        put_weights(packed, (int64_t)(t + u) * w->K + k, width, j, r[u]);
}

// Packs a row of the block from one output channel, whose weights lie taps apart.
static void pack_backward(const SrConvWeights *w, int c0, int columns, float *packed) {
    int width = (columns + V_LANES - 1) / V_LANES * V_LANES;
    for (int k = 0; k < w->K && w->taps == 1; k += DEPTH)
        for (int j = 0; j < width; j += V_LANES) {
            const float *from = w->w + (int64_t)k * w->C + c0 + j;
            int n = clamp(columns - j, 0, V_LANES);
            __builtin_prefetch(from + 4 * w->C);
            __builtin_prefetch(from + 5 * w->C);
            put_unit(packed, k, width, j, v_load_n(from, n),
                     v_load_n(from + (int64_t)(DEPTH - 1) * w->C, n));
        }
    for (int k = 0; k < w->K && w->taps > 1; k++) {
        const float *from = w->w + ((int64_t)k * w->C + c0) * w->taps;
        for (int j = 0; j < width; j += V_LANES) {
            for (int t = 0; t < w->taps; t++) // a vector of taps of the next output channel
                __builtin_prefetch(from + (int64_t)(w->C + j) * w->taps + t * V_LANES);
            for (int t = 0; t < w->taps; t += V_LANES)
                pack_taps(w, from, columns, k, t, clamp(w->taps - t, 0, V_LANES), width, j, packed);
        }
    }
}

// Finds where the sums of V_LANES columns of dw from `column` on lie in the first part, and
// prefetches them.  A row of dw meets as many rows of a part, each a cache line far from the
// others.
static void locate(const SrConvWeights *shape, const SrConvParts *from, int k0, int column,
                   const float *at[V_LANES]) {
    int c = column / shape->taps, t = column % shape->taps;
    for (int u = 0; u < V_LANES; u++) {
        at[u] = from->part + ((int64_t)t * shape->C + SR_MIN(c, shape->C - 1)) * from->width +
                k0 % BLOCK;
        for (int q = 0; q < from->parts; q++)
            __builtin_prefetch(at[u] + q * from->part_stride);
        if (++t == shape->taps) {
            t = 0;
            c++;
        }
    }
}

// Does pack_forward in reverse, and adds the parts in order on the way.
static void unpack(const SrConvWeights *shape, int k0, const SrConvParts *from, float *dw,
                   int64_t dw_stride) {
    int length = shape->C * shape->taps, rows_here = clamp(shape->K - k0, 0, V_LANES);
    const float *at[2][V_LANES]; // the present columns and the next
    locate(shape, from, k0, 0, at[0]);
    for (int i = 0, now = 0; i < length; i += V_LANES, now = 1 - now) {
        int n = clamp(length - i, 0, V_LANES);
        V r[V_LANES];
        locate(shape, from, k0, i + V_LANES, at[1 - now]);
        V_FOR (u, V_LANES) {
            r[u] = v_load(at[now][u]);
            for (int q = 1; q < from->parts; q++)
                r[u] = r[u] + v_load(at[now][u] + q * from->part_stride);
        }
        v_transpose(r);
        for (int u = 0; u < rows_here; u++) {
            float *to = dw + (k0 + u) * dw_stride + i;
            __builtin_prefetch(to + 2 * LINE, 1);
            v_store_n(to, v_load_n(to, n) + r[u], n);
        }
    }
}

static void join(const SrConvParts *from, int rows_here, int columns, float *dw,
                 int64_t dw_stride) {
    for (int i = 0; i < rows_here; i++) {
        const float *part = from->part + (int64_t)i * from->width;
        float *to = dw + i * dw_stride;
        for (int j = 0; j < columns; j += V_LANES) {
            int n = clamp(columns - j, 0, V_LANES);
            V sum = v_load(part + j);
            for (int q = 1; q < from->parts; q++)
                sum = sum + v_load(part + q * from->part_stride + j);
            v_store_n(to + j, v_load_n(to + j, n) + sum, n);
        }
    }
}

#endif
