// Loops for convolutions in groups of few channels, a vector of channels at a time; conv_grouped.h
// specifies each loop.
//
// A run of outputs side by side stays in registers.  Each input column is read once (and its
// group's channel picked) and multiplied by every kernel column that meets it.  The multiplier is
// then the bottleneck, not the cache.  S and stride are constants wherever these loops are inlined,
// and so is own where it is 1.
#include "kernels/conv/conv_grouped.h"

#include "base/compiler.h"
#include "kernels/core/simd.h"

enum {
    RUN = SR_GROUPED_RUN,
    SPREAD = 8,               // outputs of spread; even
    SPAN = (RUN - 1) * 2 + 7, // input columns of a run at most
    MOST_SUMS = 12,           // sums of a weight's columns and a group's channels, in registers
};

V_INLINE V get(const float *p, int64_t i, int n) { return v_get(SR_F32, p, i, n); }
V_INLINE void put(float *p, int64_t i, V a, int n) { v_put(SR_F32, p, i, a, n); }

// Picks channel g of each lane's group.
V_INLINE V pick(const SrGroupedRow *row, int own, V v, int g) {
    return own == 1 ? v : v_pick(v, row->lane_from, g);
}

// Columns that a run reads: by distance where all lie inside the row; else one by one, zeros
// outside.
typedef struct {
    const float *first; // column 0 of the run
    const float *at[SPAN];
} Columns;

V_INLINE V column(const Columns *x, bool inside, int j, int C, int c, int m) {
    return inside ? get(x->first, (int64_t)j * C + c, m) : get(x->at[j], c, m);
}

// Returns n columns from number `from` on of a row (columns, C), of which at most `columns` exist.
static void find_columns(Columns *x, const float *row, int columns, int C, const float *zeros,
                         int from, int n) {
    for (int j = 0; j < n; j++)
        x->at[j] = from + j >= 0 && from + j < columns ? row + (int64_t)(from + j) * C : zeros;
}

// Writes m channels of one column, at element `at` of out.
V_INLINE void give(const SrGroupedOut *out, int64_t at, V sum, int m) {
    if (out->stream)
        v_stream(out->to + at, sum);
    else
        put(out->to, at, (out->add ? get(out->to, at, m) : v_zero()) + sum, m);
}

// ---- what is read after the row

enum { LINE = 64 }; // bytes of a cache line

typedef struct {
    const char *at;
    int64_t left, step; // bytes, all and for each vector of a run
} Fetch;

// A row has `runs` runs of outputs.
static void fetch_begin(Fetch *f, const SrGroupedRow *row, const SrGroupedOut *out, int runs) {
    int64_t vectors = (int64_t)runs * ((row->C + V_LANES - 1) / V_LANES);
    for (int i = 0; i < SR_GROUPED_AHEAD; i++) {
        int64_t bytes = out->ahead[i].bytes;
        f[i] = (Fetch){out->ahead[i].from, bytes, (bytes / LINE + vectors) / vectors * LINE};
    }
}

// Fetches a few lines; many at once would wait for each other.
V_INLINE void fetch(Fetch *f) {
    V_FOR (i, SR_GROUPED_AHEAD)
        for (int64_t end = f[i].left - f[i].step; f[i].left > SR_MAX(0, end); f[i].left -= LINE) {
            __builtin_prefetch(f[i].at, 0, 2);
            f[i].at += LINE;
        }
}

// ---- gather

// Adds channels c .. of `count` columns to the unit's sums.
V_INLINE void add_sums(const SrGroupedOut *out, int C, int c, int m, const V *value, int count,
                       bool begin) {
    float *at = out->sums + c;
    V shift = begin ? value[0] : get(at, 0, m);
    V sum = begin ? v_zero() : get(at, C, m);
    V square = begin ? v_zero() : get(at, 2 * (int64_t)C, m);
    V_FOR (q, RUN) {
        if (q >= count)
            break;
        V v = value[q] - shift;
        sum = sum + v;
        square = v_fma(v, v, square);
    }
    put(at, 0, shift, m);
    put(at, C, sum, m);
    put(at, 2 * (int64_t)C, square, m);
}

