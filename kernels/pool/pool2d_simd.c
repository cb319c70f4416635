// Vector loops of pooling, compiled once per instruction set (pool2d_windows.h).  They take a few
// vectors of channels at a time, whose running maxima, places and sums stay in registers.
#include <string.h>

#include "kernels/core/simd.h"
#include "kernels/pool/pool2d_windows.h"

enum { STRIP = 4 }; // vectors of channels taken together

typedef int32_t Lanes __attribute__((vector_size(sizeof(V))));
typedef uint16_t Places __attribute__((vector_size(sizeof(V) / 2)));

// Calls strip(..., from, n, m) over all C channels: STRIP vectors at a time where `wide`, then
// single ones, then the rest.
#define EACH_STRIP(wide, C, strip, ...)                                    \
    do {                                                                   \
        int c = 0;                                                         \
        for (; (wide) && c + STRIP * V_LANES <= (C); c += STRIP * V_LANES) \
            strip(__VA_ARGS__, c, STRIP, V_LANES);                         \
        for (; c + V_LANES <= (C); c += V_LANES)                           \
            strip(__VA_ARGS__, c, 1, V_LANES);                             \
        if (c < (C))                                                       \
            strip(__VA_ARGS__, c, 1, (C)-c);                               \
    } while (0)

V_INLINE Lanes choose(Lanes which, Lanes a, Lanes b) { return (which & a) | (~which & b); }

// Finds the maxima of one window in `n` vectors of channels from `from` on, the last m numbers
// wide.  NaN wins and then stays.
V_INLINE void window_strip(SrDtype type, void *y, uint16_t *where, const void *x, int rows,
                           int cols, int64_t stride, int C, int first, int step, int from, int n,
                           int m) {
    V best[STRIP];
    Lanes place[STRIP];
    V_FOR (i, n) {
        best[i] = v_get(type, x, from + i * V_LANES, m);
        place[i] = (Lanes){0} + first;
    }
    for (int r = 0; r < rows; r++)
        for (int s = 0; s < cols; s++) {
            int64_t pixel = from + r * stride + (int64_t)s * C;
            Lanes here = (Lanes){0} + (first + r * step + s);
            V_FOR (i, n) {
                V v = v_get(type, x, pixel + i * V_LANES, m);
                Lanes better = (Lanes)(v > best[i]) | (Lanes)(v != v);
                best[i] = (V)choose(better, (Lanes)v, (Lanes)best[i]);
                place[i] = choose(better, here, place[i]);
            }
        }
    V_FOR (i, n) {
        Places places = __builtin_convertvector(place[i], Places);
        memcpy(where + from + i * V_LANES, &places, (size_t)m * sizeof *where);
        v_put(type, y, from + i * V_LANES, best[i], m);
    }
}

V_INLINE void window_any(SrDtype type, void *y, uint16_t *where, const void *x, int rows, int cols,
                         int64_t stride, int C, int first, int step) {
    EACH_STRIP(true, C, window_strip, type, y, where, x, rows, cols, stride, C, first, step);
}

static void max_window(SrDtype type, void *y, uint16_t *where, const void *x, int rows, int cols,
                       int64_t stride, int C, int first, int step) {
    if (type == SR_BF16)
        window_any(SR_BF16, y, where, x, rows, cols, stride, C, first, step);
    else
        window_any(SR_F32, y, where, x, rows, cols, stride, C, first, step);
}

// Returns value where the maximum was at `place`, else 0, in the first m lanes; value is 0 in the
// others.
V_INLINE V given(const uint16_t *where, int place, V value, int m) {
    Places places = {0};
    memcpy(&places, where, (size_t)m * sizeof *where);
    return (V)((Lanes)value & (Lanes)(__builtin_convertvector(places, Lanes) == place));
}

