// Winograd's products of blocks narrower than a full one, all points in one call (SrConvPoints).
#include "base/compiler.h"
#include "kernels/conv/conv_kernels.h"
#include "kernels/core/simd.h"

enum { ROWS = 8, LINE = 16 };

// Multiplies one channel of M rows, x_row floats apart, by NV vectors of columns.
V_INLINE void points_step(int M, int NV, const float *x, int64_t x_row, const float *w,
                          V acc[ROWS][SR_CONV_VECTORS]) {
    V b[SR_CONV_VECTORS];
    V_FOR (j, NV)
        b[j] = v_load(w + j * V_LANES);
    V_FOR (m, M) {
        V a = v_scalar(x[m * x_row]);
        V_FOR (j, NV)
            acc[m][j] = v_fma_by(a, b[j], acc[m][j]);
    }
}

// Computes M rows of one point.  It is inlined: a product of 16 channels and 16 columns takes no
// longer than a call.
V_INLINE void points_rows(int M, int NV, const SrConvPoints *p, const float *x, const float *w,
                          float *out, const float *const *later) {
    V acc[ROWS][SR_CONV_VECTORS];
    int width = NV * V_LANES, c = 0;
    V_FOR (m, M)
        V_FOR (j, NV)
            acc[m][j] = v_zero();
    for (; c + 2 <= p->channels; c += 2, w += 2 * width) {
        __builtin_prefetch(later[c / 2 % SR_CONV_FETCH] + c / LINE * LINE);
        points_step(M, NV, x + c, p->in_row, w, acc);
        points_step(M, NV, x + c + 1, p->in_row, w + width, acc);
    }
    if (c < p->channels)
        points_step(M, NV, x + c, p->in_row, w, acc);
    V_FOR (m, M)
        V_FOR (j, NV)
            v_store(out + m * width + j * V_LANES, acc[m][j]);
}

V_INLINE void points_any(int NV, const SrConvPoints *p) {
    int width = NV * V_LANES, later = 0;
    for (int xi = 0; xi < p->points; xi++) {
        const float *x = p->in + xi * p->in_point, *w = p->w + (int64_t)xi * p->channels * width;
        float *out = p->out + xi * p->out_point;
        int i = 0;
        for (; i + ROWS <= p->rows; i += ROWS, later += SR_CONV_FETCH)
            points_rows(ROWS, NV, p, x + i * p->in_row, w, out + i * width,
                        p->later + SR_MIN(later, p->laters));
        for (; i < p->rows; i++)
            points_rows(1, NV, p, x + i * p->in_row, w, out + i * width, p->later + p->laters);
    }
}

static void points(const SrConvPoints *p) {
    switch (p->width / V_LANES) {
    case 1: points_any(1, p); break;
#if SR_CONV_VECTORS == 4
    case 2: points_any(2, p); break;
    default: points_any(3, p);
#endif
    }
}

const SrConvPointsKernels SR_ISA_SYMBOL(sr__conv_points) = {points};
