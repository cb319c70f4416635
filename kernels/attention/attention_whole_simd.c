// Attention of whole heads, compiled once per instruction set (attention_whole.h).  Scores are
// transposed, (keys, queries), 32 queries at a time, so that the softmax of a query stays within a
// lane.  Right operands of products are packed once per head.  Left operands are read as they lie
// in memory, or as the softmax leaves them.
//
// With bfloat16, scores, sums and softmax are floats; probabilities and their gradient are rounded
// when they become operands.
#include "kernels/attention/attention_whole.h"

#include "kernels/core/simd.h"

#if V_LANES == 16
#include <math.h>

#include "kernels/attention/attention_product.h"
#include "kernels/core/vexp.h"

// Packs x (rows, d) as a right operand: rows of whole vectors, with zeros after the d numbers.
V_INLINE void pack(SrDtype type, const void *x, int64_t x_row, int rows, int d, float *to) {
    int step = type == SR_BF16 ? 2 : 1;
    for (int r = 0; r < rows; r += step)
        for (int c = 0; c < d; c += V_LANES, to += V_LANES) {
            int m = SR_MIN(V_LANES, d - c);
            V low = v_get(type, x, r * x_row + c, m), high = v_zero();
            if (type == SR_F32) {
                v_store(to, low);
                continue;
            }
            if (r + 1 < rows)
                high = v_get(type, x, (r + 1) * x_row + c, m);
            v_store(to, (V)((VBits)low >> 16 | (VBits)high));
        }
}

// A right operand: rows `row` floats apart.
typedef struct {
    const float *at;
    int64_t row;
} Right;

// Returns x (rows, d) as a right operand: floats that fill vectors stay in place; others are packed
// to `space`.
V_INLINE Right right_of(SrDtype type, const void *x, int64_t x_row, int rows, int d, float *space) {
    if (type == SR_F32 && d % V_LANES == 0)
        return (Right){x, x_row};
    pack(type, x, x_row, rows, d, space);
    return (Right){space, (d + V_LANES - 1) / V_LANES * V_LANES};
}

// Writes a product's rows, each times its factor if there are factors, as rows of numbers.
V_INLINE void put_rows(SrDtype type, void *to, int64_t to_row, int rows, int d, const float *sum,
                       int sum_row, const float *factor) {
    for (int r = 0; r < rows; r++) {
        V by = v_set1(factor ? factor[r] : 1);
        for (int c = 0; c < d; c += V_LANES)
            v_put(type, to, r * to_row + c, v_load(sum + (int64_t)r * sum_row + c) * by,
                  SR_MIN(V_LANES, d - c));
    }
}

static V column_max(const float *s, int rows) {
    V most[4];
    V_FOR (c, 4)
        most[c] = v_load(s);
    int r = 0;
    for (; r + 4 <= rows; r += 4)
        V_FOR (c, 4)
            most[c] = v_max(v_load(s + (r + c) * BLOCK), most[c]);
    for (; r < rows; r++)
        most[0] = v_max(v_load(s + r * BLOCK), most[0]);
    return v_max(v_max(most[0], most[1]), v_max(most[2], most[3]));
}

// Adds the lanes in double.
typedef struct {
    __m512d low, high;
} Doubles;
V_INLINE void add_to(Doubles *sum, V a) {
    sum->low += _mm512_cvtps_pd(_mm512_castps512_ps256(a));
    sum->high += _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1));
}

// Computes exp(scale x), where `factor` is factor_of(scale).  A shorter polynomial serves values
// that are rounded to bfloat16.
V_INLINE V factor_of(SrDtype type, float scale) {
    return v_set1(type == SR_BF16 ? scale * 1.44269504088896f : scale);
}
V_INLINE V exp_of(SrDtype type, V x, V factor) {
    return type == SR_BF16 ? v_exp2(x * factor) : v_exp(x * factor);
}

