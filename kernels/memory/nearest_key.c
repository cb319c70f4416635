// nearest_key: the key of a queue, a state slot (D, K), whose product with each row of x (n, D) is
// largest (Dwibedi et al., "With a little help from my friends", ICCV 2021, arXiv:2104.14548, eq.
// 3).  Among equals the first key wins.  Gradients stop here.
#include <stddef.h>

#include "kernels/core/gemm.h"
#include "kernels/core/op_util.h"
#include "kernels/losses/info_nce.h"

static const SrOption options[] = {
    {"queue_size", SR_OPT_INT, offsetof(SrNearestKeyParams, queue_size), "65536", 1, 1 << 28,
     .help = "Number of keys in the queue."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("nearest_key", x, n_in, 2, 2));
    *y = x[0];
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    const SrNearestKeyParams *p = params;
    (void)n_in;
    out[0] = sr__state_slot("queue", SR_SHAPE(x[0].d[1], p->queue_size), SR_F32, SR_INIT_NORMAL, 1);
    return 1;
}

// Scratch: scores (n, K).
static size_t scratch_bytes(const SrOpSite *site) {
    const SrNearestKeyParams *p = site->params;
    return (size_t)site->x[0].d[0] * (size_t)p->queue_size * sizeof(float);
}

static void reference(const SrRefCall *call) {
    const SrNearestKeyParams *p = call->params;
    int n = call->x_shape[0].d[0], D = call->x_shape[0].d[1], K = p->queue_size;
    for (int i = 0; i < n; i++) {
        double most = 0;
        int best = -1;
        for (int k = 0; k < K; k++) {
            double s = 0;
            for (int d = 0; d < D; d++)
                s += call->x[0][(int64_t)i * D + d] * call->w[0][(int64_t)d * K + k];
            if (best < 0 || s > most)
                most = s, best = k;
        }
        for (int d = 0; d < D; d++)
            call->y[(int64_t)i * D + d] = call->w[0][(int64_t)d * K + best];
    }
}

static void forward(const SrOpCall *call) {
    const SrNearestKeyParams *p = call->params;
    int n = call->x[0].shape.d[0], D = call->x[0].shape.d[1], K = p->queue_size;
    const float *queue = call->w[0].data; // (D, K)
    float *scores = call->scratch, *y = call->y.data;
    sr_gemm(false, false, n, K, D, 1, call->x[0].data, D, queue, K, 0, scores, K);
#pragma omp parallel for schedule(static) if ((int64_t)n * K > SR_CHUNK)
    for (int i = 0; i < n; i++) {
        const float *s = scores + (int64_t)i * K;
        int best = 0;
        for (int k = 1; k < K; k++)
            best = s[k] > s[best] ? k : best;
        for (int d = 0; d < D; d++)
            y[(int64_t)i * D + d] = queue[(int64_t)d * K + best];
    }
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    (void)n_in, (void)y;
    return 2 * (int64_t)x[0].d[0] * x[0].d[1] * ((const SrNearestKeyParams *)params)->queue_size;
}

static const SrOpCase cases[] = {
    {"{queue_size: 5}", 1, {SR_SHAPE(3, 4)}, true},
    {"{queue_size: 70}", 1, {SR_SHAPE(9, 17)}, true},
};

const SrOp sr_op_nearest_key = {
    .name = "nearest_key",
    .help = "The key of a queue that is nearest to each row: NNCLR.",
    .options = options,
    .params_bytes = sizeof(SrNearestKeyParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_NO_GRAD,
    .infer = infer,
    .slots = slots,
    .scratch_bytes = scratch_bytes,
    .flops = flops,
    .reference = reference,
    .forward = forward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
