// The vector loops of max pooling, see pool2d_windows.h: plain C that compilers vectorise, 64 channels at a
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

V_INLINE void give_any(SrDtype type, void *dx, const void *dy, const uint16_t *where, int place,
                       int C) {
    for (int c = 0; c < C; c += V_LANES) {
        int m = C - c < V_LANES ? C - c : V_LANES;
        float here[V_LANES] = {0};
        for (int i = 0; i < m; i++)
            here[i] = where[c + i] == place ? 1.0f : 0.0f;
        V given = v_where_positive(v_load(here), v_get(type, dy, c, m));
        v_put(type, dx, c, v_get(type, dx, c, m) + given, m);
    }
}

static void max_give(SrDtype type, void *dx, const void *dy, const uint16_t *where, int place,
                     int C) {
    type == SR_BF16 ? give_any(SR_BF16, dx, dy, where, place, C)
                    : give_any(SR_F32, dx, dy, where, place, C);
}

const SrPoolKernels SR_ISA_SYMBOL(sr__pool_kernels) = {max_window, max_give};
