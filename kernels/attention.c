// attention: torch.nn.functional.scaled_dot_product_attention of several heads on packed queries, keys and values,
// as one linear layer makes them in vision transformers:
//
//   qkv (N, L, 3 D) -> y (N, L, D),  D = E d,  head e of image n:  y = softmax(scale q k^T) v.
//
// Number (part, e, i) of a token lies at part * D + e * d + i, part 0 q, 1 k, 2 v (timm's and VISSL's reshape to
// (N, L, 3, E, d); torchvision's in_proj).
//
// The (L, L) scores never exist: they are made a tile at a time, forward with a running maximum and sum for each query
// (Milakov and Gimelshein 2018), backward once more from one number kept for each query (Dao et al. 2022, algorithm 4).
// A tile is two products of OpenBLAS on the calling thread; images and heads (forward: and tiles of queries) are the
// units of work, each computed by one thread in one order.
#include <math.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/attention.h"
#include "kernels/gemm.h"
#include "kernels/op_util.h"
#include "kernels/rows.h"

enum {
    QUERIES = 64, // of a tile
    KEYS = 256,   // of a tile: scores and their gradient, 2 * 64 KB, stay in the second-level cache
};

static const SrOption options[] = {
    {"num_heads", SR_OPT_INT, offsetof(SrAttentionParams, num_heads), "1", 1, 1 << 16, NULL,
     "Heads."},
    {"scale", SR_OPT_FLOAT, offsetof(SrAttentionParams, scale), "0", 0, 1e6, NULL,
     "Factor of the scores before the softmax; 0: 1 / sqrt(numbers of a head)."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrAttentionParams *p = params;
    SR_TRY(sr__expect_rank("attention", x, n_in, 3, 3));
    if (p->num_heads < 1 || x[0].d[2] % (3 * p->num_heads))
        return sr__shape_fail("attention", x, n_in, "(N, L, 3 D) with D a multiple of num_heads %d",
                              p->num_heads);
    *y = SR_SHAPE(x[0].d[0], x[0].d[1], x[0].d[2] / 3);
    return SR_OK;
}

// Probabilities are made again from the queries and keys; y . dy is the sum each row of their gradient loses.
static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_Y;
}

// For each query the logarithm of its softmax's denominator, in units of unscaled scores: (N, E, L).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)n_in;
    const SrAttentionParams *p = params;
    return sizeof(float) * (size_t)x[0].d[0] * (size_t)p->num_heads * (size_t)x[0].d[1];
}

// A thread's: scores and their gradient, each (QUERIES, KEYS); y . dy of each query, (L).
static size_t thread_floats(int L) { return 2 * QUERIES * KEYS + ((size_t)L + 15) / 16 * 16; }

static size_t scratch_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return sizeof(float) * thread_floats(x[0].d[1]) * (size_t)sr_parallel_threads();
}

// Two products of L * L * d multiply-adds a head.
static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    (void)params, (void)n_in;
    return 4 * sr_shape_count(y) * x[0].d[1];
}

static double scale_of(const SrAttentionParams *p, int d) {
    return p->scale > 0 ? p->scale : 1 / sqrt(d);
}

// What the units of a call share.
typedef struct {
    const SrOpCall *call;
    int L, D, E, d; // tokens, channels, heads, channels of a head
    int tiles;      // of queries
    float scale;
} Job;

static Job job_of(const SrOpCall *call) {
    const SrAttentionParams *p = call->params;
    SrShape y = call->y.shape;
    int d = y.d[2] / p->num_heads;
    return (Job){.call = call,
                 .L = y.d[1],
                 .D = y.d[2],
                 .E = p->num_heads,
                 .d = d,
                 .tiles = (y.d[1] + QUERIES - 1) / QUERIES,
                 .scale = (float)scale_of(p, d)};
}

// One head of one image: rows are tokens, those of q, k and v (and their gradients) 3 D apart, of y D.
typedef struct {
    const float *q, *k, *v; // (L, d)
    float *dq, *dk, *dv;    // (L, d)
    float *y;               // (L, d)
    const float *dy;        // (L, d)
    float *lse;             // (L)
    float *scores, *dscores, *along;
} Head;

