// linear: torch.nn.Linear on the last dimension, y = x W^T + b, by OpenBLAS.
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/gemm.h"
#include "kernels/linear.h"
#include "kernels/op_onnx.h"
#include "kernels/op_util.h"

static const SrOption options[] = {
    {"out_features", SR_OPT_INT, offsetof(SrLinearParams, out_features), "1", 1, 1 << 24, NULL,
     "Output features."},
    {"bias", SR_OPT_BOOL, offsetof(SrLinearParams, bias), "true", 0, 0, NULL, "Add a bias."},
    SR_OPTION_END,
};

// y has the shape of x with the last dimension replaced.
static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrLinearParams *p = params;
    SR_TRY(sr__expect_rank("linear", x, n_in, 2, SR_MAX_RANK));
    if (p->out_features < 1)
        return sr_fail(SR_ERR_CONFIG, "linear: out_features %d: expected at least 1",
                       p->out_features);
    *y = x[0];
    y->d[y->rank - 1] = p->out_features;
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    (void)n_in;
    const SrLinearParams *p = params;
    int C = sr_shape_last(x[0]);
    out[0] = sr__param_slot("weight", SR_SHAPE(p->out_features, C), SR_ROLE_WEIGHT,
                            SR_INIT_UNIFORM_FAN_IN, 1);
    // PyTorch draws the bias with the weight's fan-in, which its own shape does not tell.
    out[1] = sr__param_slot("bias", SR_SHAPE(p->out_features), SR_ROLE_BIAS, SR_INIT_UNIFORM,
                            1 / sqrt(C));
    return p->bias ? 2 : 1;
}

// The weight gradient is dy^T x; dx needs only dy and the weight.
static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0);
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    (void)params, (void)n_in;
    return 2 * sr_shape_count(y) * sr_shape_last(x[0]);
}

static void reference(const SrRefCall *call) {
    int64_t rows = sr_shape_rows(call->x_shape[0]);
    int C = sr_shape_last(call->x_shape[0]), K = sr_shape_last(call->y_shape);
    for (int64_t r = 0; r < rows; r++)
        for (int k = 0; k < K; k++) {
            double sum = call->n_w > 1 ? call->w[1][k] : 0;
            for (int c = 0; c < C; c++)
                sum += call->x[0][r * C + c] * call->w[0][(int64_t)k * C + c];
            call->y[r * K + k] = sum;
        }
}

// The bias is laid into y first and the product added to it: one pass less than adding afterwards.
static void forward(const SrOpCall *call) {
    int rows = (int)sr_shape_rows(call->y.shape), C = sr_shape_last(call->x[0].shape);
    int K = sr_shape_last(call->y.shape);
    float *y = call->y.data;                                    // (rows, K)
    const float *bias = call->n_w > 1 ? call->w[1].data : NULL; // (K)
    for (int r = 0; bias && r < rows; r++)
        memcpy(y + (int64_t)r * K, bias, (size_t)K * sizeof(float));
    sr_gemm(false, true, rows, K, C, 1, call->x[0].data, C, call->w[0].data, C, bias ? 1 : 0, y, K);
}

// dW (K, C) += dy^T x,  db (K) += column sums of dy,  dx (rows, C) = or += dy W.
static void backward(const SrOpCall *call) {
    int rows = (int)sr_shape_rows(call->y.shape), C = sr_shape_last(call->x[0].shape);
    int K = sr_shape_last(call->y.shape);
    if (call->dw[0])
        sr_gemm(true, false, K, C, rows, 1, call->dy, K, call->x[0].data, C, 1, call->dw[0], C);
    if (call->n_w > 1 && call->dw[1])
        sr__add_column_sums(call->dy, rows, K, call->dw[1]);
    if (call->dx[0])
        sr_gemm(false, false, rows, C, K, 1, call->dy, K, call->w[0].data, C,
                (float)(call->dx_add & 1), call->dx[0], C);
}

static SrStatus onnx(SrOnnxCall *call) {
    const SrLinearParams *p = call->params;
    if (call->y.rank != 2)
        return sr__onnx_unsupported(call, "of tokens");
    const char *in[] = {call->in[0], sr__onnx_weight(call, 0),
                        p->bias ? sr__onnx_weight(call, 1) : NULL};
    sr__onnx_begin(call, "Gemm", in, p->bias ? 3 : 2);
    sr_onnx_int(call->file, "transB", 1);
    sr_onnx_end(call->file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{out_features: 5}", 1, {SR_SHAPE(4, 7)}, false},
    {"{out_features: 3, bias: false}", 1, {SR_SHAPE(2, 3, 6)}, false},
    {"{out_features: 70}", 1, {SR_SHAPE(33, 2)}, false},
};

const SrOp sr_op_linear = {
    .name = "linear",
    .help = "Matrix product with a weight, on the last dimension.",
    .options = options,
    .params_bytes = sizeof(SrLinearParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_ADDS_DX,
    .infer = infer,
    .slots = slots,
    .reads = reads,
    .flops = flops,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
