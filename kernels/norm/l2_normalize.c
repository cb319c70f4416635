// l2_normalize: torch.nn.functional.normalize on the last dimension, y = x / max(|x|, eps).  A row
// shorter than eps is divided by the constant eps, and so is its gradient.
#include <math.h>
#include <stddef.h>

#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"
#include "kernels/norm/l2_normalize.h"

static const SrOption options[] = {
    {"eps", SR_OPT_FLOAT, offsetof(SrL2NormalizeParams, eps), "1e-12", 0, 1,
     .help = "Smallest divisor; 0: 1e-12."},
    SR_OPTION_END,
};

static double eps_of(const void *params) {
    const SrL2NormalizeParams *p = params;
    return p->eps > 0 ? p->eps : 1e-12;
}

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("l2_normalize", x, n_in, 1, SR_MAX_RANK));
    *y = x[0];
    return SR_OK;
}

// The backward reads y, the unit vector to which the gradient must be orthogonal, and no longer
// needs x.
static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_Y;
}

static int inplace(const void *params) {
    (void)params;
    return 0;
}

// Saved: per row 1 / |x|, or -1 / eps where eps was the divisor.
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return (size_t)sr_shape_rows(x[0]) * sizeof(float);
}

static void reference(const SrRefCall *call) {
    int D = sr_shape_last(call->x_shape[0]);
    for (int64_t r = 0, rows = sr_shape_rows(call->x_shape[0]); r < rows; r++) {
        double square = 0;
        for (int d = 0; d < D; d++)
            square += call->x[0][r * D + d] * call->x[0][r * D + d];
        double length = fmax(sqrt(square), eps_of(call->params));
        for (int d = 0; d < D; d++)
            call->y[r * D + d] = call->x[0][r * D + d] / length;
    }
}

// Sums squares in single precision over 64 lanes, added up in double: precise enough for every
// width in use.
static void forward(const SrOpCall *call) {
    const SrRows *k = sr__rows(call->machine);
    const float *x = call->x[0].data;                // (rows, D)
    float *y = call->y.data, *inverse = call->saved; // (rows, D), (rows)
    int64_t rows = sr_shape_rows(call->y.shape);
    int D = sr_shape_last(call->y.shape);
    double eps = eps_of(call->params);
#pragma omp parallel for schedule(static) if (rows * D > SR_CHUNK)
    for (int64_t r = 0; r < rows; r++) {
        double length = sqrt(k->dot(x + r * D, x + r * D, D));
        bool clamped = length < eps;
        float factor = (float)(1 / (clamped ? eps : length));
        if (!call->again)
            inverse[r] = clamped ? -factor : factor;
        k->scale(y + r * D, x + r * D, factor, D);
    }
}

// Computes dx = (dy - y (y . dy)) / |x|.
static void backward(const SrOpCall *call) {
    const SrRows *k = sr__rows(call->machine);
    const float *y = call->y.data, *inverse = call->saved; // (rows, D), (rows)
    float *dx = call->dx[0];                               // (rows, D)
    int64_t rows = sr_shape_rows(call->y.shape);
    int D = sr_shape_last(call->y.shape);
    if (!dx)
        return;
#pragma omp parallel for schedule(static) if (rows * D > SR_CHUNK)
    for (int64_t r = 0; r < rows; r++) {
        const float *dy = call->dy + r * D, *unit = y + r * D;
        double along = inverse[r] < 0 ? 0 : k->dot(unit, dy, D);
        float factor = fabsf(inverse[r]);
        k->scale(dx + r * D, dy, factor, D);
        k->axpy(dx + r * D, unit, (float)-along * factor, D);
    }
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(5, 19)}, false},
    {"{eps: 1}", 1, {SR_SHAPE(6, 2)}, false}, // some rows are shorter than eps, some longer
    {"{eps: 1e-5}", 1, {SR_SHAPE(2, 3, 33)}, false},
};

const SrOp sr_op_l2_normalize = {
    .name = "l2_normalize",
    .help = "Rows divided by their length.",
    .options = options,
    .params_bytes = sizeof(SrL2NormalizeParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP,
    .infer = infer,
    .reads = reads,
    .saved_bytes = saved_bytes,
    .inplace = inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
