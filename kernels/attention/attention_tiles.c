// Forward and backward of attention by tiles of scores, for any length, bias, mask and dropout.
//
// The (L, L) scores are never stored: tiles of them are computed one after the other.  The forward
// keeps a running maximum and sum for each query (Milakov and Gimelshein 2018).  The backward
// recomputes the tiles from one saved number per query (Dao et al. 2022, algorithm 4).  A tile is
// two products (attention_operands.h) on the calling thread.  Images and heads (forward: also tiles
// of queries) are the units of work, each computed by one thread in one order.  The bias' gradient
// is summed over a fixed number of shares of the images, and then over the shares, in order.
//
// Scores, sums and softmax are floats for either element type.  With bfloat16, probabilities and
// their gradients are rounded when they become operands.  Sums over tiles are made in a thread's
// own floats and rounded when complete.
#include <math.h>
#include <string.h>

#include "base/bf16.h"
#include "base/compiler.h"
#include "base/parallel.h"
#include "kernels/attention/attention_internal.h"
#include "kernels/attention/attention_operands.h"
#include "kernels/core/block_product.h"
#include "kernels/core/rows.h"

// Values that the units of a call share.
typedef struct {
    const SrOpCall *call;
    const SrAttentionParams *p;
    SrAttentionSizes s;
    SrDtype type;
    int L, D, E, d, Q; // tokens, channels, heads, channels of a head, queries
    int B;             // number of biases
    int step, tiles;   // queries of a tile; number of tiles
    float alpha;       // scores are made as alpha q k^T + bias + mask
    // Factor on scores in the exponent.  Without bias and mask, alpha is 1 and scale holds the
    // whole factor.
    float scale;
    float *shares; // gradients of the bias
    bool drops;
} Job;

// Returns the queries of a tile: nearly as many in each, in whole rows of the product's tiles.  197
// become 66, 66 and 65.
static int tile_step(const SrMachine *machine, int queries, SrDtype type) {
    enum { WANTED = 72 };
    int unit = sr__block_rows(machine, type == SR_BF16), tiles = (queries + WANTED - 1) / WANTED;
    return ((queries + tiles - 1) / tiles + unit - 1) / unit * unit;
}

static Job job_of(const SrOpCall *call) {
    const SrAttentionParams *p = call->params;
    SrAttentionSizes s = sr__attention_sizes(p, call->x[0].shape);
    SrDtype type = call->y.dtype;
    bool plain = call->n_in == 1 && !sr__attention_is_masked(p);
    float scale = (float)sr__attention_scale(p, s.d);
    int step = tile_step(call->machine, s.Q, type);
    return (Job){.call = call,
                 .p = p,
                 .s = s,
                 .type = type,
                 .L = s.L,
                 .D = s.D,
                 .E = s.E,
                 .d = s.d,
                 .Q = s.Q,
                 .B = call->n_in > 1 ? call->x[1].shape.d[0] : 1,
                 .step = step,
                 .tiles = (s.Q + step - 1) / step,
                 .alpha = plain ? 1 : scale,
                 .scale = plain ? scale : 1,
                 .shares = (float *)call->scratch +
                           sr__attention_thread_floats(&s, type) * (size_t)sr_parallel_threads(),
                 .drops = call->train && p->dropout > 0};
}

// Parts of a thread's scratch.
enum {
    SCORES,  // (SR_ATTENTION_QUERIES, STRIDE)
    DSCORES, // their gradient
    ALONG,   // (L): y . dy of each query
    SIDE,    // (L): side of each token of a window
    KT,      // the present keys, transposed, and values
    VT,
    OF_FLOATS, // the parts from here on are used with bfloat16 only
    NARROW = OF_FLOATS,
    TURNED, // scores as operands
    K_ROWS, // keys, or values, as rows of an operand
    Q_LEFT,
    Q_RIGHT,
    DY_LEFT,
    DY_RIGHT,
    Q_SUM, // (L, d): y, or dq
    K_SUM, // (SR_ATTENTION_KEYS, d): dk, and dv
    V_SUM,
    PLACES
};
// Floats from one row of scores to the next.  With a power of two, all rows would share a few sets
// of the first-level cache.
enum { STRIDE = SR_ATTENTION_KEYS + 16 };

