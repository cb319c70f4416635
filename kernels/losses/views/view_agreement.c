// view_agreement: how well an image's views agree, as the length of their mean.  x (V N, D),
// view-major, rows of length 1:
//
//   y = mean over n of |m_n|,  m_n = mean over v of x_vn
//
// For rows of length 1 this is the mean cosine of a view and the mean of all views (Tong et al.,
// "EMP-SSL: towards self-supervised learning in one training epoch", arXiv:2304.03977, eq. 2).
#include "kernels/losses/views/views.h"

#include <math.h>
#include <stddef.h>

#include "kernels/core/op_util.h"

static const SrOption options[] = {
    SR_VIEWS_ROW(SrViewsParams),
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrViewsParams *p = params;
    return sr__views_infer("view_agreement", x, n_in, p->num_views, y);
}

static size_t scratch_bytes(const SrOpSite *site) {
    const SrViewsParams *p = site->params;
    return (size_t)(site->x[0].d[0] / p->num_views) * sizeof(double);
}

// Writes the lengths of the means of all images into the scratch.
static const double *lengths(const SrOpCall *call) {
    const SrViewsParams *p = call->params;
    int N = call->x[0].shape.d[0] / p->num_views, D = call->x[0].shape.d[1];
    double *length = call->scratch;
#pragma omp parallel for schedule(static) if ((int64_t)N * D > SR_CHUNK)
    for (int n = 0; n < N; n++) {
        double square = 0;
        for (int d = 0; d < D; d++) {
            double m =
                sr__views_mean(call->x[0].data, p->num_views, (int64_t)N * D, (int64_t)n * D + d);
            square += m * m;
        }
        length[n] = sqrt(square);
    }
    return length;
}

static void forward(const SrOpCall *call) {
    const SrViewsParams *p = call->params;
    int N = call->x[0].shape.d[0] / p->num_views;
    const double *length = lengths(call);
    double sum = 0;
    for (int n = 0; n < N; n++)
        sum += length[n];
    *(float *)call->y.data = (float)(sum / N);
}

// dy / dx_vn = m_n / (|m_n| V N); views that cancel each other have no gradient.
static void backward(const SrOpCall *call) {
    const SrViewsParams *p = call->params;
    int V = p->num_views, N = call->x[0].shape.d[0] / V, D = call->x[0].shape.d[1];
    float *dx = call->dx[0];
    const double *length = dx ? lengths(call) : NULL;
    double dy = (double)call->dy[0] / ((double)V * N);
#pragma omp parallel for schedule(static) if ((int64_t)N * D > SR_CHUNK)
    for (int n = 0; n < (dx ? N : 0); n++)
        for (int d = 0; d < D; d++) {
            int64_t part = (int64_t)N * D, at = (int64_t)n * D + d;
            double m = sr__views_mean(call->x[0].data, V, part, at);
            for (int v = 0; v < V; v++)
                dx[v * part + at] = length[n] > 0 ? (float)(dy * m / length[n]) : 0;
        }
}

static void reference(const SrRefCall *call) {
    const SrViewsParams *p = call->params;
    int V = p->num_views, N = call->x_shape[0].d[0] / V, D = call->x_shape[0].d[1];
    call->y[0] = 0;
    for (int n = 0; n < N; n++) {
        double square = 0;
        for (int d = 0; d < D; d++) {
            double m = 0;
            for (int v = 0; v < V; v++)
                m += call->x[0][((int64_t)v * N + n) * D + d] / V;
            square += m * m;
        }
        call->y[0] += sqrt(square) / N;
    }
}

static const SrOpCase cases[] = {
    {"{num_views: 3}", 1, {SR_SHAPE(6, 4)}, false},
    {"{}", 1, {SR_SHAPE(8, 3)}, false},
};

const SrOp sr_op_view_agreement = {
    .name = "view_agreement",
    .help = "Length of the mean of an image's views: EMP-SSL.",
    .options = options,
    .params_bytes = sizeof(SrViewsParams),
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
