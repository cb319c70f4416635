// gate_halves: y = silu(a) b of the two halves a, b of the last dimension (Shazeer, "GLU variants
// improve transformer", arXiv:2002.05202, equation 5: SwiGLU).
//
//   (.., 2 C) -> (.., C)
#include <math.h>

#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("gate_halves", x, n_in, 2, SR_MAX_RANK));
    if (sr_shape_last(x[0]) % 2)
        return sr__shape_fail("gate_halves", x, n_in, "an even last dimension");
    *y = x[0];
    y->d[y->rank - 1] /= 2;
    return SR_OK;
}

static void reference(const SrRefCall *call) {
    int64_t C = sr_shape_last(call->y_shape);
    for (int64_t i = 0; i < sr_shape_count(call->y_shape); i++) {
        const double *a = call->x[0] + i / C * 2 * C + i % C;
        call->y[i] = a[0] / (1 + exp(-a[0])) * a[C];
    }
}

static void forward(const SrOpCall *call) {
    int64_t C = sr_shape_last(call->y.shape), rows = sr_shape_rows(call->y.shape);
    const float *x = call->x[0].data;
    float *y = call->y.data;
#pragma omp parallel for schedule(static) if (rows * C > SR_CHUNK)
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < C; c++) {
            float a = x[r * 2 * C + c], b = x[r * 2 * C + C + c];
            y[r * C + c] = a / (1 + expf(-a)) * b;
        }
}

// Uses silu'(a) = s (1 + a (1 - s)) with s = sigmoid(a).
static void backward(const SrOpCall *call) {
    int64_t C = sr_shape_last(call->y.shape), rows = sr_shape_rows(call->y.shape);
    const float *x = call->x[0].data, *dy = call->dy;
    float *dx = call->dx[0];
    if (!dx)
        return;
#pragma omp parallel for schedule(static) if (rows * C > SR_CHUNK)
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < C; c++) {
            float a = x[r * 2 * C + c], b = x[r * 2 * C + C + c], s = 1 / (1 + expf(-a));
            dx[r * 2 * C + c] = dy[r * C + c] * b * s * (1 + a * (1 - s));
            dx[r * 2 * C + C + c] = dy[r * C + c] * a * s;
        }
}

static SrStatus onnx(SrOnnxCall *call) {
    int axis = call->y.rank - 1, C = sr_shape_last(call->y);
    const char *x = sr__onnx_rows(call, 0), *a = sr__onnx_slice(call, "a", x, axis, 0, C);
    const char *b = sr__onnx_slice(call, "b", x, axis, C, 2 * (int64_t)C);
    const char *gate = sr__onnx_step(call, "gate", "Sigmoid", &a, 1);
    const char *gated = sr__onnx_two(call, "gated", "Mul", a, gate);
    return sr__onnx_finish(call, sr__onnx_two(call, "product", "Mul", gated, b));
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(3, 6)}, false},
    {"{}", 1, {SR_SHAPE(2, 3, 10)}, false},
};

const SrOp sr_op_gate_halves = {
    .name = "gate_halves",
    .help = "SiLU of the first half, multiplied by the second half.",
    .min_in = 1,
    .max_in = 1,
    .infer = infer,
    .reads = sr__reads_x,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
