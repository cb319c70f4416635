// scatter_tokens: puts tokens back to their places, and one learned token everywhere else: x (N,
// prefix + K, D) and indices (N, K) -> (N, prefix + length, D).  The first `prefix` tokens keep
// their place.  An index that names no place drops its token; of two tokens with one place the
// later one stays.  A masked autoencoder's decoder begins with it (He et al., arXiv:2111.06377,
// section 3).
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/core/op_util.h"
#include "kernels/tokens/gather_tokens.h"

static const SrOption options[] = {
    {"prefix", SR_OPT_INT, offsetof(SrScatterTokensParams, prefix), "0", 0, 0xffff,
     .help = "Number of first tokens that keep their position."},
    {"length", SR_OPT_INT, offsetof(SrScatterTokensParams, length), "1", 1, 0x7fffffff,
     .help = "Number of positions after them."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrScatterTokensParams *p = params;
    SR_TRY(sr__expect_rank("scatter_tokens", x, 1, 3, 3));
    if (p->prefix < 0 || !sr_shape_equal(x[1], SR_SHAPE(x[0].d[0], x[0].d[1] - p->prefix)))
        return sr__shape_fail("scatter_tokens", x, n_in, "tokens (N, %d + K, D) and indices (N, K)",
                              p->prefix);
    *y = SR_SHAPE(x[0].d[0], p->prefix + p->length, x[0].d[2]);
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    (void)params, (void)n_in;
    out[0] =
        sr__param_slot("token", SR_SHAPE(1, 1, x[0].d[2]), SR_ROLE_OTHER, SR_INIT_NORMAL, 0.02);
    return 1;
}

static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(1);
}

// Scratch: the token that each place holds, int64_t (N, prefix + length).
static size_t scratch_bytes(const SrOpSite *site) {
    const SrScatterTokensParams *p = site->params;
    return sizeof(int64_t) * (size_t)site->x[0].d[0] * (size_t)(p->prefix + p->length);
}

static void reference(const SrRefCall *call) {
    const SrScatterTokensParams *p = call->params;
    int T = call->x_shape[0].d[1], L = call->y_shape.d[1];
    int64_t D = call->y_shape.d[2];
    for (int64_t r = 0; r < (int64_t)call->y_shape.d[0] * L; r++)
        memcpy(call->y + r * D, call->w[0], (size_t)D * sizeof(double));
    for (int64_t n = 0; n < call->y_shape.d[0]; n++)
        for (int t = 0; t < T; t++) {
            double at = t < p->prefix
                            ? t
                            : p->prefix + floor(call->x[1][n * (T - p->prefix) + t - p->prefix]);
            if (at >= (t < p->prefix ? 0 : p->prefix) && at < L)
                memcpy(call->y + (n * L + (int64_t)at) * D, call->x[0] + (n * T + t) * D,
                       (size_t)D * sizeof(double));
        }
}

// Lists the token at each place of an image; -1: the learned one.
static int64_t *owners(const SrOpCall *call, int64_t n) {
    const SrScatterTokensParams *p = call->params;
    int64_t L = call->y.shape.d[1], K = call->x[1].shape.d[1];
    int64_t *owner = (int64_t *)call->scratch + n * L;
    for (int64_t l = 0; l < L; l++)
        owner[l] = l < p->prefix ? l : -1;
    for (int64_t k = 0; k < K; k++) {
        int64_t at = sr__label_at(&call->x[1], n * K + k);
        if (at >= 0 && at < p->length)
            owner[p->prefix + at] = p->prefix + k;
    }
    return owner;
}

static void forward(const SrOpCall *call) {
    int64_t T = call->x[0].shape.d[1], L = call->y.shape.d[1];
    size_t bytes = (size_t)call->y.shape.d[2] * sizeof(float);
    const char *x = call->x[0].data; // (N, T, D)
    char *y = call->y.data;          // (N, L, D)
#pragma omp parallel for schedule(static) if (sr_shape_count(call->y.shape) > SR_CHUNK)
    for (int64_t n = 0; n < call->y.shape.d[0]; n++) {
        const int64_t *owner = owners(call, n);
        for (int64_t l = 0; l < L; l++)
            memcpy(y + (size_t)(n * L + l) * bytes,
                   owner[l] < 0 ? (const char *)call->w[0].data
                                : x + (size_t)(n * T + owner[l]) * bytes,
                   bytes);
    }
}

static void backward_image(const SrOpCall *call, int64_t n, const int64_t *owner) {
    int64_t T = call->x[0].shape.d[1], L = call->y.shape.d[1], D = call->y.shape.d[2];
    memset(call->dx[0] + n * T * D, 0, (size_t)(T * D) * sizeof(float));
    for (int64_t l = 0; l < L; l++)
        if (owner[l] >= 0)
            memcpy(call->dx[0] + (n * T + owner[l]) * D, call->dy + (n * L + l) * D,
                   (size_t)D * sizeof(float));
}

// The learned token adds the gradients of its places, in order on one thread.
static void backward(const SrOpCall *call) {
    int64_t N = call->y.shape.d[0], L = call->y.shape.d[1], D = call->y.shape.d[2];
    if (call->dx[1])
        sr__zero(call->dx[1], sr_shape_count(call->x[1].shape));
#pragma omp parallel for schedule(static) if (N * L * D > SR_CHUNK)
    for (int64_t n = 0; n < N; n++) {
        const int64_t *owner = owners(call, n);
        if (call->dx[0])
            backward_image(call, n, owner);
    }
    const int64_t *owner = call->scratch; // (N, L)
    for (int64_t r = 0; call->dw[0] && r < N * L; r++)
        for (int64_t d = 0; owner[r] < 0 && d < D; d++)
            call->dw[0][d] += call->dy[r * D + d];
}

static const SrOpCase cases[] = {
    {"{prefix: 1, length: 5}", 2, {SR_SHAPE(2, 4, 3), SR_SHAPE(2, 3)}, false},
    {"{length: 3}", 2, {SR_SHAPE(3, 2, 4), SR_SHAPE(3, 2)}, false},
};

const SrOp sr_op_scatter_tokens = {
    .name = "scatter_tokens",
    .help = "Puts tokens back to their positions, and a learned token everywhere else.",
    .options = options,
    .params_bytes = sizeof(SrScatterTokensParams),
    .min_in = 2,
    .max_in = 2,
    .flags = SR_OP_CHEAP,
    .infer = infer,
    .slots = slots,
    .reads = reads,
    .scratch_bytes = scratch_bytes,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
