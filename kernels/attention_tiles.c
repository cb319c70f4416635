// attention, forward and backward.
//
// The (L, L) scores never exist: they are made a tile at a time, forward with a running maximum and sum for each query
// (Milakov and Gimelshein 2018), backward once more from one number kept for each query (Dao et al. 2022, algorithm 4).
// A tile is two products (block_product.h) on the calling thread; images and heads (forward: and tiles of queries) are
// the units of work, each computed by one thread in one order.  The bias' gradient is summed over a fixed number of
// shares of the images, and then over the shares, in order.
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/parallel.h"
#include "kernels/attention_internal.h"
#include "kernels/block_product.h"
#include "kernels/rows.h"

// What the units of a call share.
typedef struct {
    const SrOpCall *call;
    const SrAttentionParams *p;
    SrAttentionSizes s;
    int L, D, E, d, Q; // tokens, channels, heads, channels of a head, queries
    int B;             // biases
    int tiles;         // of queries
    float alpha;       // scores are made as alpha q k^T + bias + mask
    float
        scale; // and multiplied by this in the exponent: without bias and mask the two are one product
    float *shares; // gradients of the bias
    bool drops;
} Job;

static Job job_of(const SrOpCall *call) {
    const SrAttentionParams *p = call->params;
    SrAttentionSizes s = sr__attention_sizes(p, call->x[0].shape);
    bool plain = call->n_in == 1 && !sr__attention_is_masked(p);
    float scale = (float)sr__attention_scale(p, s.d);
    return (Job){.call = call,
                 .p = p,
                 .s = s,
                 .L = s.L,
                 .D = s.D,
                 .E = s.E,
                 .d = s.d,
                 .Q = s.Q,
                 .B = call->n_in > 1 ? call->x[1].shape.d[0] : 1,
                 .tiles = (s.Q + SR_ATTENTION_QUERIES - 1) / SR_ATTENTION_QUERIES,
                 .alpha = plain ? 1 : scale,
                 .scale = plain ? scale : 1,
                 .shares = (float *)call->scratch +
                           sr__attention_thread_floats(&s) * (size_t)sr_parallel_threads(),
                 .drops = call->train && p->dropout > 0};
}

// One head of one image: rows are tokens, those of q, k and v (and their gradients) 3 D apart, of y D.
typedef struct {
    const float *q, *k, *v; // (L, d)
    float *dq, *dk, *dv;    // (L, d)
    float *y;               // (L, d)
    const float *dy;        // (L, d)
    float *lse;             // (L)
    const float *bias;      // (L, L), NULL: none
    float *dbias;           // (L, L), NULL: not wanted
    const float *side;      // (L), NULL: nothing is masked
    int64_t first;          // number of query 0 among all of the call, for draws
    float *scores, *dscores, *along;
    float *kt, *vt; // (d, SR_ATTENTION_KEYS): the present tile's keys and values, turned
} Head;

static Head head_at(const Job *job, int64_t i, int thread) {
    const SrOpCall *call = job->call;
    int64_t image = i / job->E * job->L * job->D, from = i % job->E * job->d;
    int64_t asked = i / job->E * job->Q * job->D;
    const float *x = (const float *)call->x[0].data + 3 * image + from;
    float *dx = call->dx && call->dx[0] ? call->dx[0] + 3 * image + from : NULL;
    float *own = (float *)call->scratch + (size_t)thread * sr__attention_thread_floats(&job->s);
    Head h = {.q = x,
              .k = x + job->D,
              .v = x + 2 * job->D,
              .dq = dx,
              .dk = dx ? dx + job->D : NULL,
              .dv = dx ? dx + 2 * job->D : NULL,
              .y = (float *)call->y.data + asked + from,
              .dy = call->dy ? call->dy + asked + from : NULL,
              .lse = (float *)call->saved + i * job->Q,
              .first = i * job->Q,
              .scores = own,
              .dscores = own + SR_ATTENTION_QUERIES * SR_ATTENTION_KEYS,
              .kt = own + 2 * SR_ATTENTION_QUERIES * SR_ATTENTION_KEYS,
              .vt = own + 2 * SR_ATTENTION_QUERIES * SR_ATTENTION_KEYS + SR_ATTENTION_KEYS * job->d,
              .along = own + 2 * SR_ATTENTION_QUERIES * SR_ATTENTION_KEYS +
                       2 * SR_ATTENTION_KEYS * job->d};
    if (call->n_in > 1)
        h.bias = (const float *)call->x[1].data +
                 (i / job->E % job->B * job->E + i % job->E) * job->L * job->L;
    if (sr__attention_is_masked(job->p)) {
        float *side = h.along + ((size_t)job->L + 15) / 16 * 16;
        int window = (int)(i / job->E % (job->p->windows_h * job->p->windows_w));
        sr__attention_sides(job->p, window, side);
        h.side = side;
    }
    return h;
}

// row (keys) += bias and mask of query q for keys k0 and up.
SR_VECTOR_CLONES
static void add_bias(float *row, const float *bias, const float *side, float own, int keys) {
    for (int k = 0; bias && k < keys; k++)
        row[k] += bias[k];
    for (int k = 0; side && k < keys; k++)
        row[k] -= side[k] != own ? 100.0f : 0.0f;
}

