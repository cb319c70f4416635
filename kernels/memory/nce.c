// nce: noise-contrastive estimation (Gutmann and Hyvarinen, AISTATS 2010; Wu et al., CVPR 2018,
// equation 10).  Inputs are scores (n, 1 + K), the row's own in column 0 and noise after it; a
// target per row (below 0: the row does not count); and ln Z, a scalar.  With p = exp(score / t) /
// Z and noise of probability 1 / N:
//
//   L = -1 / n  sum over rows of  ln( p_0 / (p_0 + K / N + eps) )
//                                 + sum_k ln( (K / N) / (p_k + K / N + eps) )
//
// eps is that of float, as in VISSL.  n counts rows with a target; without any, L is 0.
#include "kernels/memory/nce.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/core/op_util.h"

#define FIELD(f) offsetof(SrNceParams, f)
static const SrOption options[] = {
    {"samples", SR_OPT_INT64, FIELD(samples), "1", 1, 1e15,
     .help = "Number of images in the data set."},
    {"temperature", SR_OPT_FLOAT, FIELD(temperature), "0.07", 1e-6, 1e6,
     .help = "Temperature that divides the scores."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("nce", x, n_in, 0, 2));
    if (x[0].rank != 2 || x[0].d[1] < 2 || x[1].rank != 1 || x[0].d[0] != x[1].d[0] ||
        sr_shape_count(x[2]) != 1)
        return sr__shape_fail("nce", x, n_in, "scores, a target of each row, one number");
    *y = SR_SCALAR;
    return SR_OK;
}

static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1) | SR_READS_X(2);
}

// Returns K / N, the expected number of noise images that are this image.
static double noise_of(const SrNceParams *p, int M) { return (M - 1) / (double)p->samples; }

// Return the loss of one score, and its derivative by score / t - ln Z.
static double term(double a, double noise, bool own, double *slope) {
    double p = exp(a), both = p + noise + (double)FLT_EPSILON;
    *slope = own ? p / both - 1 : p / both;
    return log(both) - (own ? a : log(noise));
}

static void reference(const SrRefCall *call) {
    const SrNceParams *p = call->params;
    int n = call->x_shape[0].d[0], M = call->x_shape[0].d[1], count = 0;
    double sum = 0, slope;
    for (int i = 0; i < n; i++) {
        if (call->x[1][i] < 0)
            continue;
        count++;
        for (int j = 0; j < M; j++)
            sum += term(call->x[0][(int64_t)i * M + j] / p->temperature - call->x[2][0],
                        noise_of(p, M), j == 0, &slope);
    }
    call->y[0] = count > 0 ? sum / count : 0;
}

typedef struct {
    int n, M, count; // rows, columns, rows that count
    const float *x;  // (n, M)
    double noise, per_t, log_z;
    const SrTensor *targets;
    double *sums; // (n): losses, or slopes
} Work;

static Work work_of(const SrOpCall *call) {
    const SrNceParams *p = call->params;
    Work w = {.n = call->x[0].shape.d[0], .M = call->x[0].shape.d[1], .x = call->x[0].data};
    w.noise = noise_of(p, w.M);
    w.per_t = 1 / p->temperature;
    w.log_z = (double)*(const float *)call->x[2].data;
    w.targets = &call->x[1];
    w.sums = call->scratch;
    for (int i = 0; i < w.n; i++)
        w.count += sr__label_at(w.targets, i) >= 0;
    return w;
}

static size_t scratch_bytes(const SrOpSite *site) {
    return (size_t)site->x[0].d[0] * sizeof(double);
}

// Returns the loss of a row, or the sum of its slopes.  Slopes times factor go to dx; NULL: not
// wanted.
static double one_row(const Work *w, int i, bool gradient, double factor, float *dx) {
    double sum = 0, slopes = 0;
    bool counts = sr__label_at(w->targets, i) >= 0;
    for (int j = 0; j < w->M; j++) {
        double slope = 0;
        if (counts)
            sum += term((double)w->x[(int64_t)i * w->M + j] * w->per_t - w->log_z, w->noise, j == 0,
                        &slope);
        slopes += slope;
        if (dx)
            dx[(int64_t)i * w->M + j] = (float)(factor * slope);
    }
    return gradient ? slopes : sum;
}

// Takes rows in parallel, then adds their sums in order: the same bits for any number of threads.
static double all_rows(const Work *w, bool gradient, double factor, float *dx) {
    double sum = 0;
#pragma omp parallel for schedule(static) if ((int64_t)w->n * w->M > SR_CHUNK)
    for (int i = 0; i < w->n; i++)
        w->sums[i] = one_row(w, i, gradient, factor, dx);
    for (int i = 0; i < w->n; i++)
        sum += w->sums[i];
    return sum;
}

static void forward(const SrOpCall *call) {
    Work w = work_of(call);
    double sum = all_rows(&w, false, 0, NULL);
    *(float *)call->y.data = w.count > 0 ? (float)(sum / w.count) : 0;
}

static void backward(const SrOpCall *call) {
    Work w = work_of(call);
    double dy = w.count > 0 ? (double)call->dy[0] / w.count : 0;
    double slopes = all_rows(&w, true, dy * w.per_t, call->dx[0]);
    if (call->dx[2])
        *call->dx[2] = (float)(-dy * slopes);
    if (call->dx[1])
        sr__zero(call->dx[1], w.n);
}

static const SrOpCase cases[] = {
    {"{samples: 20, temperature: 0.5}", 3, {SR_SHAPE(6, 5), SR_SHAPE(6), SR_SCALAR}, false},
    {"{samples: 300, temperature: 1}", 3, {SR_SHAPE(9, 40), SR_SHAPE(9), SR_SCALAR}, false},
};

const SrOp sr_op_nce = {
    .name = "nce",
    .help = "Noise-contrastive estimation of each row's own score among noise: NPID, PIRL.",
    .options = options,
    .params_bytes = sizeof(SrNceParams),
    .min_in = 3,
    .max_in = 3,
    .infer = infer,
    .reads = reads,
    .scratch_bytes = scratch_bytes,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