static size_t place_floats(const SrAttentionSizes *s, int place) {
    size_t d = (size_t)s->d, n = 0;
    switch (place) {
    case SCORES:
    case DSCORES:
    case NARROW:
    case TURNED: n = SR_ATTENTION_QUERIES * STRIDE; break;
    case ALONG:
    case SIDE: n = (size_t)s->L; break;
    case KT:
    case VT:
    case K_ROWS: n = STRIDE * (d + 1); break;
    case Q_LEFT:
    case Q_RIGHT:
    case DY_LEFT:
    case DY_RIGHT: n = SR_ATTENTION_QUERIES * (d + 1); break;
    case Q_SUM: n = (size_t)s->L * d; break;
    case K_SUM:
    case V_SUM: n = SR_ATTENTION_KEYS * d; break;
    }
    return (n + 15) / 16 * 16;
}

size_t sr__attention_thread_floats(const SrAttentionSizes *s, SrDtype type) {
    size_t sum = 0;
    for (int i = 0; i < (type == SR_BF16 ? PLACES : OF_FLOATS); i++)
        sum += place_floats(s, i);
    return sum;
}

// Rows of floats that are summed over tiles: the result itself or, with bfloat16, a thread's own
// floats.
typedef struct {
    float *at;
    int64_t row; // floats from row to row
} Sum;

// One head of one image: rows are tokens.  Rows of q, k, v and their gradients lie 3 D numbers
// apart, those of y lie D apart.
typedef struct {
    const void *q, *k, *v; // (L, d)
    void *dq, *dk, *dv;    // (L, d)
    void *y;               // (L, d)
    const void *dy;        // (L, d)
    float *lse;            // (L)
    const void *bias;      // (L, L); NULL: none
    float *dbias;          // (L, L); NULL: not wanted
    const float *side;     // (L); NULL: nothing is masked
    int64_t first;         // index of query 0 among all queries of the call, for draws
    float *own[PLACES];
} Head;

static void take_places(const Job *job, Head *h, int thread) {
    float *at = (float *)job->call->scratch +
                (size_t)thread * sr__attention_thread_floats(&job->s, job->type);
    for (int i = 0; i < (job->type == SR_BF16 ? PLACES : OF_FLOATS); i++) {
        h->own[i] = at;
        at += place_floats(&job->s, i);
    }
}

static Head head_at(const Job *job, int64_t i, int thread) {
    const SrOpCall *call = job->call;
    SrDtype type = job->type;
    int64_t image = i / job->E * job->L * job->D, from = i % job->E * job->d;
    int64_t asked = i / job->E * job->Q * job->D;
    const void *x = sr__at(type, call->x[0].data, 3 * image + from);
    void *dx = call->dx ? sr__at(type, call->dx[0], 3 * image + from) : NULL;
    Head h = {.q = x,
              .k = sr__at(type, x, job->D),
              .v = sr__at(type, x, 2 * job->D),
              .dq = dx,
              .dk = sr__at(type, dx, job->D),
              .dv = sr__at(type, dx, 2 * job->D),
              .y = sr__at(type, call->y.data, asked + from),
              .dy = sr__at(type, call->dy, asked + from),
              .lse = (float *)call->saved + i * job->Q,
              .first = i * job->Q};
    take_places(job, &h, thread);
    if (call->n_in > 1)
        h.bias = sr__at(type, call->x[1].data,
                        (i / job->E % job->B * job->E + i % job->E) * job->L * job->L);
    if (sr__attention_is_masked(job->p)) {
        int window = (int)(i / job->E % (job->p->windows_h * job->p->windows_w));
        sr__attention_sides(job->p, window, h.own[SIDE]);
        h.side = h.own[SIDE];
    }
    return h;
}

// Makes rows `first` and up of a head's (L, d) an operand; they lie `row` numbers apart.
static SrOperandBlock rows_of(const Job *job, const void *x, int64_t row, int first, int rows) {
    return (SrOperandBlock){job->type, sr__at(job->type, x, first * row), row, rows, job->d};
}

// Returns where rows of `to`, `row` numbers apart, are summed: in place or, with bfloat16, in
// `own`.
static Sum sum_of(const Job *job, void *to, int64_t row, int64_t first, float *own) {
    if (job->type == SR_F32)
        return (Sum){sr__at(SR_F32, to, first * row), row};
    return (Sum){own, job->d};
}

// Writes a complete sum to rows `first` and up of `to`.
static void store(const Job *job, Sum sum, void *to, int64_t row, int64_t first, int rows) {
    for (int r = 0; job->type != SR_F32 && r < rows; r++)
        sr__rows(job->call->machine)
            ->cast(job->type, sr__at(job->type, to, (first + r) * row), SR_F32,
                   sum.at + r * sum.row, job->d, false);
}