// Turns scores s (keys, 16 of BLOCK) into exp(scale (score - most)); with bfloat16, into rounded
// pairs of keys.  Also sums them.
V_INLINE Doubles column_exp(SrDtype type, float *s, int keys, V most, V factor) {
    int step = type == SR_BF16 ? 16 : 8; // keys summed in floats
    Doubles total = {_mm512_setzero_pd(), _mm512_setzero_pd()};
    for (int k0 = 0; k0 < keys; k0 += step) {
        V sum[2] = {v_zero(), v_zero()};
        int end = SR_MIN(keys, k0 + step);
        for (int k = k0; k < end; k += 2) {
            V e[2] = {v_zero(), v_zero()};
            e[0] = exp_of(type, v_load(s + k * BLOCK) - most, factor);
            if (k + 1 < end)
                e[1] = exp_of(type, v_load(s + (k + 1) * BLOCK) - most, factor);
            sum[0] = sum[0] + e[0];
            sum[1] = sum[1] + e[1];
            if (type == SR_BF16) {
                v_store(s + k / 2 * BLOCK, v_pair(e[0], e[1]));
                continue;
            }
            v_store(s + k * BLOCK, e[0]);
            if (k + 1 < end)
                v_store(s + (k + 1) * BLOCK, e[1]);
        }
        add_to(&total, sum[0] + sum[1]);
    }
    return total;
}

static int words_of(SrDtype type, int n) { return type == SR_BF16 ? (n + 1) / 2 : n; }
static int64_t words_apart(SrDtype type, int64_t n) { return type == SR_BF16 ? n / 2 : n; }

// Computes s (keys, BLOCK) = x (keys, d) times queries q0 and up of transposed queries (words,
// q_row).
V_INLINE void against_queries(SrDtype type, const SrWholeHead *h, const SrWholeLayout *l,
                              const void *x, const float *turned, int q0, float *s) {
    Product p = {.m = h->L,
                 .vectors = q0 + V_LANES < h->Q ? 2 : 1,
                 .k = l->words,
                 .a = x,
                 .a_row = words_apart(type, h->far),
                 .a_step = 1,
                 .b = turned + q0,
                 .b_row = l->q_row,
                 .c = s,
                 .c_row = BLOCK};
    multiply_rows(type, &p);
}

// Fetches rows of d numbers into the second-level cache: they lie too far apart for the processor's
// prefetcher.  Rows that are only written gain nothing from it.
V_INLINE void fetch(SrDtype type, const void *x, int64_t row, int rows, int d) {
    enum { LINE = 64 };
    int size = type == SR_BF16 ? 2 : 4;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < d; c += LINE / size)
            __builtin_prefetch((const char *)x + (r * row + c) * size, 0, 2);
}
// Computes the softmax of up to BLOCK queries from q0: s becomes exponentials, factor (BLOCK) one
// over their sums.
V_INLINE void softmax_block(SrDtype type, const SrWholeHead *h, int q0, float *s, float *factor) {
    int rows = SR_MIN(BLOCK, h->Q - q0);
    V by = factor_of(type, h->scale);
    double sum[BLOCK];
    float most[BLOCK];
    for (int v = 0; v < rows; v += V_LANES) {
        V top = column_max(s + v, h->L);
        Doubles total = column_exp(type, s + v, h->L, top, by);
        v_store(most + v, top);
        _mm512_storeu_pd(sum + v, total.low);
        _mm512_storeu_pd(sum + v + 8, total.high);
        _mm256_storeu_ps(factor + v, _mm512_cvtpd_ps(_mm512_set1_pd(1) / total.low));
        _mm256_storeu_ps(factor + v + 8, _mm512_cvtpd_ps(_mm512_set1_pd(1) / total.high));
    }
    for (int r = 0; h->lse && r < rows; r++)
        h->lse[q0 + r] = most[r] + (float)log(sum[r]) / h->scale;
}

