// Vector loops of normed_depthwise, compiled once per instruction set (normed_depthwise_rows.h).
// Sums add 128 columns in single precision and then join a sum in double.
#include "kernels/conv/normed_depthwise_rows.h"

#include "base/compiler.h"
#include "kernels/norm/batch_norm_values.h"

// Sums of a strip of channels, in the first-level cache.
typedef struct {
    float g[SR_BN_STRIP], gx[SR_BN_STRIP];
} Sums;

// Computes channels c .. c + m - 1, number i of the strip, of the column at element `at`.
V_INLINE void back_lanes(const SrNormedRow *r, SrBatchNormActivation f, int64_t at, int c, int i,
                         Sums *s, int m) {
    V d = load(r->x + at + c, m) - load(r->k.mean + c, m);
    V v = v_fma(d, load(r->k.a + c, m), load(r->k.b + c, m));
    V g = load(r->du + at + c, m);
    if (f != SR_BN_LINEAR)
        g = g * slope_of(f, v);
    store(r->u + at + c, f == SR_BN_LINEAR ? v : value_of(f, v), m);
    if (r->g && r->stream)
        v_stream(r->g + at + c, g);
    else if (r->g)
        store(r->g + at + c, g, m);
    store(s->g + i, load(s->g + i, m) + g, m);
    store(s->gx + i, v_fma(g, d, load(s->gx + i, m)), m);
}

// Computes channels [c0, c0 + width).
V_INLINE void back_strip(const SrNormedRow *r, SrBatchNormActivation f, int c0, int width) {
    Sums s = {{0}, {0}};
    for (int first = 0; first < r->columns; first += BLOCK) {
        for (int q = first; q < SR_MIN(r->columns, first + BLOCK); q++) {
            int64_t at = (int64_t)q * r->C;
            int i = 0;
            for (; i + V_LANES <= width; i += V_LANES)
                back_lanes(r, f, at, c0 + i, i, &s, V_LANES);
            if (i < width)
                back_lanes(r, f, at, c0 + i, i, &s, width - i);
        }
        flush(r->sum_g + c0, s.g, width);
        flush(r->sum_gx + c0, s.gx, width);
    }
}

V_INLINE void back_any(const SrNormedRow *r, SrBatchNormActivation f) {
    for (int c = 0; c < r->C; c += SR_BN_STRIP)
        back_strip(r, f, c, SR_MIN(r->C - c, SR_BN_STRIP));
}

static void back(const SrNormedRow *row) {
#define BACK(f) back_any(row, f)
    if (row->f == SR_BN_LINEAR)
        BACK(SR_BN_LINEAR);
    else
        WITH_ACTIVATION(row->f, BACK);
    if (row->stream)
        v_stream_end();
}

const SrNormedRowKernels SR_ISA_SYMBOL(sr__normed_rows) = {.back = back};