// Makes scores, or values derived from them, an operand; zero follows an odd number of bfloat16
// keys.
static SrOperandBlock scores_block(const Job *job, const Head *h, const float *scores, int rows,
                                   int keys) {
    if (job->type == SR_F32)
        return (SrOperandBlock){SR_F32, scores, STRIDE, rows, keys};
    SrBf16 *narrow = (SrBf16 *)(void *)h->own[NARROW];
    for (int r = 0; r < rows; r++) {
        sr__rows(job->call->machine)
            ->cast(SR_BF16, narrow + r * STRIDE, SR_F32, scores + r * STRIDE, keys, false);
        narrow[r * STRIDE + keys] = 0;
    }
    return (SrOperandBlock){SR_BF16, narrow, STRIDE, rows, keys + keys % 2};
}

// Adds the mask of a query on side `own` to row (keys).
SR_VECTOR_CLONES
static void add_mask(float *row, const float *side, float own, int keys) {
    for (int k = 0; k < keys; k++)
        row[k] -= side[k] != own ? 100.0f : 0.0f;
}

// Computes scores (rows, keys) of queries q0 and up, in q, and keys k0 and up, in kt.
static void make_scores(const Job *job, const Head *h, SrAttentionOperand q, int q0, int rows,
                        SrAttentionOperand kt, int k0, int keys) {
    float *scores = h->own[SCORES];
    sr__operands_multiply(job->call->machine, rows, keys, job->d, job->alpha, q, kt, false, scores,
                          STRIDE);
    for (int r = 0; r < rows; r++) {
        if (h->bias)
            sr__rows(job->call->machine)
                ->cast(SR_F32, scores + r * STRIDE, job->type,
                       sr__at(job->type, h->bias, (int64_t)(q0 + r) * job->L + k0), keys, true);
        if (h->side)
            add_mask(scores + r * STRIDE, h->side + k0, h->side[q0 + r], keys);
    }
}

// Multiplies rows (rows, keys) by dropout's mask, which is the same in every pass.
static void drop(const Job *job, const Head *h, float *x, int q0, int rows, int k0, int keys) {
    const SrOpCall *c = job->call;
    uint8_t keep[SR_ATTENTION_KEYS];
    for (int r = 0; job->drops && r < rows; r++) {
        sr__attention_draw(keep, keys, job->p->dropout, c->seed, c->iteration, c->node_key,
                           h->first + q0 + r, k0 / SR_ATTENTION_KEYS);
        sr__rows(job->call->machine)
            ->keep(x + r * STRIDE, x + r * STRIDE, keep, (float)(1 / (1 - job->p->dropout)), keys);
    }
}

// Turns the tile's scores into exp(scale (score - maximum)), and rescales maxima, sums and y of
// earlier keys to the new maxima.
static void renormalise(const Job *job, const Head *h, Sum y, int rows, int keys, bool first,
                        float *maximum, double *sum) {
    const SrRows *k = sr__rows(job->call->machine);
    for (int r = 0; r < rows; r++) {
        float *score = h->own[SCORES] + r * STRIDE, most = k->max(score, keys);
        if (!first && maximum[r] > most)
            most = maximum[r];
        double tile = k->exp_sum(score, score, most, job->scale, keys);
        if (!first) {
            float factor = expf((maximum[r] - most) * job->scale);
            k->scale(y.at + r * y.row, y.at + r * y.row, factor, job->d);
            tile += (double)factor * sum[r];
        }
        maximum[r] = most;
        sum[r] = tile;
    }
}

// Computes a tile of queries of one head against all keys.
static void forward_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    Head h = head_at(job, i / job->tiles, thread);
    int q0 = (int)(i % job->tiles) * job->step, rows = SR_MIN(job->step, job->Q - q0),
        far = 3 * job->D;
    float maximum[SR_ATTENTION_QUERIES];
    double sum[SR_ATTENTION_QUERIES];
    Sum y = sum_of(job, h.y, job->D, q0, h.own[Q_SUM]);
    SrOperandBlock queries = rows_of(job, h.q, far, q0, rows);
    SrAttentionOperand q = sr__left_rows(&queries, h.own[Q_LEFT]);
    for (int k0 = 0; k0 < job->L; k0 += SR_ATTENTION_KEYS) {
        int n = SR_MIN(SR_ATTENTION_KEYS, job->L - k0);
        SrOperandBlock keys = rows_of(job, h.k, far, k0, n), values = rows_of(job, h.v, far, k0, n);
        make_scores(job, &h, q, q0, rows,
                    sr__right_columns(job->call->machine, &keys, h.own[KT], STRIDE), k0, n);
        renormalise(job, &h, y, rows, n, k0 == 0, maximum, sum);
        drop(job, &h, h.own[SCORES], q0, rows, k0, n);
        SrOperandBlock p = scores_block(job, &h, h.own[SCORES], rows, n);
        sr__operands_multiply(job->call->machine, rows, job->d, n, 1, sr__left_rows(&p, NULL),
                              sr__right_rows(&values, h.own[K_ROWS]), k0 > 0, y.at, y.row);
    }
    for (int r = 0; r < rows; r++) {
        sr__rows(job->call->machine)
            ->scale(y.at + r * y.row, y.at + r * y.row, (float)(1 / sum[r]), job->d);
        if (!job->call->again)
            h.lse[q0 + r] = maximum[r] + (float)log(sum[r]) / job->scale;
    }
    store(job, y, h.y, job->D, q0, rows);
}

