// The vector loops of max pooling, see pool2d.h: plain C that compilers vectorise, 64 channels at a
// time so that the running maximum and its place stay in registers or the nearest cache.
#include "kernels/pool2d.h"

#include "kernels/simd.h"

enum { WIDTH = 64 };

// width channels of one window.  `|` and `!=` instead of branches: the loop over c must become
// vectors, and NaN must win and then stay.
V_INLINE void window_strip(float *y, uint16_t *where, const float *x, int rows, int cols,
                           int64_t stride, int C, int first, int step, int width) {
    float best[WIDTH];
    int32_t place[WIDTH];
    for (int c = 0; c < width; c++) {
        best[c] = x[c];
        place[c] = first;
    }
    for (int r = 0; r < rows; r++)
        for (int s = 0; s < cols; s++) {
            const float *pixel = x + r * stride + (int64_t)s * C;
            int32_t here = first + r * step + s;
            for (int c = 0; c < width; c++) {
                float v = pixel[c];
                int better = (v > best[c]) | (v != v);
                best[c] = better ? v : best[c];
                place[c] = better ? here : place[c];
            }
        }
    for (int c = 0; c < width; c++) {
        y[c] = best[c];
        where[c] = (uint16_t)place[c];
    }
}

static void max_window(float *y, uint16_t *where, const float *x, int rows, int cols,
                       int64_t stride, int C, int first, int step) {
    int c = 0;
    for (; c + WIDTH <= C; c += WIDTH)
        window_strip(y + c, where + c, x + c, rows, cols, stride, C, first, step, WIDTH);
    if (c < C)
        window_strip(y + c, where + c, x + c, rows, cols, stride, C, first, step, C - c);
}

static void max_give(float *restrict dx, const float *restrict dy, const uint16_t *restrict where,
                     int place, int C) {
    for (int c = 0; c < C; c++)
        dx[c] += where[c] == place ? dy[c] : 0;
}

const SrPoolKernels SR_ISA_SYMBOL(sr__pool_kernels) = {max_window, max_give};
