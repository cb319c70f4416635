// attention: torch.nn.functional.scaled_dot_product_attention of several heads, on packed queries,
// keys and values as one linear layer makes them in vision transformers:
//
//   qkv (N, L, 3 D) [, bias (B, E, L, L)] -> y (N, Q, D),  D = E d,  head e of image n:
//   y = dropout(softmax(scale q k^T + bias[n mod B] + mask)) v
//
// The queries are those of the first Q tokens, usually all L.
//
// Number (part, e, i) of a token lies at part * D + e * d + i; part 0 is q, 1 is k, 2 is v (timm's
// and VISSL's reshape to (N, L, 3, E, d); torchvision's in_proj).  Windows may lie between N and L,
// (N, G, L, 3 D); attention then stays within each window.  The mask is that of shifted windows
// (Liu et al., "Swin Transformer", arXiv:2103.14030, section 3.2).  It adds -100 between tokens
// that were not neighbours before the map was shifted.
//
// This file holds the op's contract and its reference; attention_tiles.c and attention_whole.c
// compute forward and backward.
#include <math.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "kernels/attention/attention_internal.h"
#include "kernels/core/op_util.h"

#define FIELD(f) offsetof(SrAttentionParams, f)
static const SrOption options[] = {
    {"num_heads", SR_OPT_INT, FIELD(num_heads), "1", 1, 1 << 16, .help = "Heads."},
    {"scale", SR_OPT_FLOAT, FIELD(scale), "0", 0, 1e6,
     .help = "Factor that scales the scores before the softmax; 0: 1 / sqrt(width of a head)."},
    {"dropout", SR_OPT_FLOAT, FIELD(dropout), "0", 0, 0.99,
     .help = "Dropout of probabilities in training."},
    {"queries", SR_OPT_INT, FIELD(queries), "0", 0, 0x7fffffff,
     .help = "Number of first tokens that have queries (class attention); 0: all."},
    {"windows_h", SR_OPT_INT, FIELD(windows_h), "0", 0, 0xffff,
     .help = "Rows of windows in a shifted map; 0: no mask."},
    {"windows_w", SR_OPT_INT, FIELD(windows_w), "0", 0, 0xffff,
     .help = "Columns of windows in a shifted map."},
    {"window_h", SR_OPT_INT, FIELD(window_h), "0", 0, 0xffff,
     .help = "Rows of tokens in a window."},
    {"window_w", SR_OPT_INT, FIELD(window_w), "0", 0, 0xffff,
     .help = "Columns of tokens in a window."},
    {"shift_h", SR_OPT_INT, FIELD(shift_h), "0", 0, 0xffff,
     .help = "Number of rows that the map was shifted by."},
    {"shift_w", SR_OPT_INT, FIELD(shift_w), "0", 0, 0xffff, .help = "Columns."},
    SR_OPTION_END,
};
#undef FIELD

SrAttentionSizes sr__attention_sizes(const SrAttentionParams *p, SrShape x) {
    int D = sr_shape_last(x) / 3, L = x.d[x.rank - 2];
    return (SrAttentionSizes){sr_shape_rows(x) / L,           L, D, p->num_heads, D / p->num_heads,
                              p->queries > 0 ? p->queries : L};
}

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrAttentionParams *p = params;
    SR_TRY(sr__expect_rank("attention", x, 1, 3, 4));
    if (p->num_heads < 1 || sr_shape_last(x[0]) % (3 * p->num_heads))
        return sr__shape_fail("attention", x, n_in, "(N, L, 3 D) with D a multiple of num_heads %d",
                              p->num_heads);
    SrAttentionSizes s = sr__attention_sizes(p, x[0]);
    if (s.Q > s.L || (n_in > 1 && s.Q < s.L))
        return sr__shape_fail(
            "attention", x, n_in,
            "at least %d tokens, and queries of all of them where there is a bias", s.Q);
    if (n_in > 1 &&
        (!sr_shape_equal(x[1], SR_SHAPE(x[1].d[0], s.E, s.L, s.L)) || s.images % x[1].d[0] != 0))
        return sr__shape_fail("attention", x, n_in, "a bias (1, %d, %d, %d)", s.E, s.L, s.L);
    if (sr__attention_is_masked(p) && (x[0].rank != 4 || p->window_h * p->window_w != s.L ||
                                       p->windows_h * p->windows_w != x[0].d[1]))
        return sr__shape_fail("attention", x, n_in, "(N, %d x %d windows, %d x %d tokens, 3 D)",
                              p->windows_h, p->windows_w, p->window_h, p->window_w);
    *y = x[0];
    y->d[y->rank - 1] = s.D;
    y->d[y->rank - 2] = s.Q;
    return SR_OK;
}

// The backward recomputes the probabilities from queries and keys; y . dy is what each row of their
// gradient loses.
static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1) | SR_READS_Y;
}

