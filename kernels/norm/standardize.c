// standardize: each row to mean 0 and variance 1, (x - mean) / sqrt(var + eps), x (..., D):
// torch.nn.functional.layer_norm without weights, for the target of a loss.  MAE's norm_pix_loss
// (arXiv:2111.06377, section 3) has the unbiased variance, I-JEPA and data2vec the biased one.
// There is no gradient, because targets are given.
#include "kernels/norm/standardize.h"

#include <math.h>
#include <stddef.h>

#include "kernels/core/op_util.h"

static const SrOption options[] = {
    {"eps", SR_OPT_FLOAT, offsetof(SrStandardizeParams, eps), "1e-5", 0, 1,
     .help = "Number added to the variance."},
    {"unbiased", SR_OPT_BOOL, offsetof(SrStandardizeParams, unbiased), "false",
     .help = "Divide the variance by the number of values minus 1."},
    SR_OPTION_END,
};

static void reference(const SrRefCall *call) {
    const SrStandardizeParams *p = call->params;
    int D = sr_shape_last(call->y_shape);
    for (int64_t r = 0; r < sr_shape_rows(call->y_shape); r++) {
        const double *x = call->x[0] + r * D;
        double mean = 0, square = 0;
        for (int i = 0; i < D; i++)
            mean += x[i] / D;
        for (int i = 0; i < D; i++)
            square += (x[i] - mean) * (x[i] - mean);
        for (int i = 0; i < D; i++)
            call->y[r * D + i] = (x[i] - mean) / sqrt(square / SR_MAX(D - p->unbiased, 1) + p->eps);
    }
}

static void forward(const SrOpCall *call) {
    const SrStandardizeParams *p = call->params;
    int D = sr_shape_last(call->y.shape);
    int64_t rows = sr_shape_rows(call->y.shape);
#pragma omp parallel for schedule(static) if (rows * D > SR_CHUNK)
    for (int64_t r = 0; r < rows; r++) {
        const float *x = (const float *)call->x[0].data + r * D;
        float *y = (float *)call->y.data + r * D;
        double sum = 0, square = 0;
        for (int i = 0; i < D; i++)
            sum += (double)x[i];
        double mean = sum / D;
        for (int i = 0; i < D; i++)
            square += ((double)x[i] - mean) * ((double)x[i] - mean);
        double factor = 1 / sqrt(square / SR_MAX(D - p->unbiased, 1) + p->eps);
        for (int i = 0; i < D; i++)
            y[i] = (float)(((double)x[i] - mean) * factor);
    }
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(2, 3, 5)}, false},
    {"{eps: 1e-6, unbiased: true}", 1, {SR_SHAPE(4, 7)}, false},
};

const SrOp sr_op_standardize = {
    .name = "standardize",
    .help = "Normalises rows to mean 0 and variance 1, for targets.",
    .options = options,
    .params_bytes = sizeof(SrStandardizeParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_NO_GRAD,
    .infer = sr__infer_same,
    .reference = reference,
    .forward = forward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
