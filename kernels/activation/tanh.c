// tanh: torch.tanh, between the two layers of a vision transformer's classifier.  Each number is
// one call of libm, because the op runs on (N, D) features, never on maps.
#include <math.h>

#include "kernels/activation/pointwise.h"
#include "kernels/core/onnx_rows.h"

// The backward reads y: dy/dx = 1 - y^2, so x need not be kept.
static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_Y;
}

static void reference(const SrRefCall *call) { sr__pointwise_reference(call, tanh); }

static void forward(const SrOpCall *call) {
    const float *x = call->x[0].data; // (n)
    float *y = call->y.data;          // (n)
    int64_t n = sr_shape_count(call->y.shape);
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i++)
        y[i] = tanhf(x[i]);
}

static void backward(const SrOpCall *call) {
    const float *y = call->y.data; // (n)
    const float *dy = call->dy;    // (n)
    float *dx = call->dx[0];       // (n)
    int64_t n = sr_shape_count(call->y.shape);
    if (!dx)
        return;
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i++)
        dx[i] = dy[i] * (1 - y[i] * y[i]);
}

static SrStatus onnx(SrOnnxCall *call) { return sr__onnx_plain(call, "Tanh"); }

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(3, 11)}, false},
    {"{}", 1, {SR_SHAPE(2, 3, 4)}, false},
};

const SrOp sr_op_tanh = {
    .name = "tanh",
    .help = "Hyperbolic tangent.",
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP,
    .infer = sr__infer_same,
    .reads = reads,
    .inplace = sr__pointwise_inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
