// Depthwise convolution, a vector of channels at a time; what each loop does is said in conv_depthwise.h.
//
// A run of outputs side by side stays in registers while each input column is read once and multiplied by every
// column of the kernel that meets it, so that the multiplier and not the cache is what there is to wait for.  S and
// stride are constants wherever these loops are inlined.
#include "kernels/conv/conv_depthwise.h"

#include "base/compiler.h"
#include "kernels/simd.h"

enum {
    RUN = SR_DEPTHWISE_RUN,
    SPREAD = 8,               // outputs of spread, an even number
    SPAN = (RUN - 1) * 2 + 7, // most input columns of a run
};

V_INLINE V get(const float *p, int64_t i, int n) { return v_get(SR_F32, p, i, n); }
V_INLINE void put(float *p, int64_t i, V a, int n) { v_put(SR_F32, p, i, a, n); }

// The columns a run reads: by distance where all lie inside the row, else one by one, zeros outside.
typedef struct {
    const float *first; // of column 0 of the run
    const float *at[SPAN];
} Columns;

V_INLINE V column(const Columns *x, bool inside, int j, int C, int c, int m) {
    return inside ? get(x->first, (int64_t)j * C + c, m) : get(x->at[j], c, m);
}

// n columns from number `from` of a row (columns, C) on, at most `columns` of which exist.
static void find_columns(Columns *x, const float *row, int columns, int C, const float *zeros,
                         int from, int n) {
    for (int j = 0; j < n; j++)
        x->at[j] = from + j >= 0 && from + j < columns ? row + (int64_t)(from + j) * C : zeros;
}

// ---- gather

V_INLINE void gather_run(const SrDepthwiseRow *row, int S, int stride, bool inside,
                         const Columns *x, int c, int m, float *out, int count, bool add) {
    V acc[RUN];
    V_FOR (q, RUN)
        acc[q] = v_zero();
    for (int r = 0; r < row->rows; r++) {
        V w[7];
        V_FOR (s, S)
            w[s] = get(row->w[r], (int64_t)s * row->C + c, m);
        V_FOR (j, (RUN - 1) * stride + S) {
            V v = column(&x[r], inside, j, row->C, c, m);
            V_FOR (q, RUN)
                if (j - q * stride >= 0 && j - q * stride < S)
                    acc[q] = v_fma(v, w[j - q * stride], acc[q]);
        }
    }
    V_FOR (q, RUN) {
        if (q >= count)
            break;
        int64_t at = (int64_t)q * row->C + c;
        V v = add ? get(out, at, m) : v_zero();
        put(out, at, v + acc[q], m);
    }
}

V_INLINE void gather_row(const SrDepthwiseRow *row, int S, int stride, float *out, bool add) {
    int C = row->C, span = (RUN - 1) * stride + S, whole = C / V_LANES * V_LANES;
    Columns x[SR_DEPTHWISE_ROWS];
    for (int q = 0; q < row->out_columns; q += RUN, out += (int64_t)RUN * C) {
        int from = q * stride - row->pad, count = SR_MIN(RUN, row->out_columns - q), c = 0;
        bool inside = from >= 0 && from + span <= row->in_columns && count == RUN;
        for (int r = 0; r < row->rows; r++) {
            x[r].first = row->in[r] + (inside ? (int64_t)from * C : 0);
            if (!inside || whole < C)
                find_columns(&x[r], row->in[r], row->in_columns, C, row->zeros, from, span);
        }
        if (inside)
            for (; c < whole; c += V_LANES)
                gather_run(row, S, stride, true, x, c, V_LANES, out, RUN, add);
        for (; c < whole; c += V_LANES)
            gather_run(row, S, stride, false, x, c, V_LANES, out, count, add);
        if (c < C)
            gather_run(row, S, stride, false, x, c, C - c, out, count, add);
    }
}

// ---- spread, always at stride 2

// Output columns `from` and up, which lie at an even distance from the kernel's first; x are the (SPREAD + S - 1) / 2
// input columns that reach them.
V_INLINE void spread_run(const SrDepthwiseRow *row, int S, const Columns *x, int c, int m,
                         float *out, int from, bool add) {
    V acc[SPREAD];
    V_FOR (q, SPREAD)
        acc[q] = v_zero();
    for (int r = 0; r < row->rows; r++) {
        V w[7];
        V_FOR (s, S)
            w[s] = get(row->w[r], (int64_t)s * row->C + c, m);
        V_FOR (j, (SPREAD + S - 1) / 2) {
            V v = column(&x[r], false, j, row->C, c, m);
            V_FOR (s, S)
                if (2 * j - (S - 1) + s >= 0 && 2 * j - (S - 1) + s < SPREAD)
                    acc[2 * j - (S - 1) + s] = v_fma(v, w[s], acc[2 * j - (S - 1) + s]);
        }
    }
    V_FOR (q, SPREAD) {
        if (from + q < 0 || from + q >= row->out_columns)
            continue;
        int64_t at = (int64_t)(from + q) * row->C + c;
        V v = add ? get(out, at, m) : v_zero();
        put(out, at, v + acc[q], m);
    }
}

