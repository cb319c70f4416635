// avg_pool2d: the mean of each window, torch.nn.AvgPool2d (padding counts as zeros).
#include <stddef.h>

#include "kernels/op_util.h"
#include "kernels/pool2d_windows.h"

static const SrOption options[] = {
    {"kernel_h", SR_OPT_INT, offsetof(SrPool2dParams, kernel_h), "2", 1, 65535, NULL,
     "Window rows."},
    {"kernel_w", SR_OPT_INT, offsetof(SrPool2dParams, kernel_w), "0", 0, 65535, NULL,
     "Window columns; 0: as rows."},
    {"stride_h", SR_OPT_INT, offsetof(SrPool2dParams, stride_h), "0", 0, 65535, NULL,
     "Step down; 0: as the window."},
    {"stride_w", SR_OPT_INT, offsetof(SrPool2dParams, stride_w), "0", 0, 65535, NULL,
     "Step right; 0: as down."},
    {"padding_h", SR_OPT_INT, offsetof(SrPool2dParams, padding_h), "0", 0, 65535, NULL,
     "Rows of padding."},
    {"padding_w", SR_OPT_INT, offsetof(SrPool2dParams, padding_w), "-1", -1, 65535, NULL,
     "Columns of padding; -1: as rows."},
    {"exclude_pad", SR_OPT_BOOL, offsetof(SrPool2dParams, exclude_pad), "false", 0, 0, NULL,
     "Divide by the pixels inside the map."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    return sr__pool_fixed_infer("avg_pool2d", params, x, n_in, y);
}

static void reference(const SrRefCall *call) {
    SrPool pool = sr__pool_fixed(call->params, call->x_shape[0]);
    sr__pool_reference(&pool, false, call->x[0], call->y);
}

static void forward(const SrOpCall *call) {
    SrPool pool = sr__pool_fixed(call->params, call->x[0].shape);
    sr__pool_mean(&pool, call->x[0].data, call->y.data);
}

static void backward(const SrOpCall *call) {
    SrPool pool = sr__pool_fixed(call->params, call->x[0].shape);
    if (call->dx[0])
        sr__pool_mean_grad(&pool, call->dy, call->dx[0]);
}

static SrStatus onnx(SrOnnxCall *call) { return sr__pool_fixed_onnx(call, "AveragePool"); }

// clang-format off
static const SrOpCase cases[] = {
    {"{kernel_h: 3, stride_h: 2, padding_h: 1}", 1, {SR_SHAPE(2, 8, 7, 5)}, false},
    {"{kernel_h: 2}", 1, {SR_SHAPE(2, 5, 4, 20)}, false},
    {"{kernel_h: 3, kernel_w: 2, stride_h: 2, stride_w: 1, padding_w: 1, exclude_pad: true}",
     1, {SR_SHAPE(1, 8, 5, 3)}, false},
};
// clang-format on

const SrOp sr_op_avg_pool2d = {
    .name = "avg_pool2d",
    .help = "Mean of each window.",
    .options = options,
    .params_bytes = sizeof(SrPool2dParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP,
    .infer = infer,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