// Computes channels c .. of `count` columns from number q0 on.
V_INLINE void gather_run(const SrGroupedRow *row, int S, int stride, int own, bool inside,
                         const Columns *x, int c, int m, const SrGroupedOut *out, int q0,
                         int count) {
    V acc[RUN];
    V_FOR (q, RUN)
        acc[q] = v_zero();
    for (int r = 0; r < row->rows; r++)
        for (int g = 0; g < own; g++) {
            V w[7];
            V_FOR (s, S)
                w[s] = get(row->w[r], ((int64_t)s * own + g) * row->C + c, m);
            V_FOR (j, (RUN - 1) * stride + S) {
                V v = pick(row, own, column(&x[r], inside, j, row->C, c, m), g);
                V_FOR (q, RUN)
                    if (j - q * stride >= 0 && j - q * stride < S)
                        acc[q] = v_fma(v, w[j - q * stride], acc[q]);
            }
        }
    V_FOR (q, RUN) {
        if (q >= count)
            break;
        give(out, (int64_t)(q0 + q) * row->C + c, acc[q], m);
    }
    if (out->sums)
        add_sums(out, row->C, c, m, acc, count, out->begin && q0 == 0);
}

V_INLINE void gather_row(const SrGroupedRow *row, int S, int stride, int own,
                         const SrGroupedOut *out) {
    int C = row->C, span = (RUN - 1) * stride + S, whole = C / V_LANES * V_LANES;
    Columns x[SR_GROUPED_ROWS];
    Fetch f[SR_GROUPED_AHEAD];
    fetch_begin(f, row, out, (row->out_columns + RUN - 1) / RUN);
    for (int q = 0; q < row->out_columns; q += RUN) {
        int from = q * stride - row->pad, count = SR_MIN(RUN, row->out_columns - q), c = 0;
        bool inside = from >= 0 && from + span <= row->in_columns && count == RUN;
        for (int r = 0; r < row->rows; r++) {
            x[r].first = row->in[r] + (inside ? (int64_t)from * C : 0);
            if (!inside || whole < C)
                find_columns(&x[r], row->in[r], row->in_columns, C, row->zeros, from, span);
        }
        if (inside)
            for (; c < whole; c += V_LANES, fetch(f))
                gather_run(row, S, stride, own, true, x, c, V_LANES, out, q, RUN);
        for (; c < whole; c += V_LANES, fetch(f))
            gather_run(row, S, stride, own, false, x, c, V_LANES, out, q, count);
        if (c < C) {
            gather_run(row, S, stride, own, false, x, c, C - c, out, q, count);
            fetch(f);
        }
    }
    if (out->stream)
        v_stream_end();
}

// ---- spread, always at stride 2

// Computes output columns from `from` on, at an even distance from the kernel's first column.  x
// holds the (SPREAD + S - 1) / 2 input columns that reach them.
V_INLINE void spread_run(const SrGroupedRow *row, int S, int own, const Columns *x, int c, int m,
                         const SrGroupedOut *out, int from) {
    V acc[SPREAD];
    V_FOR (q, SPREAD)
        acc[q] = v_zero();
    for (int r = 0; r < row->rows; r++)
        for (int g = 0; g < own; g++) {
            V w[7];
            V_FOR (s, S)
                w[s] = get(row->w[r], ((int64_t)s * own + g) * row->C + c, m);
            V_FOR (j, (SPREAD + S - 1) / 2) {
                V v = pick(row, own, column(&x[r], false, j, row->C, c, m), g);
                V_FOR (s, S)
                    if (2 * j - (S - 1) + s >= 0 && 2 * j - (S - 1) + s < SPREAD)
                        acc[2 * j - (S - 1) + s] = v_fma(v, w[s], acc[2 * j - (S - 1) + s]);
            }
        }
    V_FOR (q, SPREAD) {
        if (from + q < 0 || from + q >= row->out_columns)
            continue;
        give(out, (int64_t)(from + q) * row->C + c, acc[q], m);
    }
}

V_INLINE void spread_row(const SrGroupedRow *row, int S, int own, const SrGroupedOut *out) {
    int C = row->C;
    Columns x[SR_GROUPED_ROWS];
    Fetch f[SR_GROUPED_AHEAD];
    fetch_begin(f, row, out, row->out_columns / SPREAD + 1);
    for (int from = -(row->pad & 1); from < row->out_columns; from += SPREAD) {
        int c = 0, first = (from + row->pad - (S - 1)) / 2; // exact: both even
        for (int r = 0; r < row->rows; r++)
            find_columns(&x[r], row->in[r], row->in_columns, C, row->zeros, first,
                         (SPREAD + S - 1) / 2);
        for (; c + V_LANES <= C; c += V_LANES, fetch(f))
            spread_run(row, S, own, x, c, V_LANES, out, from);
        if (c < C) {
            spread_run(row, S, own, x, c, C - c, out, from);
            fetch(f);
        }
    }
    if (out->stream)
        v_stream_end();
}

// ---- weights

