// attention: torch.nn.functional.scaled_dot_product_attention of several heads on packed queries, keys and values,
// as one linear layer makes them in vision transformers:
//
//   qkv (N, L, 3 D) [, bias (B, E, L, L)] -> y (N, Q, D),  D = E d,  head e of image n:
//   y = dropout(softmax(scale q k^T + bias[n mod B] + mask)) v  for the first Q tokens' queries, usually all L.
//
// Number (part, e, i) of a token lies at part * D + e * d + i, part 0 q, 1 k, 2 v (timm's and VISSL's reshape to
// (N, L, 3, E, d); torchvision's in_proj).  Between N and L there may be windows, (N, G, L, 3 D): each attends to itself.
// The mask is that of shifted windows (Liu et al., "Swin Transformer", arXiv:2103.14030, section 3.2): -100 between tokens
// that were not neighbours before the map was shifted.
//
// The (L, L) scores never exist: they are made a tile at a time, forward with a running maximum and sum for each query
// (Milakov and Gimelshein 2018), backward once more from one number kept for each query (Dao et al. 2022, algorithm 4).
// A tile is two products (block_product.h) on the calling thread; images and heads (forward: and tiles of queries) are
// the units of work, each computed by one thread in one order.  The bias' gradient is summed over a fixed number of shares of
// the images, and then over the shares, in order.
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "kernels/attention.h"
#include "kernels/block_product.h"
#include "kernels/op_util.h"
#include "kernels/rows.h"

enum {
    QUERIES = 64, // of a tile
    KEYS = 256,   // of a tile: scores and their gradient, 2 * 64 KB, stay in the second-level cache
    SHARES = 4,   // of the images, whose gradients of the bias are summed apart
};

#define FIELD(f) offsetof(SrAttentionParams, f)
static const SrOption options[] = {
    {"num_heads", SR_OPT_INT, FIELD(num_heads), "1", 1, 1 << 16, NULL, "Heads."},
    {"scale", SR_OPT_FLOAT, FIELD(scale), "0", 0, 1e6, NULL,
     "Factor of the scores before the softmax; 0: 1 / sqrt(numbers of a head)."},
    {"dropout", SR_OPT_FLOAT, FIELD(dropout), "0", 0, 0.99, NULL,
     "Dropout of probabilities in training."},
    {"queries", SR_OPT_INT, FIELD(queries), "0", 0, 0x7fffffff, NULL,
     "Only so many first tokens ask (class attention); 0: all."},
    {"windows_h", SR_OPT_INT, FIELD(windows_h), "0", 0, 0xffff, NULL,
     "Rows of windows of a shifted map; 0: no mask."},
    {"windows_w", SR_OPT_INT, FIELD(windows_w), "0", 0, 0xffff, NULL, "Columns of windows."},
    {"window_h", SR_OPT_INT, FIELD(window_h), "0", 0, 0xffff, NULL, "Rows of tokens of a window."},
    {"window_w", SR_OPT_INT, FIELD(window_w), "0", 0, 0xffff, NULL, "Columns of tokens."},
    {"shift_h", SR_OPT_INT, FIELD(shift_h), "0", 0, 0xffff, NULL, "Rows the map was shifted by."},
    {"shift_w", SR_OPT_INT, FIELD(shift_w), "0", 0, 0xffff, NULL, "Columns."},
    SR_OPTION_END,
};
#undef FIELD

// x as (images or windows, L, 3 D), of which the first Q tokens ask.
typedef struct {
    int64_t images;
    int L, D, E, d, Q;
} Sizes;

static Sizes sizes_of(const SrAttentionParams *p, SrShape x) {
    int D = sr_shape_last(x) / 3, L = x.d[x.rank - 2];
    return (Sizes){sr_shape_rows(x) / L,           L, D, p->num_heads, D / p->num_heads,
                   p->queries > 0 ? p->queries : L};
}