V_INLINE void forward_any(SrDtype type, const SrWholeHead *h, const SrWholeHead *next) {
    const SrWholeLayout *l = h->at;
    float *qt = h->space + l->qt, *s = h->space + l->s, *sum = h->space + l->sum, factor[BLOCK];
    turn(h->q, words_apart(type, h->far), h->Q, l->words, qt, l->q_row);
    fetch(type, next->q, h->far, h->Q, h->d);
    Right values = right_of(type, h->v, h->far, h->L, h->d, h->space + l->kr);
    fetch(type, next->v, h->far, h->L, h->d);
    for (int q0 = 0; q0 < h->Q; q0 += BLOCK) {
        int rows = SR_MIN(BLOCK, h->Q - q0);
        against_queries(type, h, l, h->k, qt, q0, s);
        softmax_block(type, h, q0, s, factor);
        if (q0 == 0)
            fetch(type, next->k, h->far, h->L, h->d);
        Product y = {.m = rows,
                     .vectors = l->d_row / V_LANES,
                     .k = words_of(type, h->L),
                     .a = s,
                     .a_row = 1,
                     .a_step = BLOCK,
                     .b = values.at,
                     .b_row = values.row,
                     .c = sum,
                     .c_row = l->d_row};
        multiply_across(type, &y);
        put_rows(type, sr__at(type, h->y, q0 * h->near), h->near, rows, h->d, sum, l->d_row,
                 factor);
    }
}

