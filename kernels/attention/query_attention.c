// query_attention: softmax attention of a few queries, which are no tokens themselves, on the
// packed keys and values of an image's tokens:
//
//   q (N, Q, D), kv (N, L, 2 D) -> y (N, Q, D),  D = E d,  head e of image n:
//   y = softmax(q k^T / sqrt(d)) v
//
// Keys are the first D numbers of a token of kv, values the last D.  Pooling by attention has one
// learned query (Zhai et al., "Scaling vision transformers", arXiv:2106.04560, section 3.2).
// Images and heads are the units of work, each computed by one thread.
#include "kernels/attention/query_attention.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/core/gemm.h"
#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

static const SrOption options[] = {
    {"num_heads", SR_OPT_INT, offsetof(SrQueryAttentionParams, num_heads), "1", 1, 1 << 16,
     .help = "Heads."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrQueryAttentionParams *p = params;
    SR_TRY(sr__expect_rank("query_attention", x, n_in, 3, 3));
    if (p->num_heads < 1 || x[0].d[2] % p->num_heads || x[1].d[0] != x[0].d[0] ||
        x[1].d[2] != 2 * (int64_t)x[0].d[2])
        return sr__shape_fail("query_attention", x, n_in,
                              "(N, Q, D) and (N, L, 2 D) with D a multiple of num_heads %d",
                              p->num_heads);
    *y = x[0];
    return SR_OK;
}

// The backward recomputes the probabilities.
static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1);
}

// A thread has probabilities and their gradient, each (Q, L).
static size_t scratch_bytes(const SrOpSite *site) {
    return sizeof(float) * 2 * (size_t)site->x[0].d[1] * (size_t)site->x[1].d[1] *
           (size_t)sr_parallel_threads();
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    (void)params, (void)n_in;
    return 4 * sr_shape_count(y) * x[1].d[1];
}

// Computes one query (d) of a head whose keys and values have rows 2 D apart; p (L) is garbage.
static void reference_row(const double *q, const double *k, int L, int D, int d, double *p,
                          double *y) {
    double most = -INFINITY, sum = 0;
    for (int64_t m = 0; m < L; m++) {
        p[m] = 0;
        for (int i = 0; i < d; i++)
            p[m] += q[i] * k[m * 2 * D + i] / sqrt(d);
        most = fmax(most, p[m]);
    }
    for (int m = 0; m < L; m++)
        sum += p[m] = exp(p[m] - most);
    for (int i = 0; i < d; i++) {
        y[i] = 0;
        for (int64_t m = 0; m < L; m++)
            y[i] += p[m] / sum * k[m * 2 * D + D + i];
    }
}

static void reference(const SrRefCall *call) {
    const SrQueryAttentionParams *params = call->params;
    int Q = call->y_shape.d[1], D = call->y_shape.d[2], L = call->x_shape[1].d[1];
    int E = params->num_heads, d = D / E;
    double *p = sr_alloc(sizeof *p * (size_t)L);
    for (int64_t row = 0; p && row < (int64_t)call->y_shape.d[0] * Q * E; row++) {
        int64_t query = row / E, at = query * D + row % E * d;
        reference_row(call->x[0] + at, call->x[1] + query / Q * L * 2 * D + row % E * d, L, D, d, p,
                      call->y + at);
    }
    sr_free(p);
}

// Values that the units of a call share.
typedef struct {
    const SrOpCall *call;
    int Q, L, D, E, d;
} Job;

static Job job_of(const SrOpCall *call) {
    const SrQueryAttentionParams *p = call->params;
    SrShape y = call->y.shape;
    return (Job){call, y.d[1], call->x[1].shape.d[1], y.d[2], p->num_heads, y.d[2] / p->num_heads};
}

// One head of one image.  Rows of queries and of y lie D apart, those of keys and values 2 D.
typedef struct {
    int64_t query, key; // places of the first query and the first key in their tensors
    const float *q, *k, *v;
    float *p, *dp; // (Q, L) each
} Head;

static Head head_at(const Job *job, int64_t i, int thread) {
    int64_t n = i / job->E, e = i % job->E, scores = (int64_t)job->Q * job->L;
    Head h = {.query = n * job->Q * job->D + e * job->d,
              .key = n * job->L * 2 * job->D + e * job->d,
              .p = (float *)job->call->scratch + 2 * scores * thread};
    h.q = (const float *)job->call->x[0].data + h.query;
    h.k = (const float *)job->call->x[1].data + h.key;
    h.v = h.k + job->D;
    h.dp = h.p + scores;
    return h;
}

static float scale_of(const Job *job) { return (float)(1 / sqrt(job->d)); }

static void make_probabilities(const Job *job, const Head *h) {
    const SrRows *rows = sr__rows(job->call->machine);
    sr_gemm_here(false, true, job->Q, job->L, job->d, scale_of(job), h->q, job->D, h->k, 2 * job->D,
                 0, h->p, job->L);
    for (int i = 0; i < job->Q; i++) {
        float *p = h->p + (int64_t)i * job->L;
        double sum = rows->exp_sum(p, p, rows->max(p, job->L), 1, job->L);
        rows->scale(p, p, (float)(1 / sum), job->L);
    }
}