static bool is_whole(const SrOpCall *call) {
    SrAttentionSizes s = sr__attention_sizes(call->params, call->x[0].shape);
    return sr__attention_is_whole(call->machine, call->params, &s, call->y.dtype, call->n_in > 1);
}

void sr__attention_forward(const SrOpCall *call) {
    if (is_whole(call)) {
        sr__attention_whole_forward(call);
        return;
    }
    Job job = job_of(call);
    sr_parallel_for(job.s.images * job.E * job.tiles, forward_unit, &job);
}

// Computes dscores = p (dp - along) scale, where scores holds p and dscores holds dp.
SR_VECTOR_CLONES
static void softmax_gradient(float *dscores, const float *p, float along, float scale, int n) {
    SR_SIMD
    for (int i = 0; i < n; i++)
        dscores[i] = p[i] * (dscores[i] - along) * scale;
}

// Adds the gradient of the scores to dbias (rows, keys).
static void add_dbias(const Job *job, const Head *h, int q0, int rows, int k0, int keys) {
    for (int r = 0; h->dbias && r < rows; r++) {
        float *to = h->dbias + (int64_t)(q0 + r) * job->L + k0;
        sr__rows(job->call->machine)->add(SR_F32, to, to, h->own[DSCORES] + r * STRIDE, keys);
    }
}

// A tile of keys in the backward, and where its gradients are summed.
typedef struct {
    int first, n;
    SrAttentionOperand k, kt, vt;
    Sum dk, dv;
} Keys;

// Adds products of the scores' gradient to dq and dk; the first keys and the first queries
// overwrite.
static void add_dqk(const Job *job, const Head *h, const SrOperandBlock *queries, int q0,
                    const Keys *keys) {
    SrOperandBlock ds = scores_block(job, h, h->own[DSCORES], queries->rows, keys->n);
    Sum dq =
        sum_of(job, h->dq, 3 * job->D, q0, sr__at(SR_F32, h->own[Q_SUM], (int64_t)q0 * job->d));
    sr__operands_multiply(job->call->machine, queries->rows, job->d, keys->n, job->alpha,
                          sr__left_rows(&ds, NULL), keys->k, keys->first > 0, dq.at, dq.row);
    sr__operands_multiply(job->call->machine, keys->n, job->d, queries->rows, job->alpha,
                          sr__left_columns(&ds, h->own[TURNED]),
                          sr__right_rows(queries, h->own[Q_RIGHT]), q0 > 0, keys->dk.at,
                          keys->dk.row);
}

// Adds the product of the probabilities and dy to dv.
static void add_dv(const Job *job, const Head *h, const SrOperandBlock *dy, int q0,
                   const Keys *keys) {
    SrOperandBlock p = scores_block(job, h, h->own[SCORES], dy->rows, keys->n);
    sr__operands_multiply(job->call->machine, keys->n, job->d, dy->rows, 1,
                          sr__left_columns(&p, h->own[TURNED]),
                          sr__right_rows(dy, h->own[DY_RIGHT]), q0 > 0, keys->dv.at, keys->dv.row);
}

// Processes one tile of queries against one of keys: recomputes the probabilities, then all
// gradients.
static void backward_tile(const Job *job, const Head *h, int q0, const Keys *keys) {
    int rows = SR_MIN(job->step, job->Q - q0), k0 = keys->first, n = keys->n;
    float *scores = h->own[SCORES], *dscores = h->own[DSCORES];
    SrOperandBlock queries = rows_of(job, h->q, 3 * job->D, q0, rows),
                   dy = rows_of(job, h->dy, job->D, q0, rows);
    make_scores(job, h, sr__left_rows(&queries, h->own[Q_LEFT]), q0, rows, keys->kt, k0, n);
    for (int r = 0; r < rows; r++)
        sr__rows(job->call->machine)
            ->exp(scores + r * STRIDE, scores + r * STRIDE, h->lse[q0 + r], job->scale, n);
    sr__operands_multiply(job->call->machine, rows, n, job->d, 1,
                          sr__left_rows(&dy, h->own[DY_LEFT]), keys->vt, false, dscores, STRIDE);
    drop(job, h, dscores, q0, rows, k0, n);
    for (int r = 0; r < rows; r++)
        softmax_gradient(dscores + r * STRIDE, scores + r * STRIDE, h->own[ALONG][q0 + r],
                         job->scale, n);
    add_dbias(job, h, q0, rows, k0, n);
    if (!h->dq)
        return;
    add_dqk(job, h, &queries, q0, keys);
    drop(job, h, scores, q0, rows, k0, n);
    add_dv(job, h, &dy, q0, keys);
}