V_INLINE void take_strip(SrDtype type, void *dx, const SrPoolWindow *windows, int count, bool add,
                         int from, int n, int m) {
    V sum[STRIP];
    V_FOR (i, n)
        sum[i] = add ? v_get(type, dx, from + i * V_LANES, m) : v_zero();
    for (const SrPoolWindow *w = windows; w < windows + count; w++)
        V_FOR (i, n) {
            int c = from + i * V_LANES;
            sum[i] = sum[i] + given(w->where + c, w->place, v_get(type, w->dy, c, m), m);
        }
    V_FOR (i, n)
        v_put(type, dx, from + i * V_LANES, sum[i], m);
}

V_INLINE void take_any(SrDtype type, void *dx, const SrPoolWindow *windows, int n, bool add,
                       int C) {
    // With floats a strip fills the lines of four windows at once and is slower: 6.7 instead of 5.4
    // ms for a ResNet's map.
    EACH_STRIP(type == SR_BF16, C, take_strip, type, dx, windows, n, add);
}

static void max_take(SrDtype type, void *dx, const SrPoolWindow *windows, int n, bool add, int C) {
    type == SR_BF16 ? take_any(SR_BF16, dx, windows, n, add, C)
                    : take_any(SR_F32, dx, windows, n, add, C);
}

// Sums and weights the rows one after the other, for `n` vectors of channels from `from` on, the
// last m numbers wide.
V_INLINE void mean_strip(SrDtype to, void *y, SrDtype type, const void *x, int rows, int cols,
                         int64_t stride, int C, float factor, int from, int n, int m) {
    V total[STRIP], sum[STRIP];
    V_FOR (i, n)
        total[i] = v_zero();
    for (int r = 0; r < rows; r++) {
        V_FOR (i, n)
            sum[i] = v_zero();
        for (int s = 0; s < cols; s++)
            V_FOR (i, n)
                sum[i] += v_get(type, x, r * stride + (int64_t)s * C + from + i * V_LANES, m);
        V_FOR (i, n)
            total[i] = sum[i] * v_set1(factor) + total[i];
    }
    V_FOR (i, n)
        v_put(to, y, from + i * V_LANES, total[i], m);
}

V_INLINE void mean_any(SrDtype to, void *y, SrDtype type, const void *x, int rows, int cols,
                       int64_t stride, int C, float factor) {
    EACH_STRIP(true, C, mean_strip, to, y, type, x, rows, cols, stride, C, factor);
}

// Calls f with constants for two types.
#define EACH_TYPES(f, a, x, b, ...)                                         \
    ((a) == SR_BF16 ? ((b) == SR_BF16 ? f(SR_BF16, x, SR_BF16, __VA_ARGS__) \
                                      : f(SR_BF16, x, SR_F32, __VA_ARGS__)) \
                    : ((b) == SR_BF16 ? f(SR_F32, x, SR_BF16, __VA_ARGS__)  \
                                      : f(SR_F32, x, SR_F32, __VA_ARGS__)))

static void mean_window(SrDtype to, void *y, SrDtype type, const void *x, int rows, int cols,
                        int64_t stride, int C, float factor) {
    EACH_TYPES(mean_any, to, y, type, x, rows, cols, stride, C, factor);
}

V_INLINE void share_any(SrDtype to, void *dx, SrDtype type, const SrPoolShare *windows, int n,
                        bool add, int C) {
    for (int c = 0; c < C; c += V_LANES) {
        int m = C - c < V_LANES ? C - c : V_LANES;
        V sum = add ? v_get(to, dx, c, m) : v_zero();
        for (int k = 0; k < n; k++)
            sum = v_fma(v_set1(windows[k].factor), v_get(type, windows[k].dy, c, m), sum);
        v_put(to, dx, c, sum, m);
    }
}

static void mean_take(SrDtype to, void *dx, SrDtype type, const SrPoolShare *windows, int n,
                      bool add, int C) {
    EACH_TYPES(share_any, to, dx, type, windows, n, add, C);
}

const SrPoolKernels SR_ISA_SYMBOL(sr__pool_kernels) = {max_window, max_take, mean_window,
                                                       mean_take};