// c (m, n) = or += alpha a b for rows of a that are a_row apart; `turned`: the transpose of a is stored so.
static void multiply(bool turned, int m, int n, int k, float alpha, const float *a, int64_t a_row,
                     const float *b, int64_t b_row, bool add, float *c, int64_t c_row) {
    sr__block_product(&(SrBlockProduct){.m = m,
                                        .n = n,
                                        .k = k,
                                        .alpha = alpha,
                                        .a = a,
                                        .a_row = turned ? 1 : a_row,
                                        .a_step = turned ? a_row : 1,
                                        .b = b,
                                        .b_row = b_row,
                                        .c = c,
                                        .c_row = c_row,
                                        .add = add});
}

// scores (rows, keys) of queries q0 and up and keys k0 and up, which kt holds.
static void make_scores(const Job *job, const Head *h, int q0, int rows, int k0, int keys) {
    int far = 3 * job->D;
    multiply(false, rows, keys, job->d, job->alpha, h->q + (int64_t)q0 * far, far, h->kt,
             SR_ATTENTION_KEYS, false, h->scores, SR_ATTENTION_KEYS);
    for (int r = 0; (h->bias || h->side) && r < rows; r++)
        add_bias(h->scores + r * SR_ATTENTION_KEYS,
                 h->bias ? h->bias + (int64_t)(q0 + r) * job->L + k0 : NULL,
                 h->side ? h->side + k0 : NULL, h->side ? h->side[q0 + r] : 0, keys);
}

// Multiplies rows (rows, keys) by dropout's mask, the same in every pass.
static void drop(const Job *job, const Head *h, float *x, int q0, int rows, int k0, int keys) {
    const SrOpCall *c = job->call;
    uint8_t keep[SR_ATTENTION_KEYS];
    for (int r = 0; job->drops && r < rows; r++) {
        sr__attention_draw(keep, keys, job->p->dropout, c->seed, c->iteration, c->node_key,
                           h->first + q0 + r, k0 / SR_ATTENTION_KEYS);
        sr__rows()->keep(x + r * SR_ATTENTION_KEYS, x + r * SR_ATTENTION_KEYS, keep,
                         (float)(1 / (1 - job->p->dropout)), keys);
    }
}

// The tile's scores become exp(scale (score - maximum)); maxima, sums and y of earlier keys are brought to the new maxima.
static void renormalise(const Job *job, const Head *h, int q0, int rows, int keys, bool first,
                        float *maximum, double *sum) {
    const SrRows *k = sr__rows();
    for (int r = 0; r < rows; r++) {
        float *score = h->scores + r * SR_ATTENTION_KEYS, most = k->max(score, keys);
        if (!first && maximum[r] > most)
            most = maximum[r];
        double tile = k->exp_sum(score, score, most, job->scale, keys);
        if (!first) {
            float factor = expf((maximum[r] - most) * job->scale);
            float *y = h->y + (int64_t)(q0 + r) * job->D;
            k->scale(y, y, factor, job->d);
            tile += (double)factor * sum[r];
        }
        maximum[r] = most;
        sum[r] = tile;
    }
}

// A tile of queries of one head against all keys.
static void forward_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    Head h = head_at(job, i / job->tiles, thread);
    int q0 = (int)(i % job->tiles) * SR_ATTENTION_QUERIES,
        rows = SR_MIN(SR_ATTENTION_QUERIES, job->Q - q0);
    float maximum[SR_ATTENTION_QUERIES], *y = h.y + (int64_t)q0 * job->D;
    double sum[SR_ATTENTION_QUERIES];
    for (int k0 = 0; k0 < job->L; k0 += SR_ATTENTION_KEYS) {
        int keys = SR_MIN(SR_ATTENTION_KEYS, job->L - k0);
        sr__block_transpose(h.k + (int64_t)k0 * 3 * job->D, 3 * job->D, keys, job->d, h.kt,
                            SR_ATTENTION_KEYS);
        make_scores(job, &h, q0, rows, k0, keys);
        renormalise(job, &h, q0, rows, keys, k0 == 0, maximum, sum);
        drop(job, &h, h.scores, q0, rows, k0, keys);
        multiply(false, rows, job->d, keys, 1, h.scores, SR_ATTENTION_KEYS,
                 h.v + (int64_t)k0 * 3 * job->D, 3 * job->D, k0 > 0, y, job->D);
    }
    for (int r = 0; r < rows; r++) {
        sr__rows()->scale(y + (int64_t)r * job->D, y + (int64_t)r * job->D, (float)(1 / sum[r]),
                          job->d);
        if (!job->call->again)
            h.lse[q0 + r] = maximum[r] + (float)log(sum[r]) / job->scale;
    }
}

void sr__attention_forward(const SrOpCall *call) {
    Job job = job_of(call);
    sr_parallel_for(job.s.images * job.E * job.tiles, forward_unit, &job);
}