// Processes one tile of keys against all queries.
static void backward_keys(const Job *job, const Head *h, int k0) {
    int n = SR_MIN(SR_ATTENTION_KEYS, job->L - k0), far = 3 * job->D;
    SrOperandBlock k = rows_of(job, h->k, far, k0, n), v = rows_of(job, h->v, far, k0, n);
    Keys keys = {.first = k0,
                 .n = n,
                 .k = sr__right_rows(&k, h->own[K_ROWS]),
                 .kt = sr__right_columns(job->call->machine, &k, h->own[KT], STRIDE),
                 .vt = sr__right_columns(job->call->machine, &v, h->own[VT], STRIDE),
                 .dk = sum_of(job, h->dk, far, k0, h->own[K_SUM]),
                 .dv = sum_of(job, h->dv, far, k0, h->own[V_SUM])};
    for (int q0 = 0; q0 < job->Q; q0 += job->step)
        backward_tile(job, h, q0, &keys);
    if (h->dq) {
        store(job, keys.dk, h->dk, far, k0, n);
        store(job, keys.dv, h->dv, far, k0, n);
    }
}

// Returns y . dy of query l.
static float along(const Job *job, const Head *h, int64_t l) {
    return sr__rows(job->call->machine)
        ->float_dot(job->type, sr__at(job->type, h->y, l * job->D),
                    sr__at(job->type, h->dy, l * job->D), job->d);
}

static void backward_head(const Job *job, const Head *h) {
    int far = 3 * job->D;
    for (int64_t l = job->Q; h->dq && l < job->L; l++) // queries that are not used
        memset(sr__at(job->type, h->dq, l * far), 0, (size_t)job->d * sr_dtype_bytes(job->type));
    for (int l = 0; l < job->Q; l++)
        h->own[ALONG][l] = along(job, h, l);
    for (int k0 = 0; k0 < job->L; k0 += SR_ATTENTION_KEYS)
        backward_keys(job, h, k0);
    if (h->dq)
        store(job, sum_of(job, h->dq, far, 0, h->own[Q_SUM]), h->dq, far, 0, job->Q);
}

// Computes one head of one image.
static void backward_unit(void *arg, int64_t i, int thread) {
    Head h = head_at(arg, i, thread);
    backward_head(arg, &h);
}

// Computes one head over a share of the images of one bias, and so a share of its gradient,
// (SR_ATTENTION_SHARES, B, E, L, L).
static void backward_share(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    int64_t share = i / job->E / job->B, b = i / job->E % job->B, e = i % job->E;
    int64_t LL = (int64_t)job->L * job->L, images = job->s.images / job->B;
    float *dbias = job->shares + i * LL;
    memset(dbias, 0, (size_t)LL * sizeof *dbias);
    for (int64_t n = share * images / SR_ATTENTION_SHARES;
         n < (share + 1) * images / SR_ATTENTION_SHARES; n++) {
        Head h = head_at(job, (n * job->B + b) * job->E + e, thread);
        h.dbias = dbias;
        backward_head(job, &h);
    }
}

void sr__attention_backward(const SrOpCall *call) {
    if (is_whole(call)) {
        sr__attention_whole_backward(call);
        return;
    }
    Job job = job_of(call);
    float *dbias = call->n_in > 1 ? call->dx[1] : NULL;
    if (!dbias) {
        if (call->dx[0])
            sr_parallel_for(job.s.images * job.E, backward_unit, &job);
        return;
    }
    int64_t n = sr_shape_count(call->x[1].shape);
    float *sum = job.shares;
    sr_parallel_for((int64_t)SR_ATTENTION_SHARES * job.B * job.E, backward_share, &job);
    for (int share = 1; share < SR_ATTENTION_SHARES; share++)
        sr__rows(call->machine)->add(SR_F32, sum, sum, sum + share * n, n);
    sr__rows(call->machine)->cast(job.type, dbias, SR_F32, sum, n, false);
}
