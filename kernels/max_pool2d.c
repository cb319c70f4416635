// max_pool2d: the largest of each window, torch.nn.MaxPool2d.
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
    {"ceil_mode", SR_OPT_BOOL, offsetof(SrPool2dParams, ceil_mode), "false", 0, 0, NULL,
     "A last window may hang over the border."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    return sr__pool_fixed_infer("max_pool2d", params, x, n_in, y);
}

// The place of each maximum in its window, (N, P, Q, C).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)n_in;
    SrPool pool = sr__pool_fixed(params, x[0]);
    return (size_t)sr_shape_count(SR_SHAPE(pool.N, pool.h.out, pool.w.out, pool.C)) *
           sizeof(uint16_t);
}

static void reference(const SrRefCall *call) {
    SrPool pool = sr__pool_fixed(call->params, call->x_shape[0]);
    sr__pool_reference(&pool, true, call->x[0], call->y);
}

static void forward(const SrOpCall *call) {
    SrPool pool = sr__pool_fixed(call->params, call->x[0].shape);
    sr__pool_max(&pool, call->y.dtype, call->x[0].data, call->y.data, call->saved);
}

static void backward(const SrOpCall *call) {
    SrPool pool = sr__pool_fixed(call->params, call->x[0].shape);
    if (call->dx[0])
        sr__pool_max_grad(&pool, call->y.dtype, call->dy, call->saved, call->dx[0]);
}

static SrStatus onnx(SrOnnxCall *call) { return sr__pool_fixed_onnx(call, "MaxPool"); }

// clang-format off
static const SrOpCase cases[] = {
    {"{kernel_h: 3, stride_h: 2, padding_h: 1}", 1, {SR_SHAPE(2, 8, 7, 5)}, false},
    {"{kernel_h: 2}", 1, {SR_SHAPE(2, 5, 4, 70)}, false},
    {"{kernel_h: 3, kernel_w: 2, stride_h: 2, stride_w: 1, padding_w: 1, ceil_mode: true}",
     1, {SR_SHAPE(1, 8, 5, 3)}, false},
};
// clang-format on

const SrOp sr_op_max_pool2d = {
    .name = "max_pool2d",
    .help = "Largest number of each window.",
    .options = options,
    .params_bytes = sizeof(SrPool2dParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP | SR_OP_BF16,
    .infer = infer,
    .saved_bytes = saved_bytes,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
