// prepend_token: puts a learned token before the sequence of every image, (N, L, D) -> (N, 1 + L,
// D): the class token of vision transformers (Dosovitskiy et al., arXiv:2010.11929, equation 1).
#include <string.h>

#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("prepend_token", x, n_in, 3, 3));
    *y = SR_SHAPE(x[0].d[0], x[0].d[1] + 1, x[0].d[2]);
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    (void)params, (void)n_in;
    out[0] =
        sr__param_slot("token", SR_SHAPE(1, 1, x[0].d[2]), SR_ROLE_OTHER, SR_INIT_NORMAL, 0.02);
    return 1;
}

static void reference(const SrRefCall *call) {
    int64_t D = call->y_shape.d[2], image = call->x_shape[0].d[1] * D;
    double *y = call->y;
    for (int n = 0; n < call->y_shape.d[0]; n++, y += D + image) {
        memcpy(y, call->w[0], (size_t)D * sizeof(double));
        memcpy(y + D, call->x[0] + n * image, (size_t)image * sizeof(double));
    }
}

static void forward(const SrOpCall *call) {
    int N = call->y.shape.d[0];
    int64_t D = call->y.shape.d[2], image = call->x[0].shape.d[1] * D;
    const float *x = call->x[0].data; // (N, L, D)
    float *y = call->y.data;          // (N, 1 + L, D)
#pragma omp parallel for schedule(static) if (N * image > SR_CHUNK)
    for (int n = 0; n < N; n++) {
        memcpy(y + n * (D + image), call->w[0].data, (size_t)D * sizeof(float));
        memcpy(y + n * (D + image) + D, x + n * image, (size_t)image * sizeof(float));
    }
}

// The token adds the images' gradients in their order, on one thread.
static void backward(const SrOpCall *call) {
    int N = call->y.shape.d[0];
    int64_t D = call->y.shape.d[2], image = call->x[0].shape.d[1] * D;
    for (int n = 0; call->dw[0] && n < N; n++)
        for (int64_t i = 0; i < D; i++)
            call->dw[0][i] += call->dy[n * (D + image) + i];
    if (!call->dx[0])
        return;
#pragma omp parallel for schedule(static) if (N * image > SR_CHUNK)
    for (int n = 0; n < N; n++)
        memcpy(call->dx[0] + n * image, call->dy + n * (D + image) + D,
               (size_t)image * sizeof(float));
}

static SrStatus onnx(SrOnnxCall *call) {
    const char *token =
        sr__onnx_each_image(call, "token", sr__onnx_weight(call, 0), call->in[0], 1, call->y.d[2]);
    sr__onnx_begin(call, "Concat", (const char *[]){token, call->in[0]}, 2);
    sr_onnx_int(call->file, "axis", 1);
    sr_onnx_end(call->file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(3, 4, 5)}, false},
    {"{}", 1, {SR_SHAPE(1, 1, 2)}, false},
};

const SrOp sr_op_prepend_token = {
    .name = "prepend_token",
    .help = "Puts a learned token before the sequence of every image.",
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP,
    .infer = infer,
    .slots = slots,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
