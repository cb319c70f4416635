// view_spread: mean squared distance of an image's views from the mean of its first G views.  x (V
// N, D) is view-major.  y is the mean over views v, images and features of (x_v - m)^2, where m is
// the mean of views 0 to G - 1; the gradient also flows through m (LeJEPA, arXiv:2511.08544, eq.
// 8).
#include <stddef.h>

#include "kernels/core/op_util.h"
#include "kernels/losses/views/sigreg.h"
#include "kernels/losses/views/views.h"

#define FIELD(f) offsetof(SrViewSpreadParams, f)
static const SrOption options[] = {
    SR_VIEWS_ROW(SrViewSpreadParams),
    {"global_views", SR_OPT_INT, FIELD(global_views), "2", 1, 1 << 16,
     .help = "Number of first views whose mean is the centre."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrViewSpreadParams *p = params;
    SR_TRY(sr__expect_rank("view_spread", x, n_in, 2, 2));
    if (x[0].d[0] % p->num_views != 0 || p->global_views > p->num_views)
        return sr__shape_fail("view_spread", x, n_in, "rows of %d views, %d of them global",
                              p->num_views, p->global_views);
    *y = SR_SCALAR;
    return SR_OK;
}

static void reference(const SrRefCall *call) {
    const SrViewSpreadParams *p = call->params;
    int64_t n = (int64_t)call->x_shape[0].d[0] / p->num_views * call->x_shape[0].d[1];
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
        double m = 0;
        for (int v = 0; v < p->global_views; v++)
            m += call->x[0][v * n + k] / p->global_views;
        for (int v = 0; v < p->num_views; v++)
            sum += (call->x[0][v * n + k] - m) * (call->x[0][v * n + k] - m);
    }
    call->y[0] = sum / (double)(n * p->num_views);
}

static void forward(const SrOpCall *call) {
    const SrViewSpreadParams *p = call->params;
    const float *x = call->x[0].data;
    int64_t n = sr_shape_count(call->x[0].shape) / p->num_views;
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
        double m = sr__views_mean(x, p->global_views, n, k);
        for (int v = 0; v < p->num_views; v++)
            sum += ((double)x[v * n + k] - m) * ((double)x[v * n + k] - m);
    }
    *(float *)call->y.data = (float)(sum / (double)(n * p->num_views));
}

// Computes 2 (x_v - m) / count and, for the global views, their share of the gradient through m.
static void backward(const SrOpCall *call) {
    const SrViewSpreadParams *p = call->params;
    const float *x = call->x[0].data;
    float *dx = call->dx[0];
    int64_t n = sr_shape_count(call->x[0].shape) / p->num_views;
    double factor = 2 * (double)call->dy[0] / (double)(n * p->num_views);
    for (int64_t k = 0; k < (dx ? n : 0); k++) {
        double m = sr__views_mean(x, p->global_views, n, k), sum = 0;
        for (int v = 0; v < p->num_views; v++)
            sum += (double)x[v * n + k] - m;
        for (int v = 0; v < p->num_views; v++)
            dx[v * n + k] = (float)(factor * ((double)x[v * n + k] - m -
                                              (v < p->global_views ? sum / p->global_views : 0)));
    }
}

static const SrOpCase cases[] = {
    {"{num_views: 3, global_views: 2}", 1, {SR_SHAPE(6, 4)}, false},
    {"{}", 1, {SR_SHAPE(8, 3)}, false},
};

const SrOp sr_op_view_spread = {
    .name = "view_spread",
    .help = "Squared distance of an image's views from the mean of its global views: LeJEPA.",
    .options = options,
    .params_bytes = sizeof(SrViewSpreadParams),
    .min_in = 1,
    .max_in = 1,
    .infer = infer,
    .reads = sr__reads_x,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