static bool is_masked(const SrAttentionParams *p) { return p->windows_h > 0; }

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrAttentionParams *p = params;
    SR_TRY(sr__expect_rank("attention", x, 1, 3, 4));
    if (p->num_heads < 1 || sr_shape_last(x[0]) % (3 * p->num_heads))
        return sr__shape_fail("attention", x, n_in, "(N, L, 3 D) with D a multiple of num_heads %d",
                              p->num_heads);
    Sizes s = sizes_of(p, x[0]);
    if (s.Q > s.L || (n_in > 1 && s.Q < s.L))
        return sr__shape_fail("attention", x, n_in, "at least %d tokens, all of which ask a bias",
                              s.Q);
    if (n_in > 1 &&
        (!sr_shape_equal(x[1], SR_SHAPE(x[1].d[0], s.E, s.L, s.L)) || s.images % x[1].d[0] != 0))
        return sr__shape_fail("attention", x, n_in, "a bias (1, %d, %d, %d)", s.E, s.L, s.L);
    if (is_masked(p) && (x[0].rank != 4 || p->window_h * p->window_w != s.L ||
                         p->windows_h * p->windows_w != x[0].d[1]))
        return sr__shape_fail("attention", x, n_in, "(N, %d x %d windows, %d x %d tokens, 3 D)",
                              p->windows_h, p->windows_w, p->window_h, p->window_w);
    *y = x[0];
    y->d[y->rank - 1] = s.D;
    y->d[y->rank - 2] = s.Q;
    return SR_OK;
}

// Probabilities are made again from the queries and keys; y . dy is the sum each row of their gradient loses.
static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1) | SR_READS_Y;
}

// For each query the logarithm of its softmax's denominator, in the units of the scores as they are made: (N, E, L).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)n_in;
    Sizes s = sizes_of(params, x[0]);
    return sizeof(float) * (size_t)s.images * (size_t)s.E * (size_t)s.Q;
}

// A thread's: scores and their gradient, each (QUERIES, KEYS); a tile's keys and values turned, each (d, KEYS); y . dy of
// each query, (L); sides of a window, (L).
static size_t thread_floats(const Sizes *s) {
    return 2 * QUERIES * KEYS + 2 * KEYS * (size_t)s->d + 2 * (((size_t)s->L + 15) / 16 * 16);
}

static size_t scratch_bytes(const void *params, const SrShape *x, int n_in) {
    Sizes s = sizes_of(params, x[0]);
    return sizeof(float) * (thread_floats(&s) * (size_t)sr_parallel_threads() +
                            (n_in > 1 ? SHARES * (size_t)sr_shape_count(x[1]) : 0));
}

// Two products of L * L * d multiply-adds a head.
static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    (void)n_in;
    return 4 * sr_shape_count(y) * sizes_of(params, x[0]).L;
}

static double scale_of(const SrAttentionParams *p, int d) {
    return p->scale > 0 ? p->scale : 1 / sqrt(d);
}

// Which side of the seam a place of a shifted map lies on; 0 where nothing was shifted.
static int side_of(int place, int places, int window, int shift) {
    return shift == 0 || place < places - window ? 0 : place < places - shift ? 1 : 2;
}

// side (L) of window `i` of its image: tokens of different numbers do not see each other.
static void sides_of(const SrAttentionParams *p, int i, float *side) {
    int H = p->windows_h * p->window_h, W = p->windows_w * p->window_w;
    int y0 = i / p->windows_w * p->window_h, x0 = i % p->windows_w * p->window_w;
    for (int y = 0; y < p->window_h; y++)
        for (int x = 0; x < p->window_w; x++)
            side[y * p->window_w + x] = (float)(3 * side_of(y0 + y, H, p->window_h, p->shift_h) +
                                                side_of(x0 + x, W, p->window_w, p->shift_w));
}

// keep (n): which of the n probabilities from key k0 stay, for one query; a stream a query and tile.
static void draw(uint8_t *keep, int n, double p, uint64_t seed, int64_t iteration, uint64_t key,
                 int64_t query, int tile) {
    SrRng rng = sr_rng(seed, SR_RNG_DROPOUT, (uint64_t)iteration,
                       key ^ ((uint64_t)query * 0x9e3779b97f4a7c15u), (uint32_t)tile, 0);
    double threshold = p * 4294967296.0;
    for (int i = 0; i < n; i++)
        keep[i] = (double)sr_rng_u32(&rng) >= threshold;
}

