// gated_attention: gated positional self-attention (d'Ascoli et al., "ConViT", arXiv:2103.10697,
// equations 7 and 8) of the tokens of a map, on packed queries and keys, and values:
//
//   qk (N, L, 2 D), v (N, L, D) -> y (N, L, D),  D = E d;  head e of image n, g = sigmoid(gate_e):
//   y = ((1 - g) softmax(scale q k^T) + g softmax(s)) v,   s_ij = (w_e . r_ij + b_e) / R
//
// r_ij (3 R) holds R times the columns, R times the rows from token i to token j, and R times the
// sum of their squares, so only three sums of w_e matter.  The second softmax is the same for all
// images and computed once per call.
//
// VISSL also divides each row of the mixture by its sum, which is 1; its gradient is 1 as well.
#include "kernels/attention/gated_attention.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/core/gemm.h"
#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

#define FIELD(f) offsetof(SrGatedAttentionParams, f)
static const SrOption options[] = {
    {"num_heads", SR_OPT_INT, FIELD(num_heads), "1", 1, 1 << 16, .help = "Heads."},
    {"scale", SR_OPT_FLOAT, FIELD(scale), "0", 0, 1e6,
     .help = "Factor that scales the scores before the softmax; 0: 1 / sqrt(width of a head)."},
    {"locality_dim", SR_OPT_INT, FIELD(locality_dim), "10", 1, 1 << 16,
     .help = "Columns of the position weights for each of the three distances."},
    {"height", SR_OPT_INT, FIELD(height), "1", 1, 0xffff, .help = "Rows of the map."},
    {"width", SR_OPT_INT, FIELD(width), "1", 1, 0xffff, .help = "Columns of the map."},
    SR_OPTION_END,
};
#undef FIELD

enum { GATE, WEIGHT, BIAS, N_SLOTS };

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrGatedAttentionParams *p = params;
    SR_TRY(sr__expect_rank("gated_attention", x, n_in, 3, 3));
    SrShape values = x[0];
    values.d[2] /= 2;
    if (x[0].d[2] != 2 * x[1].d[2] || !sr_shape_equal(values, x[1]) || x[1].d[2] % p->num_heads ||
        x[1].d[1] != (int64_t)p->height * p->width)
        return sr__shape_fail("gated_attention", x, n_in,
                              "(N, L, 2 D) and (N, L, D) with D a multiple of num_heads %d and "
                              "L = %d x %d",
                              p->num_heads, p->height, p->width);
    *y = x[1];
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    const SrGatedAttentionParams *p = params;
    int E = p->num_heads;
    (void)x, (void)n_in;
    out[GATE] = sr__param_slot("gate", SR_SHAPE(1, E, 1, 1), SR_ROLE_OTHER, SR_INIT_CONSTANT, 1);
    out[WEIGHT] = sr__param_slot("weight", SR_SHAPE(E, 3 * p->locality_dim), SR_ROLE_WEIGHT,
                                 SR_INIT_NORMAL, 0.02);
    out[BIAS] = sr__param_slot("bias", SR_SHAPE(E), SR_ROLE_BIAS, SR_INIT_CONSTANT, 0);
    return N_SLOTS;
}

static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1);
}

// Scratch: the positional attention of all heads and, in the backward, its gradient: (2, E, L, L).
// A thread has probabilities, mixture and gradient: (3, L, L).
static size_t scratch_bytes(const SrOpSite *site) {
    const SrGatedAttentionParams *p = site->params;
    size_t square = (size_t)site->x[0].d[1] * (size_t)site->x[0].d[1];
    return sizeof(float) * square * (2 * (size_t)p->num_heads + 3 * (size_t)sr_parallel_threads());
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    (void)params, (void)n_in;
    return 4 * sr_shape_count(y) * x[0].d[1];
}

// ---- reference

typedef struct {
    double column, row, distance; // sums of a head's weights
} Sums;

