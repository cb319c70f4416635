// mean_entropy: how far the mean of distributions is from uniform, ln K - H(mean over rows of
// softmax(x)), x (n, K) -> scalar.  Masked siamese networks minimise it so that all prototypes are
// used (Assran et al., arXiv:2204.07141, eq. 2, "me-max").
#include <math.h>
#include <stddef.h>

#include "base/mem.h"
#include "kernels/core/op_util.h"

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("mean_entropy", x, n_in, 2, 2));
    *y = SR_SCALAR;
    return SR_OK;
}

// Saved: probabilities, float (n, K), after their mean, double (K).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return sizeof(double) * ((size_t)x[0].d[1] + ((size_t)sr_shape_count(x[0]) + 1) / 2);
}

static void reference(const SrRefCall *call) {
    int n = call->x_shape[0].d[0], K = call->x_shape[0].d[1];
    double *mean = sr_calloc((size_t)K, sizeof *mean);
    for (int i = 0; mean && i < n; i++) {
        const double *x = call->x[0] + (int64_t)i * K;
        double sum = 0;
        for (int k = 0; k < K; k++)
            sum += exp(x[k]);
        for (int k = 0; k < K; k++)
            mean[k] += exp(x[k]) / sum / n;
    }
    *call->y = log(K);
    for (int k = 0; mean && k < K; k++)
        *call->y += mean[k] * log(mean[k]);
    sr_free(mean);
}

static void softmax(const float *x, float *p, int K) {
    float most = x[0];
    double sum = 0;
    for (int k = 1; k < K; k++)
        most = x[k] > most ? x[k] : most;
    for (int k = 0; k < K; k++) {
        double e = exp((double)(x[k] - most));
        p[k] = (float)e;
        sum += e;
    }
    for (int k = 0; k < K; k++)
        p[k] = (float)((double)p[k] / sum);
}

static void forward(const SrOpCall *call) {
    int n = call->x[0].shape.d[0], K = call->x[0].shape.d[1];
    const float *x = call->x[0].data; // (n, K)
    double *mean = call->saved, loss = log(K);
    float *p = (float *)(mean + K); // (n, K)
#pragma omp parallel for schedule(static) if ((int64_t)n * K > SR_CHUNK)
    for (int64_t i = 0; i < n; i++)
        softmax(x + i * K, p + i * K, K);
#pragma omp parallel for schedule(static) if ((int64_t)n * K > SR_CHUNK)
    for (int k = 0; k < K; k++) {
        mean[k] = 0;
        for (int64_t i = 0; i < n; i++)
            mean[k] += (double)p[i * K + k] / n;
    }
    for (int k = 0; k < K; k++)
        loss += mean[k] > 0 ? mean[k] * log(mean[k]) : 0;
    *(float *)call->y.data = (float)loss;
}

// The gradient by p_k is (ln mean_k + 1) / n; the 1 is the same for all k and cancels in the
// softmax.
static void backward(const SrOpCall *call) {
    int n = call->x[0].shape.d[0], K = call->x[0].shape.d[1];
    const double *mean = call->saved;
    const float *p = (const float *)(mean + K);
    float *dx = call->dx[0];
    if (!dx)
        return;
#pragma omp parallel for schedule(static) if ((int64_t)n * K > SR_CHUNK)
    for (int64_t i = 0; i < n; i++) {
        double inner = 0;
        for (int k = 0; k < K; k++)
            inner += (double)p[i * K + k] * log(fmax(mean[k], 1e-300));
        for (int k = 0; k < K; k++)
            dx[i * K + k] = (float)((double)call->dy[0] / n * (double)p[i * K + k] *
                                    (log(fmax(mean[k], 1e-300)) - inner));
    }
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(5, 4)}, false},
    {"{}", 1, {SR_SHAPE(3, 9)}, false},
};

const SrOp sr_op_mean_entropy = {
    .name = "mean_entropy",
    .help = "Distance of the mean of the rows' distributions from the uniform one.",
    .min_in = 1,
    .max_in = 1,
    .infer = infer,
    .saved_bytes = saved_bytes,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
