// info_nce: queries a (n, D) and keys b (n, D); row i of a belongs to row i of b:
//
//   L = mean over i of -log( exp(a_i.b_i / t) / sum_j exp(a_i.b_j / t) )
//
// van den Oord et al., "Representation learning with contrastive predictive coding"
// (arXiv:1807.03748), eq. 4, with the keys of other rows as negatives.  SimCLR's loss, where rows
// of one set are both, is nt_xent.c.
#include "kernels/losses/info_nce.h"

#include <math.h>
#include <stddef.h>

#include "kernels/core/gemm.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

static const SrOption options[] = {
    {"temperature", SR_OPT_FLOAT, offsetof(SrInfoNceParams, temperature), "0.1", 1e-6, 1e6,
     .help = "Temperature that divides the scores."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("info_nce", x, n_in, 2, 2));
    if (!sr_shape_equal(x[0], x[1]))
        return sr__shape_fail("info_nce", x, n_in, "as many keys as queries, of one length");
    *y = SR_SCALAR;
    return SR_OK;
}

static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1);
}

static void reference(const SrRefCall *call) {
    const SrInfoNceParams *p = call->params;
    int n = call->x_shape[0].d[0], D = call->x_shape[0].d[1];
    double total = 0;
    for (int i = 0; i < n; i++) {
        double own = 0, sum = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int j = 0; j < n; j++) {
                double s = 0;
                for (int d = 0; d < D; d++)
                    s += call->x[0][(int64_t)i * D + d] * call->x[1][(int64_t)j * D + d];
                if (pass == 0)
                    own = i == j ? s / p->temperature : own;
                else
                    sum += exp(s / p->temperature - own);
            }
        total += log(sum);
    }
    call->y[0] = total / n;
}

// Saved: per row the largest score and the sum of exp((s - largest) / t), float (2, n).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return 2 * (size_t)x[0].d[0] * sizeof(float);
}

// Scratch: scores (n, n), and the loss of each row in double.
static size_t scratch_bytes(const SrOpSite *site) {
    size_t n = (size_t)site->x[0].d[0];
    return n * sizeof(double) + n * n * sizeof(float);
}

typedef struct {
    int n, D;
    const float *a, *b; // (n, D)
    float *most, *sum;  // (n)
    double *losses;     // (n)
    float *scores;      // (n, n)
    float per_t;
} Work;

static Work work_of(const SrOpCall *call) {
    const SrInfoNceParams *p = call->params;
    Work w = {.n = call->x[0].shape.d[0], .D = call->x[0].shape.d[1]};
    w.a = call->x[0].data;
    w.b = call->x[1].data;
    w.most = call->saved;
    w.sum = w.most + w.n;
    w.losses = call->scratch;
    w.scores = (float *)(w.losses + w.n);
    w.per_t = (float)(1 / p->temperature);
    sr_gemm(false, true, w.n, w.n, w.D, 1, w.a, w.D, w.b, w.D, 0, w.scores, w.n);
    return w;
}

static void forward(const SrOpCall *call) {
    Work w = work_of(call);
    double total = 0;
#pragma omp parallel for schedule(static) if ((int64_t)w.n * w.n > SR_CHUNK)
    for (int i = 0; i < w.n; i++) {
        const float *s = w.scores + (int64_t)i * w.n;
        w.most[i] = sr__rows(call->machine)->max(s, w.n);
        w.sum[i] = (float)sr__rows(call->machine)->exp_sum(NULL, s, w.most[i], w.per_t, w.n);
        w.losses[i] = ((double)w.most[i] - (double)s[i]) * (double)w.per_t + log((double)w.sum[i]);
    }
    for (int i = 0; i < w.n; i++)
        total += w.losses[i];
    *(float *)call->y.data = (float)(total / w.n);
}

// Replaces the scores by (softmax - identity) / (t n), then multiplies them by the other side.
static void backward(const SrOpCall *call) {
    Work w = work_of(call);
    float factor = call->dy[0] * w.per_t / (float)w.n;
#pragma omp parallel for schedule(static) if ((int64_t)w.n * w.n > SR_CHUNK)
    for (int i = 0; i < w.n; i++) {
        float *s = w.scores + (int64_t)i * w.n;
        sr__rows(call->machine)->exp(s, s, w.most[i], w.per_t, w.n);
        float own = s[i];
        sr__rows(call->machine)->scale(s, s, factor / w.sum[i], w.n);
        s[i] = -factor * (w.sum[i] - own) / w.sum[i];
    }
    if (call->dx[0])
        sr_gemm(false, false, w.n, w.D, w.n, 1, w.scores, w.n, w.b, w.D, 0, call->dx[0], w.D);
    if (call->dx[1])
        sr_gemm(true, false, w.n, w.D, w.n, 1, w.scores, w.n, w.a, w.D, 0, call->dx[1], w.D);
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    (void)params, (void)n_in, (void)y;
    return 2 * (int64_t)x[0].d[0] * x[0].d[0] * x[0].d[1];
}

static const SrOpCase cases[] = {
    {"{temperature: 0.5}", 2, {SR_SHAPE(6, 4), SR_SHAPE(6, 4)}, false},
    {"{temperature: 1}", 2, {SR_SHAPE(33, 17), SR_SHAPE(33, 17)}, false},
};

const SrOp sr_op_info_nce = {
    .name = "info_nce",
    .help = "Cross entropy of each query's own key among the keys of all images: MoCo v3, NNCLR.",
    .options = options,
    .params_bytes = sizeof(SrInfoNceParams),
    .min_in = 2,
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