static Head head_at(const Job *job, int64_t i, int thread) {
    const SrOpCall *call = job->call;
    int64_t image = i / job->E * job->L * job->D, from = i % job->E * job->d;
    const float *x = (const float *)call->x[0].data + 3 * image + from;
    float *dx = call->dx && call->dx[0] ? call->dx[0] + 3 * image + from : NULL;
    float *own = (float *)call->scratch + (size_t)thread * thread_floats(job->L);
    return (Head){.q = x,
                  .k = x + job->D,
                  .v = x + 2 * job->D,
                  .dq = dx,
                  .dk = dx ? dx + job->D : NULL,
                  .dv = dx ? dx + 2 * job->D : NULL,
                  .y = (float *)call->y.data + image + from,
                  .dy = call->dy ? call->dy + image + from : NULL,
                  .lse = (float *)call->saved + i * job->L,
                  .scores = own,
                  .dscores = own + QUERIES * KEYS,
                  .along = own + 2 * QUERIES * KEYS};
}

// scores (rows, keys) = q k^T for queries q0 and up and keys k0 and up.
static void make_scores(const Job *job, const Head *h, int q0, int rows, int k0, int keys) {
    int far = 3 * job->D;
    sr_gemm_here(false, true, rows, keys, job->d, 1, h->q + (int64_t)q0 * far, far,
                 h->k + (int64_t)k0 * far, far, 0, h->scores, KEYS);
}

// The tile's scores become exp(scale (score - maximum)); maxima, sums and y of earlier keys are brought to the new maxima.
static void renormalise(const Job *job, const Head *h, int q0, int rows, int keys, bool first,
                        float *maximum, double *sum) {
    const SrRows *k = sr__rows();
    for (int r = 0; r < rows; r++) {
        float *score = h->scores + r * KEYS, most = k->max(score, keys);
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
    int q0 = (int)(i % job->tiles) * QUERIES, rows = SR_MIN(QUERIES, job->L - q0);
    float maximum[QUERIES], *y = h.y + (int64_t)q0 * job->D;
    double sum[QUERIES];
    for (int k0 = 0; k0 < job->L; k0 += KEYS) {
        int keys = SR_MIN(KEYS, job->L - k0);
        make_scores(job, &h, q0, rows, k0, keys);
        renormalise(job, &h, q0, rows, keys, k0 == 0, maximum, sum);
        sr_gemm_here(false, false, rows, job->d, keys, 1, h.scores, KEYS,
                     h.v + (int64_t)k0 * 3 * job->D, 3 * job->D, k0 > 0, y, job->D);
    }
    for (int r = 0; r < rows; r++) {
        sr__rows()->scale(y + (int64_t)r * job->D, y + (int64_t)r * job->D, (float)(1 / sum[r]),
                          job->d);
        if (!job->call->again)
            h.lse[q0 + r] = maximum[r] + (float)log(sum[r]) / job->scale;
    }
}

static void forward(const SrOpCall *call) {
    Job job = job_of(call);
    sr_parallel_for((int64_t)call->y.shape.d[0] * job.E * job.tiles, forward_unit, &job);
}

// dscores = p (dp - along) scale, where p stands in scores and dp in dscores.
SR_VECTOR_CLONES
static void softmax_gradient(float *dscores, const float *p, float along, float scale, int n) {
    SR_SIMD
    for (int i = 0; i < n; i++)
        dscores[i] = p[i] * (dscores[i] - along) * scale;
}

// One tile of queries against one of keys: adds to dk and dv of the keys (the first queries overwrite them) and to dq of
// the queries (the first keys overwrite it).
static void backward_tile(const Job *job, const Head *h, int q0, int k0) {
    int rows = SR_MIN(QUERIES, job->L - q0), keys = SR_MIN(KEYS, job->L - k0), D = job->D,
        d = job->d;
    int64_t q = (int64_t)q0 * 3 * D, k = (int64_t)k0 * 3 * D;
    const float *dy = h->dy + (int64_t)q0 * D;
    make_scores(job, h, q0, rows, k0, keys);
    for (int r = 0; r < rows; r++)
        sr__rows()->exp_sum(h->scores + r * KEYS, h->scores + r * KEYS, h->lse[q0 + r], job->scale,
                            keys);
    sr_gemm_here(true, false, keys, d, rows, 1, h->scores, KEYS, dy, D, q0 > 0, h->dv + k, 3 * D);
    sr_gemm_here(false, true, rows, keys, d, 1, dy, D, h->v + k, 3 * D, 0, h->dscores, KEYS);
    for (int r = 0; r < rows; r++)
        softmax_gradient(h->dscores + r * KEYS, h->scores + r * KEYS, h->along[q0 + r], job->scale,
                         keys);
    sr_gemm_here(false, false, rows, d, keys, 1, h->dscores, KEYS, h->k + k, 3 * D, k0 > 0,
                 h->dq + q, 3 * D);
    sr_gemm_here(true, false, keys, d, rows, 1, h->dscores, KEYS, h->q + q, 3 * D, q0 > 0,
                 h->dk + k, 3 * D);
}

// One head of one image.
static void backward_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    Head h = head_at(job, i, thread);
    for (int l = 0; l < job->L; l++)
        h.along[l] =
            (float)sr__rows()->dot(h.y + (int64_t)l * job->D, h.dy + (int64_t)l * job->D, job->d);
    for (int k0 = 0; k0 < job->L; k0 += KEYS)
        for (int q0 = 0; q0 < job->L; q0 += QUERIES)
            backward_tile(job, &h, q0, k0);
}

