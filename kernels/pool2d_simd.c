// The vector loops of pooling, see pool2d_windows.h: plain C that compilers vectorise, 64 channels at a
// time so that the running maximum and its place stay in registers or the nearest cache.
#include "kernels/pool2d_windows.h"

#include "kernels/simd.h"

enum { WIDTH = 64 };

// Number i, without a branch at run time: `type` is a constant.
V_INLINE float number(SrDtype type, const void *p, int64_t i) {
    return type == SR_BF16 ? sr_bf16_float(((const SrBf16 *)p)[i]) : ((const float *)p)[i];
}

// Channels [from, from + width) of one window.  `|` and `!=` instead of branches: the loop over c
// must become vectors, and NaN must win and then stay.
V_INLINE void window_strip(SrDtype type, void *y, uint16_t *where, const void *x, int rows,
                           int cols, int64_t stride, int C, int first, int step, int from,
                           int width) {
    float best[WIDTH];
    int32_t place[WIDTH];
    for (int c = 0; c < width; c++) {
        best[c] = number(type, x, from + c);
        place[c] = first;
    }
    for (int r = 0; r < rows; r++)
        for (int s = 0; s < cols; s++) {
            int64_t pixel = from + r * stride + (int64_t)s * C;
            int32_t here = first + r * step + s;
            for (int c = 0; c < width; c++) {
                float v = number(type, x, pixel + c);
                int better = (v > best[c]) | (v != v);
                best[c] = better ? v : best[c];
                place[c] = better ? here : place[c];
            }
        }
    for (int c = 0; c < width; c++)
        where[from + c] = (uint16_t)place[c];
    for (int c = 0; c < width; c += V_LANES) {
        int m = width - c < V_LANES ? width - c : V_LANES;
        v_put(type, y, from + c, v_load_n(best + c, m), m);
    }
}

V_INLINE void window_any(SrDtype type, void *y, uint16_t *where, const void *x, int rows, int cols,
                         int64_t stride, int C, int first, int step) {
    int c = 0;
    for (; c + WIDTH <= C; c += WIDTH)
        window_strip(type, y, where, x, rows, cols, stride, C, first, step, c, WIDTH);
    if (c < C)
        window_strip(type, y, where, x, rows, cols, stride, C, first, step, c, C - c);
}

static void max_window(SrDtype type, void *y, uint16_t *where, const void *x, int rows, int cols,
                       int64_t stride, int C, int first, int step) {
    if (type == SR_BF16)
        window_any(SR_BF16, y, where, x, rows, cols, stride, C, first, step);
    else
        window_any(SR_F32, y, where, x, rows, cols, stride, C, first, step);
}

typedef int32_t Lanes __attribute__((vector_size(sizeof(V))));

// value where the maximum was at `place`, else 0; of the first m lanes.
V_INLINE V given(const uint16_t *where, int place, V value, int m) {
    Lanes here = {0};
    if (m == V_LANES)
        for (int i = 0; i < V_LANES; i++)
            here[i] = where[i] == place ? -1 : 0;
    else
        for (int i = 0; i < m; i++)
            here[i] = where[i] == place ? -1 : 0;
    return (V)((Lanes)value & here);
}

V_INLINE void take_any(SrDtype type, void *dx, const SrPoolWindow *windows, int n, bool add,
                       int C) {
    for (int c = 0; c < C; c += V_LANES) {
        int m = C - c < V_LANES ? C - c : V_LANES;
        V sum = add ? v_get(type, dx, c, m) : v_zero();
        for (int k = 0; k < n; k++)
            sum = sum + given(windows[k].where + c, windows[k].place,
                              v_get(type, windows[k].dy, c, m), m);
        v_put(type, dx, c, sum, m);
    }
}

static void max_take(SrDtype type, void *dx, const SrPoolWindow *windows, int n, bool add, int C) {
    type == SR_BF16 ? take_any(SR_BF16, dx, windows, n, add, C)
                    : take_any(SR_F32, dx, windows, n, add, C);
}

enum { SUMS = 4 }; // vectors of channels that are summed together

// `n` vectors of channels from `from` on, the last m numbers wide: rows are summed and weighed one after the other.
V_INLINE void mean_strip(SrDtype to, void *y, SrDtype type, const void *x, int rows, int cols,
                         int64_t stride, int C, float factor, int from, int n, int m) {
    V total[SUMS], sum[SUMS];
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
    int c = 0;
    for (; c + SUMS * V_LANES <= C; c += SUMS * V_LANES)
        mean_strip(to, y, type, x, rows, cols, stride, C, factor, c, SUMS, V_LANES);
    for (; c + V_LANES <= C; c += V_LANES)
        mean_strip(to, y, type, x, rows, cols, stride, C, factor, c, 1, V_LANES);
    if (c < C)
        mean_strip(to, y, type, x, rows, cols, stride, C, factor, c, 1, C - c);
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