static Sums sums_of(const double *w, int R) {
    Sums s = {0, 0, 0};
    for (int r = 0; r < R; r++) {
        s.column += w[r];
        s.row += w[R + r];
        s.distance += w[2 * R + r];
    }
    return s;
}

static double position_score(const SrGatedAttentionParams *p, Sums s, double bias, int i, int j) {
    double dx = j % p->width - i % p->width, dy = j / p->width - i / p->width;
    return (s.column * dx + s.row * dy + s.distance * (dx * dx + dy * dy) + bias) / p->locality_dim;
}

static void reference_softmax(double *x, int n) {
    double most = -INFINITY, sum = 0;
    for (int j = 0; j < n; j++)
        most = fmax(most, x[j]);
    for (int j = 0; j < n; j++)
        sum += x[j] = exp(x[j] - most);
    for (int j = 0; j < n; j++)
        x[j] /= sum;
}

// Computes query i of image n and head e; a and b give room for two rows.
static void reference_row(const SrRefCall *call, int n, int e, int i, double *a, double *b) {
    const SrGatedAttentionParams *p = call->params;
    int L = call->y_shape.d[1], D = call->y_shape.d[2], d = D / p->num_heads;
    double scale = p->scale > 0 ? p->scale : 1 / sqrt(d), g = 1 / (1 + exp(-call->w[GATE][e]));
    const double *qk = call->x[0] + (int64_t)n * L * 2 * D + e * d;
    Sums sums = sums_of(call->w[WEIGHT] + (int64_t)e * 3 * p->locality_dim, p->locality_dim);
    for (int j = 0; j < L; j++) {
        a[j] = 0;
        for (int c = 0; c < d; c++)
            a[j] += scale * qk[(int64_t)i * 2 * D + c] * qk[(int64_t)j * 2 * D + D + c];
        b[j] = position_score(p, sums, call->w[BIAS][e], i, j);
    }
    reference_softmax(a, L);
    reference_softmax(b, L);
    for (int c = 0; c < d; c++) {
        double value = 0;
        for (int j = 0; j < L; j++)
            value += ((1 - g) * a[j] + g * b[j]) * call->x[1][((int64_t)n * L + j) * D + e * d + c];
        call->y[((int64_t)n * L + i) * D + e * d + c] = value;
    }
}

static void reference(const SrRefCall *call) {
    const SrGatedAttentionParams *p = call->params;
    int L = call->y_shape.d[1];
    double *rows = sr_alloc(2 * sizeof *rows * (size_t)L);
    for (int n = 0; rows && n < call->y_shape.d[0]; n++)
        for (int e = 0; e < p->num_heads; e++)
            for (int i = 0; i < L; i++)
                reference_row(call, n, e, i, rows, rows + L);
    sr_free(rows);
}

// ---- fast

typedef struct {
    const SrOpCall *call;
    const SrGatedAttentionParams *p;
    int N, L, D, E, d;
    float scale;
    int64_t square;
} Job;

static Job job_of(const SrOpCall *call) {
    const SrGatedAttentionParams *p = call->params;
    SrShape y = call->y.shape;
    Job job = {call, p, y.d[0], y.d[1], y.d[2], p->num_heads, y.d[2] / p->num_heads, 0, 0};
    job.scale = (float)(p->scale > 0 ? p->scale : 1 / sqrt(job.d));
    job.square = (int64_t)job.L * job.L;
    return job;
}

static float *positions_of(const Job *job, int64_t e) {
    return (float *)job->call->scratch + e * job->square;
}
static float *positions_gradient(const Job *job, int64_t e) {
    return positions_of(job, job->E + e);
}
static float *own_of(const Job *job, int thread) {
    return positions_of(job, 2 * job->E + 3 * (int64_t)thread);
}
static float gate_of(const Job *job, int64_t e) {
    return 1 / (1 + expf(-((const float *)job->call->w[GATE].data)[e]));
}