V_INLINE void spread_row(const SrDepthwiseRow *row, int S, float *out, bool add) {
    int C = row->C;
    Columns x[SR_DEPTHWISE_ROWS];
    for (int from = -(row->pad & 1); from < row->out_columns; from += SPREAD) {
        int c = 0, first = (from + row->pad - (S - 1)) / 2; // exact: both even
        for (int r = 0; r < row->rows; r++)
            find_columns(&x[r], row->in[r], row->in_columns, C, row->zeros, first,
                         (SPREAD + S - 1) / 2);
        for (; c + V_LANES <= C; c += V_LANES)
            spread_run(row, S, x, c, V_LANES, out, from, add);
        if (c < C)
            spread_run(row, S, x, c, C - c, out, from, add);
    }
}

// ---- weights

V_INLINE void weights_run(int S, int stride, bool inside, const Columns *x, const Columns *dy,
                          int C, int c, int m, V *acc) {
    V d[RUN];
    V_FOR (q, RUN)
        d[q] = column(dy, inside, q, C, c, m);
    V_FOR (j, (RUN - 1) * stride + S) {
        V v = column(x, inside, j, C, c, m);
        V_FOR (q, RUN)
            if (j - q * stride >= 0 && j - q * stride < S)
                acc[j - q * stride] = v_fma(v, d[q], acc[j - q * stride]);
    }
}

// Channels c .. c + m - 1 along the row.
V_INLINE void weights_chunk(const SrDepthwiseRow *row, int S, int stride, int i, const float *dy,
                            int c, int m, float *dw) {
    int C = row->C, span = (RUN - 1) * stride + S;
    Columns x, d;
    V acc[7];
    V_FOR (s, S)
        acc[s] = get(dw, (int64_t)s * C + c, m);
    for (int q = 0; q < row->out_columns; q += RUN) {
        int from = q * stride - row->pad;
        bool inside = from >= 0 && from + span <= row->in_columns && q + RUN <= row->out_columns;
        if (inside && m == V_LANES) {
            x.first = row->in[i] + (int64_t)from * C;
            d.first = dy + (int64_t)q * C;
            weights_run(S, stride, true, &x, &d, C, c, m, acc);
        } else {
            find_columns(&x, row->in[i], row->in_columns, C, row->zeros, from, span);
            find_columns(&d, dy, row->out_columns, C, row->zeros, q, RUN);
            weights_run(S, stride, false, &x, &d, C, c, m, acc);
        }
    }
    V_FOR (s, S)
        put(dw, (int64_t)s * C + c, acc[s], m);
}

V_INLINE void weights_row(const SrDepthwiseRow *row, int S, int stride, int i, const float *dy,
                          float *dw) {
    int c = 0;
    for (; c + V_LANES <= row->C; c += V_LANES)
        weights_chunk(row, S, stride, i, dy, c, V_LANES, dw);
    if (c < row->C)
        weights_chunk(row, S, stride, i, dy, c, row->C - c, dw);
}

// ---- one function each width and stride

#define EACH_SHAPE(call)                                                      \
    do {                                                                      \
        if (row->stride == 1) {                                               \
            row->S == 3 ? call(3, 1) : row->S == 5 ? call(5, 1) : call(7, 1); \
        } else {                                                              \
            row->S == 3 ? call(3, 2) : row->S == 5 ? call(5, 2) : call(7, 2); \
        }                                                                     \
    } while (0)

#define GATHER(S, stride) gather_row(row, S, stride, out, add)
static void gather(const SrDepthwiseRow *row, float *out, bool add) { EACH_SHAPE(GATHER); }

static void spread(const SrDepthwiseRow *row, float *out, bool add) {
    row->S == 3   ? spread_row(row, 3, out, add)
    : row->S == 5 ? spread_row(row, 5, out, add)
                  : spread_row(row, 7, out, add);
}

#define WEIGHTS(S, stride) weights_row(row, S, stride, i, dy, dw)
static void weights(const SrDepthwiseRow *row, int i, const float *dy, float *dw) {
    EACH_SHAPE(WEIGHTS);
}

// ---- sums

static void sums(const float *y, int columns, int C, float *to, bool begin) {
    for (int c = 0; c < C; c += V_LANES) {
        int m = SR_MIN(V_LANES, C - c);
        V shift = v_load_n((begin ? y : to) + c, m);
        V sum = begin ? v_zero() : v_load_n(to + C + c, m);
        V square = begin ? v_zero() : v_load_n(to + 2 * C + c, m);
        for (int q = 0; q < columns; q++) {
            V v = v_load_n(y + (int64_t)q * C + c, m) - shift;
            sum = sum + v;
            square = v_fma(v, v, square);
        }
        v_store_n(to + c, shift, m);
        v_store_n(to + C + c, sum, m);
        v_store_n(to + 2 * C + c, square, m);
    }
}

const SrDepthwiseKernels SR_ISA_SYMBOL(sr__depthwise_kernels) = {
    .gather = gather,
    .spread = spread,
    .weights = weights,
    .sums = sums,
};