// Computes along (q_row): y . dy of each query, from rows of `words` lanes.  Partial sums of 16
// rows are transposed and added.
V_INLINE void make_along(SrDtype type, const SrWholeHead *h, int words, float *along) {
    int64_t row = words_apart(type, h->near);
    for (int q0 = 0; q0 < h->Q; q0 += V_LANES) {
        V part[V_LANES], sum[4];
        V_FOR (r, V_LANES) {
            const float *y = (const float *)h->y + (q0 + r) * row,
                        *dy = (const float *)h->dy + (q0 + r) * row;
            part[r] = v_zero();
            for (int c = 0; q0 + r < h->Q && c < words; c += V_LANES) {
                int n = SR_MIN(V_LANES, words - c);
                part[r] = v_step(type == SR_BF16, v_load_n(y + c, n), v_load_n(dy + c, n), part[r]);
            }
        }
        v_transpose(part);
        V_FOR (c, 4)
            sum[c] = (part[c] + part[c + 4]) + (part[c + 8] + part[c + 12]);
        v_store(along + q0, (sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
}

// Operands of a column of 16 queries, and where their probabilities and gradients go.
typedef struct {
    const float *s, *ds;
    V lse, along, factor, scale;
    float *p, *dst, *dsp;
    int at, q_row; // offset of the column in rows of p, dst and dsp; length of such a row
} Column;

// Returns the gradient of the scores of key k; the gradient and the probabilities are stored as
// left operands.
V_INLINE V gradient(SrDtype type, const Column *c, int k) {
    V p = exp_of(type, v_load(c->s + k * BLOCK) - c->lse, c->factor);
    V ds = p * (v_load(c->ds + k * BLOCK) - c->along) * c->scale;
    v_put(type, c->p, (int64_t)k * c->q_row + c->at, p, V_LANES);
    v_put(type, c->dst, (int64_t)k * c->q_row + c->at, ds, V_LANES);
    return ds;
}

V_INLINE void column_gradient(SrDtype type, const Column *c, int keys) {
    for (int k = 0; k < keys; k += 2) {
        V a = gradient(type, c, k), b = v_zero();
        if (k + 1 < keys)
            b = gradient(type, c, k + 1);
        if (type == SR_BF16)
            v_store(c->dsp + (int64_t)(k / 2) * c->q_row + c->at, v_pair(a, b));
    }
}

// Computes probabilities and the scores' gradient of all queries.
V_INLINE void make_gradients(SrDtype type, const SrWholeHead *h, const SrWholeLayout *l) {
    float *at = h->space, *s = at + l->s, *ds = at + l->ds;
    for (int q0 = 0; q0 < h->Q; q0 += BLOCK) {
        against_queries(type, h, l, h->k, at + l->qt, q0, s);
        against_queries(type, h, l, h->v, at + l->dyt, q0, ds);
        for (int v = 0; v < BLOCK && q0 + v < h->Q; v += V_LANES) {
            Column c = {.s = s + v,
                        .ds = ds + v,
                        .lse = v_load_n(h->lse + q0 + v, SR_MIN(V_LANES, h->Q - q0 - v)),
                        .along = v_load(at + l->along + q0 + v),
                        .factor = factor_of(type, h->scale),
                        .scale = v_set1(h->scale),
                        .p = at + l->p,
                        .dst = at + l->dst,
                        .dsp = at + l->dsp,
                        .at = q0 + v,
                        .q_row = l->q_row};
            column_gradient(type, &c, h->L);
        }
    }
}

// Runs p and writes its rows to `to`, `far` numbers from one row to the next; without a copy where
// floats fill vectors.
V_INLINE void multiply_to(SrDtype type, const SrWholeHead *h, Product p, bool across, void *to) {
    bool direct = type == SR_F32 && h->d % V_LANES == 0;
    p.vectors = h->at->d_row / V_LANES;
    p.c = direct ? to : h->space + h->at->sum;
    p.c_row = direct ? h->far : h->at->d_row;
    across ? multiply_across(type, &p) : multiply_rows(type, &p);
    if (!direct)
        put_rows(type, to, h->far, p.m, h->d, p.c, h->at->d_row, NULL);
}

// Computes to (keys, d) = x (keys, queries) times `right`.
V_INLINE void sum_queries(SrDtype type, const SrWholeHead *h, const float *x, Right right,
                          void *to) {
    Product p = {.m = h->L,
                 .k = words_of(type, h->Q),
                 .a = x,
                 .a_row = words_apart(type, h->at->q_row),
                 .a_step = 1,
                 .b = right.at,
                 .b_row = right.row};
    multiply_to(type, h, p, false, to);
}

// Computes dq (queries, d) = the scores' gradient times the keys.
V_INLINE void sum_keys(SrDtype type, const SrWholeHead *h, Right keys) {
    Product p = {.m = h->Q,
                 .k = words_of(type, h->L),
                 .a = h->space + (type == SR_BF16 ? h->at->dsp : h->at->dst),
                 .a_row = 1,
                 .a_step = h->at->q_row,
                 .b = keys.at,
                 .b_row = keys.row};
    multiply_to(type, h, p, true, h->dq);
}

// Rows that are not used as queries get zeros.
V_INLINE void clear_rows(SrDtype type, const SrWholeHead *h) {
    for (int r = h->Q; r < h->L; r++)
        for (int c = 0; c < h->d; c += V_LANES)
            v_put(type, h->dq, r * h->far + c, v_zero(), SR_MIN(V_LANES, h->d - c));
}

V_INLINE void backward_any(SrDtype type, const SrWholeHead *h, const SrWholeHead *next) {
    const SrWholeLayout *l = h->at;
    int64_t far = words_apart(type, h->far), near = words_apart(type, h->near);
    float *at = h->space;
    make_along(type, h, l->words, at + l->along);
    fetch(type, next->y, h->near, h->Q, h->d);
    turn(h->dy, near, h->Q, l->words, at + l->dyt, l->q_row);
    turn(h->q, far, h->Q, l->words, at + l->qt, l->q_row);
    Right q = right_of(type, h->q, h->far, h->Q, h->d, at + l->qr),
          dy = right_of(type, h->dy, h->near, h->Q, h->d, at + l->dyr),
          k = right_of(type, h->k, h->far, h->L, h->d, at + l->kr);
    fetch(type, next->dy, h->near, h->Q, h->d);
    make_gradients(type, h, l);
    fetch(type, next->q, h->far, h->Q, h->d);
    sum_queries(type, h, at + l->p, dy, h->dv);
    fetch(type, next->k, h->far, h->L, h->d);
    sum_queries(type, h, at + l->dst, q, h->dk);
    fetch(type, next->v, h->far, h->L, h->d);
    sum_keys(type, h, k);
    clear_rows(type, h);
}

static void forward(SrDtype type, const SrWholeHead *h, const SrWholeHead *next) {
    type == SR_BF16 ? forward_any(SR_BF16, h, next) : forward_any(SR_F32, h, next);
}

static void backward(SrDtype type, const SrWholeHead *h, const SrWholeHead *next) {
    type == SR_BF16 ? backward_any(SR_BF16, h, next) : backward_any(SR_F32, h, next);
}

const SrWholeKernels SR_ISA_SYMBOL(sr__attention_whole) = {forward, backward};
#else
const SrWholeKernels SR_ISA_SYMBOL(sr__attention_whole) = {NULL, NULL};
#endif