// dscores = p (dp - along) scale, where p stands in scores and dp in dscores.
SR_VECTOR_CLONES
static void softmax_gradient(float *dscores, const float *p, float along, float scale, int n) {
    SR_SIMD
    for (int i = 0; i < n; i++)
        dscores[i] = p[i] * (dscores[i] - along) * scale;
}

// dbias (rows, keys) += the gradient of the scores.
static void add_dbias(const Job *job, const Head *h, int q0, int rows, int k0, int keys) {
    for (int r = 0; h->dbias && r < rows; r++) {
        float *to = h->dbias + (int64_t)(q0 + r) * job->L + k0;
        sr__rows()->add(SR_F32, to, to, h->dscores + r * SR_ATTENTION_KEYS, keys);
    }
}

// dq, dk += products of the scores' gradient; the first keys and the first queries overwrite.
static void add_dqk(const Job *job, const Head *h, int q0, int rows, int k0, int keys) {
    int64_t q = (int64_t)q0 * 3 * job->D, k = (int64_t)k0 * 3 * job->D;
    if (!h->dq)
        return;
    multiply(false, rows, job->d, keys, job->alpha, h->dscores, SR_ATTENTION_KEYS, h->k + k,
             3 * job->D, k0 > 0, h->dq + q, 3 * job->D);
    multiply(true, keys, job->d, rows, job->alpha, h->dscores, SR_ATTENTION_KEYS, h->q + q,
             3 * job->D, q0 > 0, h->dk + k, 3 * job->D);
}

// One tile of queries against one of keys: probabilities again, then all gradients.
static void backward_tile(const Job *job, const Head *h, int q0, int k0) {
    int rows = SR_MIN(SR_ATTENTION_QUERIES, job->Q - q0),
        keys = SR_MIN(SR_ATTENTION_KEYS, job->L - k0), D = job->D, d = job->d;
    int64_t k = (int64_t)k0 * 3 * D;
    const float *dy = h->dy + (int64_t)q0 * D;
    make_scores(job, h, q0, rows, k0, keys);
    for (int r = 0; r < rows; r++)
        sr__rows()->exp_sum(h->scores + r * SR_ATTENTION_KEYS, h->scores + r * SR_ATTENTION_KEYS,
                            h->lse[q0 + r], job->scale, keys);
    multiply(false, rows, keys, d, 1, dy, D, h->vt, SR_ATTENTION_KEYS, false, h->dscores,
             SR_ATTENTION_KEYS);
    drop(job, h, h->dscores, q0, rows, k0, keys);
    for (int r = 0; r < rows; r++)
        softmax_gradient(h->dscores + r * SR_ATTENTION_KEYS, h->scores + r * SR_ATTENTION_KEYS,
                         h->along[q0 + r], job->scale, keys);
    add_dbias(job, h, q0, rows, k0, keys);
    add_dqk(job, h, q0, rows, k0, keys);
    drop(job, h, h->scores, q0, rows, k0, keys);
    if (h->dv)
        multiply(true, keys, d, rows, 1, h->scores, SR_ATTENTION_KEYS, dy, D, q0 > 0, h->dv + k,
                 3 * D);
}

static void backward_head(const Job *job, const Head *h) {
    for (int l = job->Q; h->dq && l < job->L; l++) // nobody asked for them
        memset(h->dq + (int64_t)l * 3 * job->D, 0, (size_t)job->d * sizeof *h->dq);
    for (int l = 0; l < job->Q; l++)
        h->along[l] =
            (float)sr__rows()->dot(h->y + (int64_t)l * job->D, h->dy + (int64_t)l * job->D, job->d);
    for (int k0 = 0; k0 < job->L; k0 += SR_ATTENTION_KEYS) {
        int keys = SR_MIN(SR_ATTENTION_KEYS, job->L - k0), far = 3 * job->D;
        sr__block_transpose(h->k + (int64_t)k0 * far, far, keys, job->d, h->kt, SR_ATTENTION_KEYS);
        sr__block_transpose(h->v + (int64_t)k0 * far, far, keys, job->d, h->vt, SR_ATTENTION_KEYS);
        for (int q0 = 0; q0 < job->Q; q0 += SR_ATTENTION_QUERIES)
            backward_tile(job, h, q0, k0);
    }
}

// One head of one image.
static void backward_unit(void *arg, int64_t i, int thread) {
    Head h = head_at(arg, i, thread);
    backward_head(arg, &h);
}

// One head of a share of the images of one bias, which gives a share of its gradient, (SR_ATTENTION_SHARES, B, E, L, L).
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
    Job job = job_of(call);
    float *dbias = call->n_in > 1 ? call->dx[1] : NULL;
    if (!dbias) {
        if (call->dx[0])
            sr_parallel_for(job.s.images * job.E, backward_unit, &job);
        return;
    }
    int64_t n = sr_shape_count(call->x[1].shape);
    sr_parallel_for((int64_t)SR_ATTENTION_SHARES * job.B * job.E, backward_share, &job);
    sr__copy(dbias, job.shares, n);
    for (int share = 1; share < SR_ATTENTION_SHARES; share++)
        sr__rows()->add(SR_F32, dbias, dbias, job.shares + share * n, n);
}