// Adds for T channels of each group from g on; acc (T, S).
V_INLINE void weights_run(const SrGroupedRow *row, int S, int stride, int T, bool inside,
                          const Columns *x, const Columns *dy, int c, int m, int g, V *acc) {
    V d[RUN];
    V_FOR (q, RUN)
        d[q] = column(dy, inside, q, row->C, c, m);
    V_FOR (j, (RUN - 1) * stride + S) {
        V v = column(x, inside, j, row->C, c, m);
        V_FOR (t, T) {
            V u = pick(row, T, v, g + t);
            V_FOR (q, RUN)
                if (j - q * stride >= 0 && j - q * stride < S)
                    acc[t * S + j - q * stride] = v_fma(u, d[q], acc[t * S + j - q * stride]);
        }
    }
}

// Adds for lanes c to c + m - 1 along the row, each with T channels of its group.
V_INLINE void weights_chunk(const SrGroupedRow *row, int S, int stride, int T, int i,
                            const float *dy, int c, int m, int g, float *dw) {
    int C = row->C, span = (RUN - 1) * stride + S;
    Columns x, d;
    V acc[MOST_SUMS];
    V_FOR (k, T * S)
        acc[k] = get(dw, ((int64_t)(k % S) * row->own + g + k / S) * C + c, m);
    for (int q = 0; q < row->out_columns; q += RUN) {
        int from = q * stride - row->pad;
        bool inside = from >= 0 && from + span <= row->in_columns && q + RUN <= row->out_columns;
        if (inside && m == V_LANES) {
            x.first = row->in[i] + (int64_t)from * C;
            d.first = dy + (int64_t)q * C;
            weights_run(row, S, stride, T, true, &x, &d, c, m, g, acc);
        } else {
            find_columns(&x, row->in[i], row->in_columns, C, row->zeros, from, span);
            find_columns(&d, dy, row->out_columns, C, row->zeros, q, RUN);
            weights_run(row, S, stride, T, false, &x, &d, c, m, g, acc);
        }
    }
    V_FOR (k, T * S)
        put(dw, ((int64_t)(k % S) * row->own + g + k / S) * C + c, acc[k], m);
}

V_INLINE void weights_row(const SrGroupedRow *row, int S, int stride, int T, int i, const float *dy,
                          float *dw) {
    for (int g = 0; g < row->own; g += T) {
        int c = 0;
        for (; c + V_LANES <= row->C; c += V_LANES)
            weights_chunk(row, S, stride, T, i, dy, c, V_LANES, g, dw);
        if (c < row->C)
            weights_chunk(row, S, stride, T, i, dy, c, row->C - c, g, dw);
    }
}

// ---- one function per width and stride

#define EACH_SHAPE(call)                                                               \
    do {                                                                               \
        if (row->stride == 1) {                                                        \
            row->S == 3 ? call(3, 1, 1) : row->S == 5 ? call(5, 1, 1) : call(7, 1, 1); \
        } else {                                                                       \
            row->S == 3 ? call(3, 2, 1) : row->S == 5 ? call(5, 2, 1) : call(7, 2, 1); \
        }                                                                              \
    } while (0)

#define GATHER(S, stride, own) gather_row(row, S, stride, own, out)
static void gather_groups(const SrGroupedRow *row, const SrGroupedOut *out) {
    row->stride == 1 ? GATHER(3, 1, row->own) : GATHER(3, 2, row->own);
}
static void gather(const SrGroupedRow *row, const SrGroupedOut *out) {
    if (row->own > 1)
        gather_groups(row, out);
    else
        EACH_SHAPE(GATHER);
}

static void spread(const SrGroupedRow *row, const SrGroupedOut *out) {
    row->own > 1  ? spread_row(row, 3, row->own, out)
    : row->S == 3 ? spread_row(row, 3, 1, out)
    : row->S == 5 ? spread_row(row, 5, 1, out)
                  : spread_row(row, 7, 1, out);
}

#define WEIGHTS(S, stride, T) weights_row(row, S, stride, T, i, dy, dw)
static void weights_groups(const SrGroupedRow *row, int i, const float *dy, float *dw) {
    if (row->own == 2)
        row->stride == 1 ? WEIGHTS(3, 1, 2) : WEIGHTS(3, 2, 2);
    else
        row->stride == 1 ? WEIGHTS(3, 1, 4) : WEIGHTS(3, 2, 4);
}
static void weights(const SrGroupedRow *row, int i, const float *dy, float *dw) {
    if (row->own > 1)
        weights_groups(row, i, dy, dw);
    else
        EACH_SHAPE(WEIGHTS);
}

const SrGroupedKernels SR_ISA_SYMBOL(sr__grouped_kernels) = {
    .lanes = V_LANES,
    .gather = gather,
    .spread = spread,
    .weights = weights,
};
