// gather_tokens: takes the tokens that a row of indices (M, K) names, after the first `prefix`
// ones, which always stay: x (N, L, D) -> (M, prefix + K, D).  Row m reads image m % N, so M may be
// several times N.  Indices count from the end of the prefix; an index that names no token gives
// zeros.  Masked autoencoders select the encoder's tokens with it (He et al., arXiv:2111.06377,
// section 3), I-JEPA the predictor's places (Assran et al., arXiv:2301.08243).
#include "kernels/tokens/gather_tokens.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/core/op_util.h"

static const SrOption options[] = {
    {"prefix", SR_OPT_INT, offsetof(SrGatherTokensParams, prefix), "0", 0, 0xffff,
     .help = "Number of first tokens that always stay."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrGatherTokensParams *p = params;
    SR_TRY(sr__expect_rank("gather_tokens", x, 1, 3, 3));
    if (x[1].rank != 2 || x[1].d[0] % SR_MAX(x[0].d[0], 1) || p->prefix < 0 ||
        p->prefix > x[0].d[1])
        return sr__shape_fail("gather_tokens", x, n_in,
                              "tokens (N, L, D) with L at least %d, and indices (M, K) with M a "
                              "multiple of N",
                              p->prefix);
    *y = SR_SHAPE(x[1].d[0], p->prefix + x[1].d[1], x[0].d[2]);
    return SR_OK;
}

static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(1);
}

static void reference(const SrRefCall *call) {
    const SrGatherTokensParams *p = call->params;
    int N = call->x_shape[0].d[0], L = call->x_shape[0].d[1], D = call->y_shape.d[2],
        K = call->x_shape[1].d[1];
    for (int64_t r = 0; r < (int64_t)call->y_shape.d[0] * call->y_shape.d[1]; r++) {
        int64_t m = r / (p->prefix + K), t = r % (p->prefix + K);
        double at =
            t < p->prefix ? (double)t : p->prefix + floor(call->x[1][m * K + t - p->prefix]);
        bool none = !(at >= (t < p->prefix ? 0 : p->prefix) && at < L);
        for (int d = 0; d < D; d++)
            call->y[r * D + d] = none ? 0 : call->x[0][((m % N) * L + (int64_t)at) * D + d];
    }
}

// Returns the token that place t of row m holds, or -1.
static int64_t token_at(const SrOpCall *call, int64_t m, int t) {
    const SrGatherTokensParams *p = call->params;
    if (t < p->prefix)
        return t;
    int64_t at = sr__label_at(&call->x[1], m * call->x[1].shape.d[1] + t - p->prefix);
    return at >= 0 && at < call->x[0].shape.d[1] - p->prefix ? p->prefix + at : -1;
}

static void forward(const SrOpCall *call) {
    int N = call->x[0].shape.d[0], L = call->x[0].shape.d[1], K = call->y.shape.d[1];
    size_t bytes = (size_t)call->y.shape.d[2] * sizeof(float);
    const char *x = call->x[0].data; // (N, L, D)
    char *y = call->y.data;          // (M, K, D)
#pragma omp parallel for schedule(static) if (sr_shape_count(call->y.shape) > SR_CHUNK)
    for (int64_t m = 0; m < call->y.shape.d[0]; m++)
        for (int t = 0; t < K; t++) {
            int64_t from = token_at(call, m, t);
            if (from < 0)
                memset(y + (size_t)(m * K + t) * bytes, 0, bytes);
            else
                memcpy(y + (size_t)(m * K + t) * bytes, x + (size_t)(m % N * L + from) * bytes,
                       bytes);
        }
}

// A token that several places hold gets the sum, places in order.
static void backward_image(const SrOpCall *call, int64_t n) {
    int64_t N = call->x[0].shape.d[0], L = call->x[0].shape.d[1], K = call->y.shape.d[1],
            D = call->y.shape.d[2];
    float *dx = call->dx[0] + n * L * D;
    memset(dx, 0, (size_t)(L * D) * sizeof *dx);
    for (int64_t m = n; m < call->y.shape.d[0]; m += N)
        for (int t = 0; t < K; t++) {
            int64_t to = token_at(call, m, t);
            const float *dy = call->dy + (m * K + t) * D;
            for (int64_t d = 0; to >= 0 && d < D; d++)
                dx[to * D + d] += dy[d];
        }
}

static void backward(const SrOpCall *call) {
    if (call->dx[1])
        sr__zero(call->dx[1], sr_shape_count(call->x[1].shape));
    if (!call->dx[0])
        return;
#pragma omp parallel for schedule(static) if (sr_shape_count(call->y.shape) > SR_CHUNK)
    for (int64_t n = 0; n < call->x[0].shape.d[0]; n++)
        backward_image(call, n);
}

static const SrOpCase cases[] = {
    {"{prefix: 1}", 2, {SR_SHAPE(2, 5, 3), SR_SHAPE(4, 3)}, false},
    {"{}", 2, {SR_SHAPE(2, 2, 4), SR_SHAPE(2, 6)}, false},
};

const SrOp sr_op_gather_tokens = {
    .name = "gather_tokens",
    .help = "Selects tokens of each image by index.",
    .options = options,
    .params_bytes = sizeof(SrGatherTokensParams),
    .min_in = 2,
    .max_in = 2,
    .flags = SR_OP_CHEAP,
    .infer = infer,
    .reads = reads,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
