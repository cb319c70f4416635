// mean: each channel's mean over the pixels, torch's x.mean([2, 3]): (N, H, W, C) -> (N, C).
#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"
#include "kernels/pool/pool2d_windows.h"

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("mean", x, n_in, 4, 4));
    *y = SR_SHAPE(x[0].d[0], x[0].d[3]);
    return SR_OK;
}

// Pools over one window, whose result is read as a vector.
static SrPool pool_of(SrShape x) {
    return (SrPool){.N = x.d[0],
                    .C = x.d[3],
                    .h = {.in = x.d[1], .out = 1},
                    .w = {.in = x.d[2], .out = 1},
                    .exclude_pad = true};
}

static void reference(const SrRefCall *call) {
    SrPool pool = pool_of(call->x_shape[0]);
    sr__pool_reference(&pool, false, call->x[0], call->y);
}

static void forward(const SrOpCall *call) {
    SrPool pool = pool_of(call->x[0].shape);
    sr__pool_mean(call->machine, &pool, call->x[0].dtype, call->x[0].data, call->y.dtype,
                  call->y.data);
}

static void backward(const SrOpCall *call) {
    SrPool pool = pool_of(call->x[0].shape);
    if (call->dx[0])
        sr__pool_mean_grad(call->machine, &pool, call->y.dtype, call->dy, call->x[0].dtype,
                           call->dx[0]);
}

static SrStatus onnx(SrOnnxCall *call) {
    sr__onnx_begin(call, "ReduceMean", call->in, 1);
    sr_onnx_ints(call->file, "axes", (const int64_t[]){2, 3}, 2);
    sr_onnx_int(call->file, "keepdims", 0);
    sr_onnx_end(call->file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(2, 5, 7, 3)}, false},
    {"{}", 1, {SR_SHAPE(1, 4, 4, 20)}, false},
};

const SrOp sr_op_mean = {
    .name = "mean",
    .help = "Mean over the pixels of each channel.",
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP | SR_OP_BF16 | SR_OP_MIXES,
    .infer = infer,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
