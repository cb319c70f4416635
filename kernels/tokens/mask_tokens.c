// mask_tokens: replaces tokens of x (N, L, D) whose mask (N, L) is above 0 by one learned token,
// the mask token of BEiT (Bao et al., arXiv:2106.08254, section 2.3) and iBOT.
#include <string.h>

#include "kernels/core/op_util.h"

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("mask_tokens", x, 1, 3, 3));
    if (!sr_shape_equal(x[1], SR_SHAPE(x[0].d[0], x[0].d[1])))
        return sr__shape_fail("mask_tokens", x, n_in, "(N, L, D) and a mask (N, L)");
    *y = x[0];
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    (void)params, (void)n_in;
    out[0] = sr__param_slot("token", SR_SHAPE(1, x[0].d[2]), SR_ROLE_OTHER, SR_INIT_CONSTANT, 0);
    return 1;
}

static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(1);
}

static void reference(const SrRefCall *call) {
    int64_t D = call->y_shape.d[2];
    for (int64_t r = 0; r < sr_shape_count(call->x_shape[1]); r++)
        memcpy(call->y + r * D, call->x[1][r] > 0 ? call->w[0] : call->x[0] + r * D,
               (size_t)D * sizeof(double));
}

static void forward(const SrOpCall *call) {
    int64_t D = call->y.shape.d[2], rows = sr_shape_count(call->x[1].shape);
    const float *x = call->x[0].data, *mask = call->x[1].data; // (N, L, D), (N, L)
    float *y = call->y.data;
#pragma omp parallel for schedule(static) if (rows * D > SR_CHUNK)
    for (int64_t r = 0; r < rows; r++)
        memcpy(y + r * D, mask[r] > 0 ? (const float *)call->w[0].data : x + r * D,
               (size_t)D * sizeof(float));
}

// The mask token gets the hidden tokens' gradients, rows in order on one thread.
static void backward(const SrOpCall *call) {
    int64_t D = call->y.shape.d[2], rows = sr_shape_count(call->x[1].shape);
    const float *mask = call->x[1].data;
    for (int64_t r = 0; call->dw[0] && r < rows; r++)
        for (int64_t i = 0; mask[r] > 0 && i < D; i++)
            call->dw[0][i] += call->dy[r * D + i];
    if (call->dx[1])
        sr__zero(call->dx[1], rows);
    if (!call->dx[0])
        return;
#pragma omp parallel for schedule(static) if (rows * D > SR_CHUNK)
    for (int64_t r = 0; r < rows; r++)
        if (mask[r] > 0)
            memset(call->dx[0] + r * D, 0, (size_t)D * sizeof(float));
        else
            memcpy(call->dx[0] + r * D, call->dy + r * D, (size_t)D * sizeof(float));
}

static const SrOpCase cases[] = {
    {"{}", 2, {SR_SHAPE(2, 7, 3), SR_SHAPE(2, 7)}, false},
};

const SrOp sr_op_mask_tokens = {
    .name = "mask_tokens",
    .help = "Replaces hidden tokens by a learned one.",
    .min_in = 2,
    .max_in = 2,
    .flags = SR_OP_CHEAP,
    .infer = infer,
    .slots = slots,
    .reads = reads,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
