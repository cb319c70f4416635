// gelu: y = x Phi(x) with the exact normal distribution, torch.nn.GELU (Hendrycks and Gimpel 2016).
#include <math.h>

#include "kernels/op_util.h"
#include "kernels/rows.h"

// The slope depends on x; y = x Phi(x) cannot be inverted (it is not monotone).
static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0);
}

static int inplace(const void *params) {
    (void)params;
    return 0;
}

static void reference(const SrRefCall *call) {
    for (int64_t i = 0, n = sr_shape_count(call->y_shape); i < n; i++)
        call->y[i] = call->x[0][i] * 0.5 * erfc(-call->x[0][i] * sqrt(0.5));
}

static void forward(const SrOpCall *call) {
    const SrRows *k = sr__rows();
    const float *x = call->x[0].data; // (n)
    float *y = call->y.data;          // (n)
    int64_t n = sr_shape_count(call->y.shape);
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i += SR_CHUNK)
        k->gelu(y + i, x + i, SR_MIN(SR_CHUNK, n - i));
}

static void backward(const SrOpCall *call) {
    const SrRows *k = sr__rows();
    const float *x = call->x[0].data; // (n)
    float *dx = call->dx[0];          // (n)
    int64_t n = sr_shape_count(call->y.shape);
    if (!dx)
        return;
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i += SR_CHUNK)
        k->gelu_grad(dx + i, x + i, call->dy + i, SR_MIN(SR_CHUNK, n - i));
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(3, 5, 7, 4)}, false},
};

const SrOp sr_op_gelu = {
    .name = "gelu",
    .help = "Gaussian error linear unit.",
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP,
    .infer = sr__infer_same,
    .reads = reads,
    .inplace = inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
