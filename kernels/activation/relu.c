// relu: y = max(x, 0).  Backward reads y, so that x need not be kept.  NaN passes through, so that
// it is noticed.
#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

// The backward reads y: x may be overwritten or dropped by then, and where y is 0, so is the
// gradient.
static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_Y;
}

static int inplace(const void *params) {
    (void)params;
    return 0;
}

static void reference(const SrRefCall *call) {
    for (int64_t i = 0, n = sr_shape_count(call->y_shape); i < n; i++)
        call->y[i] = call->x[0][i] < 0 ? 0 : call->x[0][i];
}

// The tensor is one run of numbers, cut into chunks.
static void forward(const SrOpCall *call) {
    const SrRows *k = sr__rows(call->machine);
    SrDtype type = call->y.dtype;
    const void *x = call->x[0].data; // (n)
    void *y = call->y.data;          // (n)
    int64_t n = sr_shape_count(call->y.shape);
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i += SR_CHUNK)
        k->relu(type, sr__at(type, y, i), sr__at(type, x, i), SR_MIN(SR_CHUNK, n - i));
}

static void backward(const SrOpCall *call) {
    const SrRows *k = sr__rows(call->machine);
    SrDtype type = call->y.dtype;
    const void *y = call->y.data, *dy = call->dy; // (n)
    void *dx = call->dx[0];                       // (n)
    int64_t n = sr_shape_count(call->y.shape);
    if (!dx)
        return;
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i += SR_CHUNK)
        k->relu_grad(type, sr__at(type, dx, i), sr__at(type, y, i), sr__at(type, dy, i),
                     SR_MIN(SR_CHUNK, n - i));
}

static SrStatus onnx(SrOnnxCall *call) { return sr__onnx_plain(call, "Relu"); }

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(2, 3, 5, 7)}, false},
    {"{}", 1, {SR_SHAPE(3, 11)}, false},
};

const SrOp sr_op_relu = {
    .name = "relu",
    .help = "Rectifier, max(x, 0).",
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP | SR_OP_BF16,
    .fuses_as = "relu",
    .infer = sr__infer_same,
    .reads = reads,
    .inplace = inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