static void softmax_rows(const Job *job, float *x) {
    for (int i = 0; i < job->L; i++, x += job->L) {
        double sum = sr__rows(job->call->machine)
                         ->exp_sum(x, x, sr__rows(job->call->machine)->max(x, job->L), 1, job->L);
        sr__rows(job->call->machine)->scale(x, x, (float)(1 / sum), job->L);
    }
}

static void make_positions(void *arg, int64_t e, int thread) {
    const Job *job = arg;
    const float *w = (const float *)job->call->w[WEIGHT].data + e * 3 * job->p->locality_dim;
    float *out = positions_of(job, e), bias = ((const float *)job->call->w[BIAS].data)[e];
    Sums s = {0, 0, 0};
    (void)thread;
    for (int r = 0; r < job->p->locality_dim; r++) {
        s.column += (double)w[r];
        s.row += (double)w[job->p->locality_dim + r];
        s.distance += (double)w[2 * job->p->locality_dim + r];
    }
    for (int i = 0; i < job->L; i++)
        for (int j = 0; j < job->L; j++)
            out[(int64_t)i * job->L + j] = (float)position_score(job->p, s, (double)bias, i, j);
    softmax_rows(job, out);
}

// One head of one image: rows of q and k lie 2 D apart, those of v and y D apart.
typedef struct {
    const float *q, *k, *v;
    int64_t at, packed; // offset of its first number in v and y; in q
} Head;

static Head head_of(const Job *job, int64_t n, int64_t e) {
    int64_t at = n * job->L * job->D + e * job->d, packed = 2 * n * job->L * job->D + e * job->d;
    const float *qk = job->call->x[0].data, *v = job->call->x[1].data;
    return (Head){qk + packed, qk + packed + job->D, v + at, at, packed};
}

static void scores(const Job *job, const Head *h, float *p) {
    sr_gemm_here(false, true, job->L, job->L, job->d, job->scale, h->q, 2 * job->D, h->k,
                 2 * job->D, 0, p, job->L);
    softmax_rows(job, p);
}

static void mix(const Job *job, int64_t e, const float *content, float *out) {
    float g = gate_of(job, e);
    const float *positions = positions_of(job, e);
    for (int64_t i = 0; i < job->square; i++)
        out[i] = (1 - g) * content[i] + g * positions[i];
}

static void forward_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    Head h = head_of(job, i / job->E, i % job->E);
    float *p = own_of(job, thread);
    scores(job, &h, p);
    mix(job, i % job->E, p, p);
    sr_gemm_here(false, false, job->L, job->d, job->L, 1, p, job->L, h.v, job->D, 0,
                 (float *)job->call->y.data + h.at, job->D);
}

static void forward(const SrOpCall *call) {
    Job job = job_of(call);
    sr_parallel_for(job.E, make_positions, &job);
    sr_parallel_for((int64_t)job.N * job.E, forward_unit, &job);
}

// Turns x into p (x - sum over the row of x p), the softmax's gradient.
static void softmax_gradient(const Job *job, const float *p, float *x) {
    for (int i = 0; i < job->L; i++, x += job->L, p += job->L) {
        float along = (float)sr__rows(job->call->machine)->dot(p, x, job->L);
        for (int j = 0; j < job->L; j++)
            x[j] = p[j] * (x[j] - along);
    }
}

