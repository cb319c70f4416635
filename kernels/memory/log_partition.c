// log_partition: ln Z of noise-contrastive estimation, estimated once and then kept (Wu et al.,
// CVPR 2018, equation 8).  Inputs are scores (n, M) and a target per row (below 0: the row does not
// count).
//
//   Z = N mean over rows that count and columns of exp(score / t)
//
// The state slot norm_constant holds Z; below 0 Z is unknown, and the first call sets it.
// Gradients stop here.
#include <math.h>
#include <stddef.h>

#include "kernels/core/op_util.h"
#include "kernels/memory/nce.h"

#define FIELD(f) offsetof(SrLogPartitionParams, f)
static const SrOption options[] = {
    {"samples", SR_OPT_INT64, FIELD(samples), "1", 1, 1e15,
     .help = "Number of images in the data set."},
    {"temperature", SR_OPT_FLOAT, FIELD(temperature), "0.07", 1e-6, 1e6,
     .help = "Temperature that divides the scores."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("log_partition", x, n_in, 1, 2));
    if (x[0].rank != 2 || x[1].rank != 1 || x[0].d[0] != x[1].d[0])
        return sr__shape_fail("log_partition", x, n_in, "scores, and a target of each row");
    *y = SR_SCALAR;
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    (void)params, (void)x, (void)n_in;
    out[0] = sr__state_slot("norm_constant", SR_SHAPE(1), SR_F32, SR_INIT_CONSTANT, -1);
    return 1;
}

static void reference(const SrRefCall *call) {
    const SrLogPartitionParams *p = call->params;
    int n = call->x_shape[0].d[0], M = call->x_shape[0].d[1];
    double sum = 0, count = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < (call->x[1][i] < 0 ? 0 : M); j++, count++)
            sum += exp(call->x[0][(int64_t)i * M + j] / p->temperature);
    if (call->w[0][0] < 0 && count > 0)
        call->w[0][0] = sum / count * (double)p->samples;
    call->y[0] = call->w[0][0] > 0 ? log(call->w[0][0]) : 0;
}

// Runs in one order on one thread, because it runs once in a training.
static double estimate(const SrOpCall *call) {
    const SrLogPartitionParams *p = call->params;
    int n = call->x[0].shape.d[0], M = call->x[0].shape.d[1];
    const float *x = call->x[0].data; // (n, M)
    double sum = 0, count = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < (sr__label_at(&call->x[1], i) < 0 ? 0 : M); j++, count++)
            sum += exp((double)x[(int64_t)i * M + j] / p->temperature);
    return count > 0 ? sum / count * (double)p->samples : -1;
}

static void forward(const SrOpCall *call) {
    float *norm_constant = call->w[0].data;
    if (*norm_constant < 0)
        *norm_constant = (float)estimate(call);
    *(float *)call->y.data = *norm_constant > 0 ? (float)log((double)*norm_constant) : 0;
}

static const SrOpCase cases[] = {
    {"{samples: 20, temperature: 0.5}", 2, {SR_SHAPE(6, 5), SR_SHAPE(6)}, false},
};

const SrOp sr_op_log_partition = {
    .name = "log_partition",
    .help = "The logarithm of the constant that makes scores probabilities, estimated once: NPID.",
    .options = options,
    .params_bytes = sizeof(SrLogPartitionParams),
    .min_in = 2,
    .max_in = 2,
    .flags = SR_OP_IMPURE | SR_OP_NO_GRAD,
    .infer = infer,
    .slots = slots,
    .reference = reference,
    .forward = forward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
