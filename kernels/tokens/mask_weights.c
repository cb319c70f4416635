// mask_weights: turns a mask (M, L) of 1 and 0 into the weights of a mean, (M, L).  Either the mean
// is over the marked patches of each image and then over images, w = m / (M max(sum of the image's
// m, 1)), as in iBOT (arXiv:2111.07832, eq. 2).  Or it is over the marked patches of the batch, w =
// m / max(sum of all m, 1), as in MAE (arXiv:2111.06377).
#include "kernels/tokens/mask_weights.h"

#include <stddef.h>

#include "kernels/core/op_util.h"

static const SrOption options[] = {
    {"over", SR_OPT_ENUM, offsetof(SrMaskWeightsParams, over), "image", .choices = "image|batch",
     .help = "Set in which the marked patches are counted."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("mask_weights", x, n_in, 2, 2));
    *y = x[0];
    return SR_OK;
}

static void reference(const SrRefCall *call) {
    const SrMaskWeightsParams *p = call->params;
    int M = call->y_shape.d[0], L = call->y_shape.d[1];
    int64_t group = p->over == SR_MASK_IMAGE ? L : (int64_t)M * L;
    for (int64_t at = 0; at < (int64_t)M * L; at += group) {
        double sum = 0;
        for (int64_t i = 0; i < group; i++)
            sum += call->x[0][at + i];
        double per = 1 / (sum > 1 ? sum : 1) / (p->over == SR_MASK_IMAGE ? M : 1);
        for (int64_t i = 0; i < group; i++)
            call->y[at + i] = call->x[0][at + i] * per;
    }
}

static void forward(const SrOpCall *call) {
    const SrMaskWeightsParams *p = call->params;
    const float *mask = call->x[0].data; // (M, L)
    float *w = call->y.data;             // (M, L)
    int M = call->y.shape.d[0], L = call->y.shape.d[1];
    int64_t group = p->over == SR_MASK_IMAGE ? L : (int64_t)M * L;
    for (int64_t at = 0; at < (int64_t)M * L; at += group) {
        double sum = 0;
        for (int64_t i = 0; i < group; i++)
            sum += (double)mask[at + i];
        double per = 1 / (sum > 1 ? sum : 1) / (p->over == SR_MASK_IMAGE ? M : 1);
        for (int64_t i = 0; i < group; i++)
            w[at + i] = (float)((double)mask[at + i] * per);
    }
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(3, 5)}, false},
    {"{over: batch}", 1, {SR_SHAPE(4, 6)}, false},
};

const SrOp sr_op_mask_weights = {
    .name = "mask_weights",
    .help = "Turns a mask into the weights of a mean over the marked patches.",
    .options = options,
    .params_bytes = sizeof(SrMaskWeightsParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP | SR_OP_NO_GRAD,
    .infer = infer,
    .reference = reference,
    .forward = forward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
