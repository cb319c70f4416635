// adaptive_avg_pool2d: means over a grid of windows that cover the map, torch.nn.AdaptiveAvgPool2d.
#include <stddef.h>

#include "kernels/op_util.h"
#include "kernels/pool2d_windows.h"

static const SrOption options[] = {
    {"out_h", SR_OPT_INT, offsetof(SrAdaptivePool2dParams, out_h), "1", 0, 65535, NULL,
     "Output rows."},
    {"out_w", SR_OPT_INT, offsetof(SrAdaptivePool2dParams, out_w), "1", 0, 65535, NULL,
     "Output columns."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    return sr__pool_adaptive_infer("adaptive_avg_pool2d", params, x, n_in, y);
}

static void reference(const SrRefCall *call) {
    SrPool pool = sr__pool_adaptive(call->params, call->x_shape[0]);
    sr__pool_reference(&pool, false, call->x[0], call->y);
}

static void forward(const SrOpCall *call) {
    SrPool pool = sr__pool_adaptive(call->params, call->x[0].shape);
    sr__pool_mean(&pool, call->x[0].data, call->y.data);
}

static void backward(const SrOpCall *call) {
    SrPool pool = sr__pool_adaptive(call->params, call->x[0].shape);
    if (call->dx[0])
        sr__pool_mean_grad(&pool, call->dy, call->dx[0]);
}

static SrStatus onnx(SrOnnxCall *call) { return sr__pool_adaptive_onnx(call, "AveragePool"); }

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(2, 5, 7, 3)}, false},
    {"{out_h: 3, out_w: 2}", 1, {SR_SHAPE(2, 7, 5, 20)}, false},
    {"{out_h: 6, out_w: 6}", 1, {SR_SHAPE(1, 4, 6, 2)}, false},
};

const SrOp sr_op_adaptive_avg_pool2d = {
    .name = "adaptive_avg_pool2d",
    .help = "Means over a fixed number of windows.",
    .options = options,
    .params_bytes = sizeof(SrAdaptivePool2dParams),
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
