// gram: products of the rows of each image with each other, y[n] = x[n] x[n]^T:
// (N, L, D) -> (N, L, L).  For rows of length 1 these are the cosines between an image's patches.
#include "kernels/core/gemm.h"
#include "kernels/core/op_util.h"

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("gram", x, n_in, 3, 3));
    *y = SR_SHAPE(x[0].d[0], x[0].d[1], x[0].d[1]);
    return SR_OK;
}

static void reference(const SrRefCall *call) {
    int L = call->x_shape[0].d[1], D = call->x_shape[0].d[2];
    for (int64_t i = 0; i < sr_shape_count(call->y_shape); i++) {
        const double *image = call->x[0] + i / L / L * L * D, *a = image + i / L % L * D,
                     *b = image + i % L * D;
        call->y[i] = 0;
        for (int d = 0; d < D; d++)
            call->y[i] += a[d] * b[d];
    }
}

static void forward(const SrOpCall *call) {
    int N = call->x[0].shape.d[0], L = call->x[0].shape.d[1], D = call->x[0].shape.d[2];
#pragma omp parallel for schedule(static)
    for (int n = 0; n < N; n++) {
        const float *x = (const float *)call->x[0].data + (int64_t)n * L * D;
        float *y = (float *)call->y.data + (int64_t)n * L * L;
        sr_gemm_here(false, true, L, L, D, 1, x, D, x, D, 0, y, L);
    }
}

// Computes dx = (dy + dy^T) x for each image.
static void backward(const SrOpCall *call) {
    int N = call->x[0].shape.d[0], L = call->x[0].shape.d[1], D = call->x[0].shape.d[2];
    if (!call->dx[0])
        return;
#pragma omp parallel for schedule(static)
    for (int n = 0; n < N; n++) {
        const float *x = (const float *)call->x[0].data + (int64_t)n * L * D;
        const float *dy = call->dy + (int64_t)n * L * L;
        float *dx = call->dx[0] + (int64_t)n * L * D;
        sr_gemm_here(false, false, L, D, L, 1, dy, L, x, D, 0, dx, D);
        sr_gemm_here(true, false, L, D, L, 1, dy, L, x, D, 1, dx, D);
    }
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    (void)params, (void)n_in;
    return 2 * sr_shape_count(y) * x[0].d[2];
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(2, 3, 4)}, false},
    {"{}", 1, {SR_SHAPE(5, 49, 17)}, false},
    {"{}", 1, {SR_SHAPE(1, 1, 6)}, false},
};

const SrOp sr_op_gram = {
    .name = "gram",
    .help = "Products of each image's rows with each other.",
    .min_in = 1,
    .max_in = 1,
    .infer = infer,
    .reads = sr__reads_x,
    .flops = flops,
    .dx_forwards = 2,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