// What the units of a call share.
typedef struct {
    const SrOpCall *call;
    const SrAttentionParams *p;
    Sizes s;
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
    Sizes s = sizes_of(p, call->x[0].shape);
    bool plain = call->n_in == 1 && !is_masked(p);
    float scale = (float)scale_of(p, s.d);
    return (Job){.call = call,
                 .p = p,
                 .s = s,
                 .L = s.L,
                 .D = s.D,
                 .E = s.E,
                 .d = s.d,
                 .Q = s.Q,
                 .B = call->n_in > 1 ? call->x[1].shape.d[0] : 1,
                 .tiles = (s.Q + QUERIES - 1) / QUERIES,
                 .alpha = plain ? 1 : scale,
                 .scale = plain ? scale : 1,
                 .shares =
                     (float *)call->scratch + thread_floats(&s) * (size_t)sr_parallel_threads(),
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
    float *kt, *vt; // (d, KEYS): the present tile's keys and values, turned
} Head;

static Head head_at(const Job *job, int64_t i, int thread) {
    const SrOpCall *call = job->call;
    int64_t image = i / job->E * job->L * job->D, from = i % job->E * job->d;
    int64_t asked = i / job->E * job->Q * job->D;
    const float *x = (const float *)call->x[0].data + 3 * image + from;
    float *dx = call->dx && call->dx[0] ? call->dx[0] + 3 * image + from : NULL;
    float *own = (float *)call->scratch + (size_t)thread * thread_floats(&job->s);
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
              .dscores = own + QUERIES * KEYS,
              .kt = own + 2 * QUERIES * KEYS,
              .vt = own + 2 * QUERIES * KEYS + KEYS * job->d,
              .along = own + 2 * QUERIES * KEYS + 2 * KEYS * job->d};
    if (call->n_in > 1)
        h.bias = (const float *)call->x[1].data +
                 (i / job->E % job->B * job->E + i % job->E) * job->L * job->L;
    if (is_masked(job->p)) {
        float *side = h.along + ((size_t)job->L + 15) / 16 * 16;
        int window = (int)(i / job->E % (job->p->windows_h * job->p->windows_w));
        sides_of(job->p, window, side);
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
    multiply(false, rows, keys, job->d, job->alpha, h->q + (int64_t)q0 * far, far, h->kt, KEYS,
             false, h->scores, KEYS);
    for (int r = 0; (h->bias || h->side) && r < rows; r++)
        add_bias(h->scores + r * KEYS, h->bias ? h->bias + (int64_t)(q0 + r) * job->L + k0 : NULL,
                 h->side ? h->side + k0 : NULL, h->side ? h->side[q0 + r] : 0, keys);
}

// Multiplies rows (rows, keys) by dropout's mask, the same in every pass.
static void drop(const Job *job, const Head *h, float *x, int q0, int rows, int k0, int keys) {
    const SrOpCall *c = job->call;
    uint8_t keep[KEYS];
    for (int r = 0; job->drops && r < rows; r++) {
        draw(keep, keys, job->p->dropout, c->seed, c->iteration, c->node_key, h->first + q0 + r,
             k0 / KEYS);
        sr__rows()->keep(x + r * KEYS, x + r * KEYS, keep, (float)(1 / (1 - job->p->dropout)),
                         keys);
    }
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
    int q0 = (int)(i % job->tiles) * QUERIES, rows = SR_MIN(QUERIES, job->Q - q0);
    float maximum[QUERIES], *y = h.y + (int64_t)q0 * job->D;
    double sum[QUERIES];
    for (int k0 = 0; k0 < job->L; k0 += KEYS) {
        int keys = SR_MIN(KEYS, job->L - k0);
        sr__block_transpose(h.k + (int64_t)k0 * 3 * job->D, 3 * job->D, keys, job->d, h.kt, KEYS);
        make_scores(job, &h, q0, rows, k0, keys);
        renormalise(job, &h, q0, rows, keys, k0 == 0, maximum, sum);
        drop(job, &h, h.scores, q0, rows, k0, keys);
        multiply(false, rows, job->d, keys, 1, h.scores, KEYS, h.v + (int64_t)k0 * 3 * job->D,
                 3 * job->D, k0 > 0, y, job->D);
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
        sr__rows()->add(SR_F32, to, to, h->dscores + r * KEYS, keys);
    }
}

// dq, dk += products of the scores' gradient; the first keys and the first queries overwrite.
static void add_dqk(const Job *job, const Head *h, int q0, int rows, int k0, int keys) {
    int64_t q = (int64_t)q0 * 3 * job->D, k = (int64_t)k0 * 3 * job->D;
    if (!h->dq)
        return;
    multiply(false, rows, job->d, keys, job->alpha, h->dscores, KEYS, h->k + k, 3 * job->D, k0 > 0,
             h->dq + q, 3 * job->D);
    multiply(true, keys, job->d, rows, job->alpha, h->dscores, KEYS, h->q + q, 3 * job->D, q0 > 0,
             h->dk + k, 3 * job->D);
}

// One tile of queries against one of keys: probabilities again, then all gradients.
static void backward_tile(const Job *job, const Head *h, int q0, int k0) {
    int rows = SR_MIN(QUERIES, job->Q - q0), keys = SR_MIN(KEYS, job->L - k0), D = job->D,
        d = job->d;
    int64_t k = (int64_t)k0 * 3 * D;
    const float *dy = h->dy + (int64_t)q0 * D;
    make_scores(job, h, q0, rows, k0, keys);
    for (int r = 0; r < rows; r++)
        sr__rows()->exp_sum(h->scores + r * KEYS, h->scores + r * KEYS, h->lse[q0 + r], job->scale,
                            keys);
    multiply(false, rows, keys, d, 1, dy, D, h->vt, KEYS, false, h->dscores, KEYS);
    drop(job, h, h->dscores, q0, rows, k0, keys);
    for (int r = 0; r < rows; r++)
        softmax_gradient(h->dscores + r * KEYS, h->scores + r * KEYS, h->along[q0 + r], job->scale,
                         keys);
    add_dbias(job, h, q0, rows, k0, keys);
    add_dqk(job, h, q0, rows, k0, keys);
    drop(job, h, h->scores, q0, rows, k0, keys);
    if (h->dv)
        multiply(true, keys, d, rows, 1, h->scores, KEYS, dy, D, q0 > 0, h->dv + k, 3 * D);
}

static void backward_head(const Job *job, const Head *h) {
    for (int l = job->Q; h->dq && l < job->L; l++) // nobody asked for them
        memset(h->dq + (int64_t)l * 3 * job->D, 0, (size_t)job->d * sizeof *h->dq);
    for (int l = 0; l < job->Q; l++)
        h->along[l] =
            (float)sr__rows()->dot(h->y + (int64_t)l * job->D, h->dy + (int64_t)l * job->D, job->d);
    for (int k0 = 0; k0 < job->L; k0 += KEYS) {
        int keys = SR_MIN(KEYS, job->L - k0), far = 3 * job->D;
        sr__block_transpose(h->k + (int64_t)k0 * far, far, keys, job->d, h->kt, KEYS);
        sr__block_transpose(h->v + (int64_t)k0 * far, far, keys, job->d, h->vt, KEYS);
        for (int q0 = 0; q0 < job->Q; q0 += QUERIES)
            backward_tile(job, h, q0, k0);
    }
}

// One head of one image.
static void backward_unit(void *arg, int64_t i, int thread) {
    Head h = head_at(arg, i, thread);
    backward_head(arg, &h);
}

// One head of a share of the images of one bias, which gives a share of its gradient, (SHARES, B, E, L, L).
static void backward_share(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    int64_t share = i / job->E / job->B, b = i / job->E % job->B, e = i % job->E;
    int64_t LL = (int64_t)job->L * job->L, images = job->s.images / job->B;
    float *dbias = job->shares + i * LL;
    memset(dbias, 0, (size_t)LL * sizeof *dbias);
    for (int64_t n = share * images / SHARES; n < (share + 1) * images / SHARES; n++) {
        Head h = head_at(job, (n * job->B + b) * job->E + e, thread);
        h.dbias = dbias;
        backward_head(job, &h);
    }
}

static void backward(const SrOpCall *call) {
    Job job = job_of(call);
    float *dbias = call->n_in > 1 ? call->dx[1] : NULL;
    if (!dbias) {
        if (call->dx[0])
            sr_parallel_for(job.s.images * job.E, backward_unit, &job);
        return;
    }
    int64_t n = sr_shape_count(call->x[1].shape);
    sr_parallel_for((int64_t)SHARES * job.B * job.E, backward_share, &job);
    sr__copy(dbias, job.shares, n);
    for (int share = 1; share < SHARES; share++)
        sr__rows()->add(SR_F32, dbias, dbias, job.shares + share * n, n);
}

// The probabilities of query l of head e of image n, (L).
static void reference_row(const SrRefCall *call, const Sizes *s, int64_t n, int e, int l,
                          double *p) {
    const SrAttentionParams *a = call->params;
    const double *image = call->x[0] + n * s->L * 3 * s->D + e * s->d;
    const double *q = image + (int64_t)l * 3 * s->D, *k = image + s->D;
    const double *bias =
        call->n_in > 1 ? call->x[1] + n % call->x_shape[1].d[0] * s->E * s->L * s->L : NULL;
    int cols = a->window_w;
    int window = is_masked(a) ? (int)(n % (a->windows_h * a->windows_w)) : 0;
    double most = -INFINITY, sum = 0, scale = scale_of(a, s->d);
    for (int m = 0; m < s->L; m++) {
        p[m] = call->n_in > 1 ? bias[((int64_t)e * s->L + l) * s->L + m] : 0;
        for (int i = 0; i < s->d; i++)
            p[m] += scale * q[i] * k[(int64_t)m * 3 * s->D + i];
        for (int axis = 0; is_masked(a) && axis < 2; axis++) {
            int size = axis ? a->window_w : a->window_h, shift = axis ? a->shift_w : a->shift_h;
            int all = size * (axis ? a->windows_w : a->windows_h);
            int at = size * (axis ? window % a->windows_w : window / a->windows_w);
            int from = axis ? l % cols : l / cols, to = axis ? m % cols : m / cols;
            if (side_of(at + from, all, size, shift) != side_of(at + to, all, size, shift)) {
                p[m] -= 100;
                break;
            }
        }
        most = fmax(most, p[m]);
    }
    for (int m = 0; m < s->L; m++)
        sum += p[m] = exp(p[m] - most);
    for (int m = 0; m < s->L; m++)
        p[m] /= sum;
}

static void reference_drop(const SrRefCall *call, int64_t query, int L, double *p) {
    const SrAttentionParams *a = call->params;
    uint8_t keep[KEYS];
    for (int m = 0; call->train && a->dropout > 0 && m < L; m++) {
        if (m % KEYS == 0)
            draw(keep, SR_MIN(KEYS, L - m), a->dropout, call->seed, call->iteration, call->node_key,
                 query, m / KEYS);
        p[m] *= keep[m % KEYS] / (1 - a->dropout);
    }
}

static void reference(const SrRefCall *call) {
    Sizes s = sizes_of(call->params, call->x_shape[0]);
    double *p = sr_alloc(sizeof *p * (size_t)s.L);
    for (int64_t row = 0; p && row < s.images * s.E * s.Q; row++) {
        int64_t n = row / s.Q / s.E;
        int e = (int)(row / s.Q % s.E), l = (int)(row % s.Q);
        const double *v = call->x[0] + n * s.L * 3 * s.D + 2 * s.D + e * s.d;
        reference_row(call, &s, n, e, l, p);
        reference_drop(call, row, s.L, p);
        for (int i = 0; i < s.d; i++) {
            double sum = 0;
            for (int m = 0; m < s.L; m++)
                sum += p[m] * v[(int64_t)m * 3 * s.D + i];
            call->y[(n * s.Q + l) * s.D + e * s.d + i] = sum;
        }
    }
    sr_free(p);
}

static const SrOpCase cases[] = {
    {"{num_heads: 2}", 1, {SR_SHAPE(2, 5, 18)}, false},
    {"{num_heads: 1, scale: 0.3}", 1, {SR_SHAPE(1, 7, 12)}, false},
    {"{num_heads: 3}", 1, {SR_SHAPE(2, 1, 9)}, false},   // one token attends to itself
    {"{num_heads: 2}", 1, {SR_SHAPE(1, 70, 12)}, false}, // two tiles of queries
    {"{num_heads: 2, dropout: 0.3}", 1, {SR_SHAPE(2, 5, 12)}, false},
    {"{num_heads: 2, queries: 2}", 1, {SR_SHAPE(2, 5, 12)}, false},
    {"{num_heads: 2}", 2, {SR_SHAPE(5, 4, 12), SR_SHAPE(1, 2, 4, 4)}, false},
    {"{num_heads: 1, dropout: 0.2}", 2, {SR_SHAPE(2, 9, 6), SR_SHAPE(1, 1, 9, 9)}, false},
    {"{num_heads: 1, windows_h: 2, windows_w: 2, window_h: 2, window_w: 3, shift_h: 1, shift_w: 1}",
     2,
     {SR_SHAPE(2, 4, 6, 6), SR_SHAPE(1, 1, 6, 6)},
     false},
    {"{num_heads: 2, windows_h: 1, windows_w: 3, window_h: 3, window_w: 2, shift_w: 1}",
     1,
     {SR_SHAPE(1, 3, 6, 12)},
     false},
};

const SrOp sr_op_attention = {
    .name = "attention",
    .help = "Softmax attention of several heads on packed queries, keys and values.",
    .options = options,
    .params_bytes = sizeof(SrAttentionParams),
    .min_in = 1,
    .max_in = 2,
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