static void backward(const SrOpCall *call) {
    Job job = job_of(call);
    if (call->dx[0])
        sr_parallel_for((int64_t)call->y.shape.d[0] * job.E, backward_unit, &job);
}

// The scores of one query q against all keys, (L), as probabilities.
static void reference_row(const double *q, const double *k, int L, int far, int d, double scale,
                          double *p) {
    double most = -INFINITY, sum = 0;
    for (int l = 0; l < L; l++) {
        p[l] = 0;
        for (int i = 0; i < d; i++)
            p[l] += q[i] * k[(int64_t)l * far + i];
        most = fmax(most, p[l]);
    }
    for (int l = 0; l < L; l++)
        sum += p[l] = exp(scale * (p[l] - most));
    for (int l = 0; l < L; l++)
        p[l] /= sum;
}

static void reference(const SrRefCall *call) {
    const SrAttentionParams *p = call->params;
    int L = call->y_shape.d[1], D = call->y_shape.d[2], d = D / p->num_heads;
    double *prob = sr_alloc(sizeof(double) * (size_t)L);
    for (int64_t row = 0; prob && row < (int64_t)call->y_shape.d[0] * L; row++)
        for (int e = 0; e < D; e += d) {
            const double *image = call->x[0] + row / L * L * 3 * D + e;
            reference_row(call->x[0] + row * 3 * D + e, image + D, L, 3 * D, d, scale_of(p, d),
                          prob);
            for (int i = 0; i < d; i++) {
                double sum = 0;
                for (int l = 0; l < L; l++)
                    sum += prob[l] * image[(int64_t)l * 3 * D + 2 * D + i];
                call->y[row * D + e + i] = sum;
            }
        }
    sr_free(prob);
}

static const SrOpCase cases[] = {
    {"{num_heads: 2}", 1, {SR_SHAPE(2, 5, 18)}, false},
    {"{num_heads: 1, scale: 0.3}", 1, {SR_SHAPE(1, 7, 12)}, false},
    {"{num_heads: 3}", 1, {SR_SHAPE(2, 1, 9)}, false},   // one token attends to itself
    {"{num_heads: 2}", 1, {SR_SHAPE(1, 70, 12)}, false}, // two tiles of queries
};

const SrOp sr_op_attention = {
    .name = "attention",
    .help = "Softmax attention of several heads on packed queries, keys and values.",
    .options = options,
    .params_bytes = sizeof(SrAttentionParams),
    .min_in = 1,
    .max_in = 1,
    .infer = infer,
    .reads = reads,
    .saved_bytes = saved_bytes,
    .scratch_bytes = scratch_bytes,
    .flops = flops,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
