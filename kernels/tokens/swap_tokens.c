// swap_tokens: (N, L, D) -> (L, N, D), torch.transpose(x, 0, 1): sequence-major, the order in which
// per-token classifiers return their scores.
#include <string.h>

#include "kernels/core/op_util.h"

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("swap_tokens", x, n_in, 3, 3));
    *y = SR_SHAPE(x[0].d[1], x[0].d[0], x[0].d[2]);
    return SR_OK;
}

static void reference(const SrRefCall *call) {
    SrShape s = call->x_shape[0];
    for (int n = 0; n < s.d[0]; n++)
        for (int l = 0; l < s.d[1]; l++)
            memcpy(call->y + ((int64_t)l * s.d[0] + n) * s.d[2],
                   call->x[0] + ((int64_t)n * s.d[1] + l) * s.d[2],
                   (size_t)s.d[2] * sizeof(double));
}

// Computes out (cols, rows, D) = in (rows, cols, D).
static void swap(float *out, const float *in, int rows, int cols, int D) {
#pragma omp parallel for schedule(static) if ((int64_t)rows * cols * D > SR_CHUNK)
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++)
            memcpy(out + ((int64_t)c * rows + r) * D, in + ((int64_t)r * cols + c) * D,
                   (size_t)D * sizeof(float));
}

static void forward(const SrOpCall *call) {
    SrShape s = call->x[0].shape;
    swap(call->y.data, call->x[0].data, s.d[0], s.d[1], s.d[2]);
}

// The gradient is the same transpose with the sides exchanged.
static void backward(const SrOpCall *call) {
    SrShape s = call->x[0].shape;
    if (call->dx[0])
        swap(call->dx[0], call->dy, s.d[1], s.d[0], s.d[2]);
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(2, 5, 3)}, false},
    {"{}", 1, {SR_SHAPE(4, 1, 7)}, false},
};

const SrOp sr_op_swap_tokens = {
    .name = "swap_tokens",
    .help = "Exchanges the dimensions of images and tokens.",
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP,
    .infer = infer,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