static void forward_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    Head h = head_at(job, i, thread);
    make_probabilities(job, &h);
    sr_gemm_here(false, false, job->Q, job->d, job->L, 1, h.p, job->L, h.v, 2 * job->D, 0,
                 (float *)job->call->y.data + h.query, job->D);
}

static void forward(const SrOpCall *call) {
    Job job = job_of(call);
    sr_parallel_for((int64_t)call->y.shape.d[0] * job.E, forward_unit, &job);
}

// Turns the probabilities' gradient into that of the scores q k^T.
static void score_gradients(const Job *job, const Head *h) {
    const SrRows *rows = sr__rows(job->call->machine);
    for (int i = 0; i < job->Q; i++) {
        const float *p = h->p + (int64_t)i * job->L;
        float *dp = h->dp + (int64_t)i * job->L, along = (float)rows->dot(p, dp, job->L);
        for (int m = 0; m < job->L; m++)
            dp[m] = p[m] * (dp[m] - along) * scale_of(job);
    }
}

static void backward_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    Head h = head_at(job, i, thread);
    int Q = job->Q, L = job->L, D = job->D, d = job->d;
    const float *dy = job->call->dy + h.query;
    float *dq = job->call->dx[0], *dk = job->call->dx[1];
    make_probabilities(job, &h);
    sr_gemm_here(false, true, Q, L, d, 1, dy, D, h.v, 2 * D, 0, h.dp, L);
    score_gradients(job, &h);
    if (dq)
        sr_gemm_here(false, false, Q, d, L, 1, h.dp, L, h.k, 2 * D, 0, dq + h.query, D);
    if (!dk)
        return;
    sr_gemm_here(true, false, L, d, Q, 1, h.dp, L, h.q, D, 0, dk + h.key, 2 * D);
    sr_gemm_here(true, false, L, d, Q, 1, h.p, L, dy, D, 0, dk + h.key + D, 2 * D);
}

static void backward(const SrOpCall *call) {
    Job job = job_of(call);
    if (call->dx[0] || call->dx[1])
        sr_parallel_for((int64_t)call->y.shape.d[0] * job.E, backward_unit, &job);
}

// Writes rows (N, rows, D) as heads (N, E, rows, d), or (N, E, d, rows) for keys.
static const char *onnx_heads(SrOnnxCall *call, const char *what, const char *x, bool keys) {
    const SrQueryAttentionParams *p = call->params;
    const int64_t order[4] = {0, 2, keys ? 3 : 1, keys ? 1 : 3};
    char name[32];
    snprintf(name, sizeof name, "%s.heads", what);
    x = sr__onnx_reshape(call, name, x,
                         (const int64_t[]){0, 0, p->num_heads, call->y.d[2] / p->num_heads}, 4);
    snprintf(name, sizeof name, "%s.turned", what);
    return sr__onnx_transpose(call, name, x, order, 4);
}

static SrStatus onnx(SrOnnxCall *call) {
    const SrQueryAttentionParams *p = call->params;
    int D = call->y.d[2];
    const char *q = onnx_heads(call, "q", call->in[0], false);
    const char *k = sr__onnx_slice(call, "k", call->in[1], 2, 0, D);
    const char *v = sr__onnx_slice(call, "v", call->in[1], 2, D, 2 * (int64_t)D);
    const char *scores = sr__onnx_two(call, "scores", "MatMul", q, onnx_heads(call, "k", k, true));
    scores = sr__onnx_two(call, "scaled", "Mul", scores,
                          sr__onnx_number(call, "scale", 1 / sqrt((double)D / p->num_heads)));
    const char *y =
        sr__onnx_two(call, "mixed", "MatMul", sr__onnx_softmax(call, "probabilities", scores),
                     onnx_heads(call, "v", v, false));
    y = sr__onnx_transpose(call, "tokens", y, (const int64_t[]){0, 2, 1, 3}, 4);
    return sr__onnx_finish(call,
                           sr__onnx_reshape(call, "joined", y, (const int64_t[]){0, 0, D}, 3));
}

static const SrOpCase cases[] = {
    {"{num_heads: 2}", 2, {SR_SHAPE(2, 1, 6), SR_SHAPE(2, 5, 12)}, false},
    {"{num_heads: 1}", 2, {SR_SHAPE(1, 3, 4), SR_SHAPE(1, 7, 8)}, false},
    {"{num_heads: 3}", 2, {SR_SHAPE(2, 2, 9), SR_SHAPE(2, 1, 18)}, false},
};

const SrOp sr_op_query_attention = {
    .name = "query_attention",
    .help = "Softmax attention of a few queries on the tokens of an image.",
    .options = options,
    .params_bytes = sizeof(SrQueryAttentionParams),
    .min_in = 2,
    .max_in = 2,
    .infer = infer,
    .reads = reads,
    .scratch_bytes = scratch_bytes,
    .flops = flops,
    .dx_forwards = 2,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
