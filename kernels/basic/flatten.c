// flatten: torch.flatten(x, 1).  The numbers of one image are put in PyTorch's order C, H, W, so
// that linear weights of checkpoints fit: a transpose of (H W, C).  Where H W or C is 1 it is a
// view.
#include <string.h>

#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("flatten", x, n_in, 2, SR_MAX_RANK));
    *y = SR_SHAPE(x[0].d[0], (int)(sr_shape_count(x[0]) / x[0].d[0]));
    return SR_OK;
}

// Only maps (N, H, W, C) are stored in another order than PyTorch's; tokens (N, L, D) are not.
static bool is_view(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return x[0].rank != 4 || x[0].d[3] == 1 || x[0].d[1] * x[0].d[2] == 1;
}

// Computes out (n, cols, rows) = in (n, rows, cols), each image by one thread, in tiles that fit
// the cache.
static void transpose(float *out, const float *in, int n, int rows, int cols) {
    enum { TILE = 32 };
#pragma omp parallel for schedule(static) if ((int64_t)n * rows * cols > SR_CHUNK)
    for (int i = 0; i < n; i++) {
        const float *from = in + (int64_t)i * rows * cols;
        float *to = out + (int64_t)i * rows * cols;
        for (int r0 = 0; r0 < rows; r0 += TILE)
            for (int c0 = 0; c0 < cols; c0 += TILE)
                for (int c = c0; c < SR_MIN(cols, c0 + TILE); c++)
                    for (int r = r0; r < SR_MIN(rows, r0 + TILE); r++)
                        to[(int64_t)c * rows + r] = from[(int64_t)r * cols + c];
    }
}

static void reference(const SrRefCall *call) {
    SrShape s = call->x_shape[0];
    if (is_view(NULL, &s, 1)) {
        memcpy(call->y, call->x[0], (size_t)sr_shape_count(s) * sizeof(double));
        return;
    }
    int pixels = s.d[1] * s.d[2], C = s.d[3];
    for (int n = 0; n < s.d[0]; n++)
        for (int c = 0; c < C; c++)
            for (int i = 0; i < pixels; i++)
                call->y[((int64_t)n * C + c) * pixels + i] =
                    call->x[0][((int64_t)n * pixels + i) * C + c];
}

static void forward(const SrOpCall *call) {
    SrShape s = call->x[0].shape;
    if (is_view(NULL, &s, 1))
        sr__copy(call->y.data, call->x[0].data, sr_shape_count(s));
    else
        transpose(call->y.data, call->x[0].data, s.d[0], s.d[1] * s.d[2], s.d[3]);
}

// The gradient is the same transpose with the sides exchanged.
static void backward(const SrOpCall *call) {
    SrShape s = call->x[0].shape;
    if (!call->dx[0])
        return;
    if (is_view(NULL, &s, 1))
        sr__copy(call->dx[0], call->dy, sr_shape_count(s));
    else
        transpose(call->dx[0], call->dy, s.d[0], s.d[3], s.d[1] * s.d[2]);
}

// ONNX flattens from axis 1 by default; the order is PyTorch's in both.
static SrStatus onnx(SrOnnxCall *call) { return sr__onnx_plain(call, "Flatten"); }

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(2, 3, 4, 37)}, false},
    {"{}", 1, {SR_SHAPE(3, 1, 1, 6)}, false},
    {"{}", 1, {SR_SHAPE(2, 3, 4)}, false},
};

const SrOp sr_op_flatten = {
    .name = "flatten",
    .help = "Joins all dimensions except the first, in PyTorch's order.",
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP,
    .infer = infer,
    .is_view = is_view,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