// Computes the gradients of one image's head.  Returns the sum of gradient times (positions -
// content), the gate's part.
static double backward_head(const Job *job, int64_t n, int64_t e, float *own) {
    const SrOpCall *call = job->call;
    Head h = head_of(job, n, e);
    int L = job->L, D = job->D, d = job->d;
    const float *dy = call->dy + h.at, *positions = positions_of(job, e);
    float *content = own, *mixed = own + job->square, *da = own + 2 * job->square;
    float g = gate_of(job, e), *to = positions_gradient(job, e);
    scores(job, &h, content);
    mix(job, e, content, mixed);
    if (call->dx[1])
        sr_gemm_here(true, false, L, d, L, 1, mixed, L, dy, D, 0, call->dx[1] + h.at, D);
    sr_gemm_here(false, true, L, L, d, 1, dy, D, h.v, D, 0, da, L);
    double apart = sr__rows(job->call->machine)->dot(da, positions, job->square) -
                   sr__rows(job->call->machine)->dot(da, content, job->square);
    sr__rows(job->call->machine)->axpy(to, da, g, job->square);
    if (call->dx[0]) {
        sr__rows(job->call->machine)->scale(da, da, (1 - g) * job->scale, job->square);
        softmax_gradient(job, content, da);
        sr_gemm_here(false, false, L, d, L, 1, da, L, h.k, 2 * D, 0, call->dx[0] + h.packed, 2 * D);
        sr_gemm_here(true, false, L, d, L, 1, da, L, h.q, 2 * D, 0, call->dx[0] + h.packed + D,
                     2 * D);
    }
    return apart;
}

// Computes the gradient of a head's position weights from that of its positional scores.
static void weight_gradient(const Job *job, int64_t e, const float *ds) {
    int R = job->p->locality_dim, W = job->p->width;
    double column = 0, row = 0, distance = 0, bias = 0;
    for (int64_t k = 0; k < job->square; k++) {
        int i = (int)(k / job->L), j = (int)(k % job->L);
        double dx = j % W - i % W, dy = j / W - i / W, t = (double)ds[k] / R;
        column += t * dx;
        row += t * dy;
        distance += t * (dx * dx + dy * dy);
        bias += t;
    }
    const double sums[] = {column, row, distance};
    float *dw = job->call->dw[WEIGHT] ? job->call->dw[WEIGHT] + e * 3 * R : NULL;
    for (int r = 0; dw && r < 3 * R; r++)
        dw[r] += (float)sums[r / R];
    if (job->call->dw[BIAS])
        job->call->dw[BIAS][e] += (float)bias;
}

// Each head adds the images' gradients in their order.
static void backward_unit(void *arg, int64_t e, int thread) {
    const Job *job = arg;
    float *ds = positions_gradient(job, e), g = gate_of(job, e);
    double apart = 0;
    make_positions(arg, e, thread);
    memset(ds, 0, (size_t)job->square * sizeof *ds);
    for (int n = 0; n < job->N; n++)
        apart += backward_head(job, n, e, own_of(job, thread));
    if (job->call->dw[GATE])
        job->call->dw[GATE][e] += (float)((double)(g * (1 - g)) * apart);
    softmax_gradient(job, positions_of(job, e), ds);
    weight_gradient(job, e, ds);
}

static void backward(const SrOpCall *call) {
    Job job = job_of(call);
    sr_parallel_for(job.E, backward_unit, &job);
}

// Writes (N, L, E d) from column `begin` on as (N, E, L, d).
static const char *onnx_heads(SrOnnxCall *call, const char *what, int input, int64_t begin) {
    const SrGatedAttentionParams *p = call->params;
    int D = call->y.d[2];
    char name[32];
    const char *y = sr__onnx_slice(call, what, call->in[input], 2, begin, begin + D);
    snprintf(name, sizeof name, "%s.heads", what);
    y = sr__onnx_reshape(call, name, y, (const int64_t[]){0, 0, p->num_heads, D / p->num_heads}, 4);
    snprintf(name, sizeof name, "%s.turned", what);
    return sr__onnx_transpose(call, name, y, (const int64_t[]){0, 2, 1, 3}, 4);
}

