// unit_moments: how far the columns of each view are from mean 0 and deviation 1 (Wu, Balestriero
// and Levine, "VISReg", arXiv:2606.02572: the terms of scale and centre).  x (V N, D), view-major:
//
//   y = mean over views and columns of  scale_weight (sigma - 1)^2 + center_weight mu^2
//
// sigma is divided by N and at least 1e-6; below that it has no gradient.
#include "kernels/losses/views/unit_moments.h"

#include <math.h>
#include <stddef.h>

#include "kernels/core/op_util.h"
#include "kernels/losses/columns.h"
#include "kernels/losses/views/views.h"

#define FIELD(f) offsetof(SrUnitMomentsParams, f)
static const SrOption options[] = {
    SR_VIEWS_ROW(SrUnitMomentsParams),
    {"scale_weight", SR_OPT_FLOAT, FIELD(scale_weight), "1", 0, 1e6,
     .help = "Weight of the distance of deviations from 1."},
    {"center_weight", SR_OPT_FLOAT, FIELD(center_weight), "1", 0, 1e6,
     .help = "Weight of the squared means."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrUnitMomentsParams *p = params;
    return sr__views_infer("unit_moments", x, n_in, p->num_views, y);
}

// Mean and deviation of each view's columns (V, D each).
static size_t scratch_bytes(const SrOpSite *site) {
    const SrUnitMomentsParams *p = site->params;
    return 2 * (size_t)p->num_views * (size_t)site->x[0].d[1] * sizeof(float);
}

static void forward(const SrOpCall *call) {
    const SrUnitMomentsParams *p = call->params;
    int n = p->num_views * call->x[0].shape.d[1];
    float *mean = call->scratch, *deviation = mean + n;
    double sum = 0;
    sr__views_moments(call->x[0], p->num_views, mean, deviation);
    for (int j = 0; j < n; j++) {
        double away = (double)deviation[j] - 1, mu = (double)mean[j];
        sum += p->scale_weight * away * away + p->center_weight * mu * mu;
    }
    *(float *)call->y.data = (float)(sum / n);
}

static void backward(const SrOpCall *call) {
    const SrUnitMomentsParams *p = call->params;
    int V = p->num_views, N = call->x[0].shape.d[0] / V, D = call->x[0].shape.d[1];
    float *mean = call->scratch, *deviation = mean + V * D, *dx = call->dx[0];
    const float *x = call->x[0].data;
    if (!dx)
        return;
    sr__views_moments(call->x[0], V, mean, deviation);
    double factor = 2 * (double)call->dy[0] / ((double)V * D * N);
#pragma omp parallel for schedule(static) if ((int64_t)V * N * D > SR_CHUNK)
    for (int row = 0; row < V * N; row++)
        for (int d = 0; d < D; d++) {
            int j = row / N * D + d;
            double mu = (double)mean[j], sigma = (double)deviation[j];
            double scale = sigma > SR_VIEWS_MIN_DEVIATION
                               ? (sigma - 1) / sigma * ((double)x[(int64_t)row * D + d] - mu)
                               : 0;
            dx[(int64_t)row * D + d] =
                (float)(factor * (p->scale_weight * scale + p->center_weight * mu));
        }
}

static void reference(const SrRefCall *call) {
    const SrUnitMomentsParams *p = call->params;
    int V = p->num_views, N = call->x_shape[0].d[0] / V, D = call->x_shape[0].d[1];
    double sum = 0;
    for (int j = 0; j < V * D; j++) {
        const double *x = call->x[0] + (int64_t)(j / D) * N * D + j % D;
        double mu = 0, square = 0;
        for (int n = 0; n < N; n++)
            mu += x[(int64_t)n * D] / N;
        for (int n = 0; n < N; n++)
            square += (x[(int64_t)n * D] - mu) * (x[(int64_t)n * D] - mu) / N;
        double away = fmax(sqrt(square), SR_VIEWS_MIN_DEVIATION) - 1;
        sum += p->scale_weight * away * away + p->center_weight * mu * mu;
    }
    call->y[0] = sum / (V * D);
}

static const SrOpCase cases[] = {
    {"{num_views: 2}", 1, {SR_SHAPE(10, 3)}, false},
    {"{num_views: 3, scale_weight: 0.5, center_weight: 2}", 1, {SR_SHAPE(21, 40)}, false},
};

const SrOp sr_op_unit_moments = {
    .name = "unit_moments",
    .help = "Distance of the columns of each view from mean 0 and deviation 1: VISReg.",
    .options = options,
    .params_bytes = sizeof(SrUnitMomentsParams),
    .min_in = 1,
    .max_in = 1,
    .infer = infer,
    .reads = sr__reads_x,
    .scratch_bytes = scratch_bytes,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
