// moco_cross_entropy: MoCo's loss of queries (n, D) and their keys (n, D), all of length 1, with a
// queue of K keys in a state slot (D, K):
//
//   L = mean over i of -log( exp(q_i.k_i / t) / (exp(q_i.k_i / t) + sum_j exp(q_i.queue_j / t)) )
//
// He et al., "Momentum contrast for unsupervised visual representation learning" (CVPR 2020), eq.
// 1.  No gradient goes into the queue.
#include "kernels/losses/moco_cross_entropy.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/core/gemm.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

static const SrOption options[] = {
    {"queue_size", SR_OPT_INT, offsetof(SrMocoCrossEntropyParams, queue_size), "65536", 1, 1 << 28,
     .help = "Number of keys in the queue."},
    {"temperature", SR_OPT_FLOAT, offsetof(SrMocoCrossEntropyParams, temperature), "0.2", 1e-6, 1e6,
     .help = "Temperature that divides the cosines."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("moco_cross_entropy", x, n_in, 2, 2));
    if (x[0].d[0] != x[1].d[0] || x[0].d[1] != x[1].d[1])
        return sr__shape_fail("moco_cross_entropy", x, n_in, "as many keys as queries");
    *y = SR_SCALAR;
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    const SrMocoCrossEntropyParams *p = params;
    (void)n_in;
    out[0] = sr__state_slot("queue", SR_SHAPE(x[0].d[1], p->queue_size), SR_F32, SR_INIT_NORMAL, 1);
    return 1;
}

static void reference(const SrRefCall *call) {
    const SrMocoCrossEntropyParams *p = call->params;
    int n = call->x_shape[0].d[0], D = call->x_shape[0].d[1], K = p->queue_size;
    double total = 0;
    for (int i = 0; i < n; i++) {
        const double *q = call->x[0] + (int64_t)i * D, *k = call->x[1] + (int64_t)i * D;
        double own = 0, others = 0;
        for (int d = 0; d < D; d++)
            own += q[d] * k[d] / p->temperature;
        for (int j = 0; j < K; j++) {
            double s = 0;
            for (int d = 0; d < D; d++)
                s += q[d] * call->w[0][(int64_t)d * K + j];
            others += exp(s / p->temperature - own);
        }
        total += log1p(others);
    }
    call->y[0] = total / n;
}

// Saved: per row its key's score, the largest score of the queue, and the sum of exp((s - largest)
// / t), float (3, n).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return 3 * (size_t)x[0].d[0] * sizeof(float);
}

// Scratch: scores against the queue (n, K), and the loss of each row in double.
static size_t scratch_bytes(const SrOpSite *site) {
    const SrMocoCrossEntropyParams *p = site->params;
    size_t n = (size_t)site->x[0].d[0];
    return n * sizeof(double) + n * (size_t)p->queue_size * sizeof(float);
}

typedef struct {
    const SrMachine *machine;
    int n, D, K;
    const float *q, *k, *queue; // (n, D), (n, D), (D, K)
    float *own, *most, *sum;    // each (n)
    double *losses;             // (n)
    float *scores;              // (n, K)
    float per_t;
} Work;

static Work work_of(const SrOpCall *call) {
    const SrMocoCrossEntropyParams *p = call->params;
    Work w = {.machine = call->machine,
              .n = call->x[0].shape.d[0],
              .D = call->x[0].shape.d[1],
              .K = p->queue_size};
    w.q = call->x[0].data;
    w.k = call->x[1].data;
    w.queue = call->w[0].data;
    w.own = call->saved;
    w.most = w.own + w.n;
    w.sum = w.most + w.n;
    w.losses = call->scratch;
    w.scores = (float *)(w.losses + w.n);
    w.per_t = (float)(1 / p->temperature);
    return w;
}

static void scores(const Work *w) {
    sr_gemm(false, false, w->n, w->K, w->D, 1, w->q, w->D, w->queue, w->K, 0, w->scores, w->K);
}

// Returns log(sum over the queue / exp(own)).
static double excess(const Work *w, int i) {
    return ((double)w->most[i] - (double)w->own[i]) * (double)w->per_t + log((double)w->sum[i]);
}

static void forward(const SrOpCall *call) {
    Work w = work_of(call);
    double total = 0;
    scores(&w);
#pragma omp parallel for schedule(static) if ((int64_t)w.n * w.K > SR_CHUNK)
    for (int i = 0; i < w.n; i++) {
        const float *s = w.scores + (int64_t)i * w.K;
        w.own[i] = (float)sr__rows(call->machine)
                       ->dot(w.q + (int64_t)i * w.D, w.k + (int64_t)i * w.D, w.D);
        w.most[i] = sr__rows(call->machine)->max(s, w.K);
        w.sum[i] = (float)sr__rows(call->machine)->exp_sum(NULL, s, w.most[i], w.per_t, w.K);
        double a = excess(&w, i);
        w.losses[i] = a > 0 ? a + log1p(exp(-a)) : log1p(exp(a));
    }
    for (int i = 0; i < w.n; i++)
        total += w.losses[i];
    *(float *)call->y.data = (float)(total / w.n);
}

// Replaces the queue's scores by dL/ds; returns the queue's whole share.
static float queue_gradient(const Work *w, int i, float factor) {
    float *s = w->scores + (int64_t)i * w->K;
    float share = (float)(1 / (1 + exp(-excess(w, i))));
    sr__rows(w->machine)->exp(s, s, w->most[i], w->per_t, w->K);
    sr__rows(w->machine)->scale(s, s, factor * share / w->sum[i], w->K);
    return share;
}

static void backward(const SrOpCall *call) {
    Work w = work_of(call);
    float *dq = call->dx[0], *dk = call->dx[1], factor = call->dy[0] * w.per_t / (float)w.n;
    scores(&w);
#pragma omp parallel for schedule(static) if ((int64_t)w.n * w.K > SR_CHUNK)
    for (int i = 0; i < w.n; i++) {
        float own = -factor * queue_gradient(&w, i, factor);
        if (dq)
            sr__rows(call->machine)->scale(dq + (int64_t)i * w.D, w.k + (int64_t)i * w.D, own, w.D);
        if (dk)
            sr__rows(call->machine)->scale(dk + (int64_t)i * w.D, w.q + (int64_t)i * w.D, own, w.D);
    }
    if (dq)
        sr_gemm(false, true, w.n, w.D, w.K, 1, w.scores, w.K, w.queue, w.K, 1, dq, w.D);
}

static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1);
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    (void)n_in, (void)y;
    return 2 * (int64_t)x[0].d[0] * x[0].d[1] *
           ((const SrMocoCrossEntropyParams *)params)->queue_size;
}

static const SrOpCase cases[] = {
    {"{queue_size: 5, temperature: 0.5}", 2, {SR_SHAPE(3, 4), SR_SHAPE(3, 4)}, false},
    {"{queue_size: 70, temperature: 0.2}", 2, {SR_SHAPE(9, 17), SR_SHAPE(9, 17)}, false},
};

const SrOp sr_op_moco_cross_entropy = {
    .name = "moco_cross_entropy",
    .help = "Cross entropy of each query's own key against a queue of keys: MoCo.",
    .options = options,
    .params_bytes = sizeof(SrMocoCrossEntropyParams),
    .min_in = 2,
    .max_in = 2,
    .infer = infer,
    .slots = slots,
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