// Writes the positional part, g softmax(s): a constant (1, E, L, L).
static const char *onnx_places(SrOnnxCall *call) {
    const SrGatedAttentionParams *p = call->params;
    int L = call->y.d[1], E = p->num_heads, W = 3 * p->locality_dim;
    size_t n = (size_t)E * (size_t)L * (size_t)L;
    float *out = sr_arena_alloc(&call->file->arena, n * sizeof *out);
    double *row = sr_arena_alloc(&call->file->arena, (size_t)(L + W) * sizeof *row);
    const char *name = sr__onnx_inner(call, "places");
    if (!out || !row) {
        call->file->status = sr_out_of_memory("an ONNX graph");
        return name;
    }
    const float *gate = call->w[GATE].data, *weight = call->w[WEIGHT].data;
    const float *bias = call->w[BIAS].data;
    for (int i = 0; i < E * L; i++) {
        int e = i / L;
        double g = 1 / (1 + exp(-(double)gate[e]));
        for (int c = 0; c < W; c++)
            row[L + c] = weight[e * W + c];
        Sums sums = sums_of(row + L, p->locality_dim);
        for (int j = 0; j < L; j++)
            row[j] = position_score(p, sums, bias[e], i % L, j);
        reference_softmax(row, L);
        for (int j = 0; j < L; j++)
            out[(int64_t)i * L + j] = (float)(g * row[j]);
    }
    sr_onnx_weight(call->file, name, (SrTensor){SR_SHAPE(1, E, L, L), SR_F32, out});
    return name;
}

static SrStatus onnx(SrOnnxCall *call) {
    const SrGatedAttentionParams *p = call->params;
    int D = call->y.d[2], d = D / p->num_heads;
    const char *q = onnx_heads(call, "q", 0, 0), *k = onnx_heads(call, "k", 0, D);
    const char *v = onnx_heads(call, "v", 1, 0);
    k = sr__onnx_transpose(call, "columns", k, (const int64_t[]){0, 1, 3, 2}, 4);
    const char *scale = sr__onnx_number(call, "scale", p->scale > 0 ? p->scale : 1 / sqrt(d));
    const char *scores = sr__onnx_two(call, "scores", "MatMul", q, k);
    scores = sr__onnx_two(call, "scaled", "Mul", scores, scale);
    float *rest = sr_arena_alloc(&call->file->arena, (size_t)p->num_heads * sizeof *rest);
    SR_TRY_MEMORY(rest, "an ONNX graph");
    for (int e = 0; e < p->num_heads; e++)
        rest[e] = 1 / (1 + expf(((const float *)call->w[GATE].data)[e]));
    const char *share = sr__onnx_floats(call, "share", SR_SHAPE(p->num_heads, 1, 1), rest);
    const char *content = sr__onnx_two(call, "content", "Mul",
                                       sr__onnx_softmax(call, "probabilities", scores), share);
    const char *mixture = sr__onnx_two(call, "mixture", "Add", content, onnx_places(call));
    const char *y = sr__onnx_two(call, "mixed", "MatMul", mixture, v);
    y = sr__onnx_transpose(call, "tokens", y, (const int64_t[]){0, 2, 1, 3}, 4);
    return sr__onnx_finish(call,
                           sr__onnx_reshape(call, "joined", y, (const int64_t[]){0, 0, D}, 3));
}

static const SrOpCase cases[] = {
    {"{num_heads: 2, locality_dim: 2, height: 2, width: 3}",
     2,
     {SR_SHAPE(2, 6, 16), SR_SHAPE(2, 6, 8)},
     false},
    {"{num_heads: 1, scale: 0.3, locality_dim: 3, height: 5, width: 1}",
     2,
     {SR_SHAPE(1, 5, 6), SR_SHAPE(1, 5, 3)},
     false},
};

const SrOp sr_op_gated_attention = {
    .name = "gated_attention",
    .help = "Attention mixed with attention by relative position, by a learned gate.",
    .options = options,
    .params_bytes = sizeof(SrGatedAttentionParams),
    .min_in = 2,
    .max_in = 2,
    .infer = infer,
    .slots = slots,
    .reads = reads,
    .scratch_bytes = scratch_bytes,
    .flops = flops,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