// Saved: for each query the logarithm of its softmax's denominator, in the units of the scores: (N,
// E, L).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)n_in;
    SrAttentionSizes s = sr__attention_sizes(params, x[0]);
    return sizeof(float) * (size_t)s.images * (size_t)s.E * (size_t)s.Q;
}

// Returns the bytes of scratch: a part for each thread, and the shares of the bias's gradient.
static size_t scratch_bytes(const SrOpSite *site) {
    SrAttentionSizes s = sr__attention_sizes(site->params, site->x[0]);
    size_t threads = (size_t)sr_parallel_threads();
    bool bias = site->n_in > 1;
    if (sr__attention_is_whole(site->machine, site->params, &s, site->type, bias))
        return sizeof(float) * sr__attention_whole_floats(site->machine, &s, site->type) * threads;
    size_t shares = bias ? SR_ATTENTION_SHARES * (size_t)sr_shape_count(site->x[1]) : 0;
    return sizeof(float) * (sr__attention_thread_floats(&s, site->type) * threads + shares);
}

// Two products of L * L * d multiply-adds per head.
static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    (void)n_in;
    return 4 * sr_shape_count(y) * sr__attention_sizes(params, x[0]).L;
}

double sr__attention_scale(const SrAttentionParams *p, int d) {
    return p->scale > 0 ? p->scale : 1 / sqrt(d);
}

// Returns the side of the seam on which a place of a shifted map lies; 0 where nothing was shifted.
static int side_of(int place, int places, int window, int shift) {
    return shift == 0 || place < places - window ? 0 : place < places - shift ? 1 : 2;
}

// Writes side (L) of window `i` of its image: tokens with different numbers do not see each other.
void sr__attention_sides(const SrAttentionParams *p, int i, float *side) {
    int H = p->windows_h * p->window_h, W = p->windows_w * p->window_w;
    int y0 = i / p->windows_w * p->window_h, x0 = i % p->windows_w * p->window_w;
    for (int y = 0; y < p->window_h; y++)
        for (int x = 0; x < p->window_w; x++)
            side[y * p->window_w + x] = (float)(3 * side_of(y0 + y, H, p->window_h, p->shift_h) +
                                                side_of(x0 + x, W, p->window_w, p->shift_w));
}

// Draws keep (n): which of the n probabilities from key k0 stay, for one query.  Each query and
// tile has its own random stream.
void sr__attention_draw(uint8_t *keep, int n, double p, uint64_t seed, int64_t iteration,
                        uint64_t key, int64_t query, int tile) {
    SrRng rng = sr_rng(seed, SR_RNG_DROPOUT, (uint64_t)iteration,
                       key ^ ((uint64_t)query * 0x9e3779b97f4a7c15u), (uint32_t)tile, 0);
    double threshold = p * 4294967296.0;
    for (int i = 0; i < n; i++)
        keep[i] = (double)sr_rng_u32(&rng) >= threshold;
}

// Computes the probabilities of query l of head e of image n, (L).
static void reference_row(const SrRefCall *call, const SrAttentionSizes *s, int64_t n, int e, int l,
                          double *p) {
    const SrAttentionParams *a = call->params;
    const double *image = call->x[0] + n * s->L * 3 * s->D + e * s->d;
    const double *q = image + (int64_t)l * 3 * s->D, *k = image + s->D;
    const double *bias =
        call->n_in > 1 ? call->x[1] + n % call->x_shape[1].d[0] * s->E * s->L * s->L : NULL;
    int cols = a->window_w;
    int window = sr__attention_is_masked(a) ? (int)(n % (a->windows_h * a->windows_w)) : 0;
    double most = -INFINITY, sum = 0, scale = sr__attention_scale(a, s->d);
    for (int m = 0; m < s->L; m++) {
        p[m] = call->n_in > 1 ? bias[((int64_t)e * s->L + l) * s->L + m] : 0;
        for (int i = 0; i < s->d; i++)
            p[m] += scale * q[i] * k[(int64_t)m * 3 * s->D + i];
        for (int axis = 0; sr__attention_is_masked(a) && axis < 2; axis++) {
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
    uint8_t keep[SR_ATTENTION_KEYS];
    for (int m = 0; call->train && a->dropout > 0 && m < L; m++) {
        if (m % SR_ATTENTION_KEYS == 0)
            sr__attention_draw(keep, SR_MIN(SR_ATTENTION_KEYS, L - m), a->dropout, call->seed,
                               call->iteration, call->node_key, query, m / SR_ATTENTION_KEYS);
        p[m] *= keep[m % SR_ATTENTION_KEYS] / (1 - a->dropout);
    }
}

static void reference(const SrRefCall *call) {
    SrAttentionSizes s = sr__attention_sizes(call->params, call->x_shape[0]);
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
    .flags = SR_OP_BF16,
    .infer = infer,
    .reads = reads,
    .saved_bytes = saved_bytes,
    .scratch_bytes = scratch_bytes,
    .flops = flops,
    .dx_forwards = 2,
    .reference = reference,
    .forward = sr__attention_forward,
    .backward = sr__attention_backward,
    .onnx = sr__attention_onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
