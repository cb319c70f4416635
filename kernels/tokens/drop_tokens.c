// drop_tokens: keeps the first `prefix` tokens and a random choice of the others, in training and
// in evaluation: x (N, L, D) -> (N, prefix + kept, D).  The choice is the same for the whole
// batch.  This is VISSL's PatchDrop for masked siamese networks (Assran et al., arXiv:2204.07141).
// Draws are keyed by seed, iteration and node.
#include "kernels/tokens/drop_tokens.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "kernels/core/op_util.h"

static const SrOption options[] = {
    {"prefix", SR_OPT_INT, offsetof(SrDropTokensParams, prefix), "0", 0, 0xffff,
     .help = "Number of first tokens that always stay."},
    {"kept", SR_OPT_INT, offsetof(SrDropTokensParams, kept), "1", 1, 0x7fffffff,
     .help = "Number of the other tokens that stay."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrDropTokensParams *p = params;
    SR_TRY(sr__expect_rank("drop_tokens", x, n_in, 3, 3));
    if (p->kept < 1 || p->prefix < 0 || p->kept > x[0].d[1] - p->prefix)
        return sr__shape_fail("drop_tokens", x, n_in, "at least %d + %d tokens", p->prefix,
                              p->kept);
    *y = SR_SHAPE(x[0].d[0], p->prefix + p->kept, x[0].d[2]);
    return SR_OK;
}

// The backward makes the same draw again.
static size_t scratch_bytes(const SrOpSite *site) {
    return sizeof(uint32_t) * (size_t)site->x[0].d[1];
}

void sr_drop_tokens_draw(uint32_t *order, int tokens, uint64_t seed, int64_t iteration,
                         uint64_t node_key) {
    SrRng rng = sr_rng(seed, SR_RNG_DROPOUT, (uint64_t)iteration, node_key, 0, 0);
    sr_rng_permutation(&rng, order, (uint32_t)tokens);
}

static void reference(const SrRefCall *call) {
    const SrDropTokensParams *p = call->params;
    int L = call->x_shape[0].d[1], D = call->y_shape.d[2], kept = call->y_shape.d[1];
    uint32_t *order = sr_alloc(sizeof(uint32_t) * (size_t)L);
    if (order)
        sr_drop_tokens_draw(order, L - p->prefix, call->seed, call->iteration, call->node_key);
    for (int64_t r = 0; order && r < (int64_t)call->y_shape.d[0] * kept; r++) {
        int t = (int)(r % kept), from = t < p->prefix ? t : p->prefix + (int)order[t - p->prefix];
        memcpy(call->y + r * D, call->x[0] + (r / kept * L + from) * D, (size_t)D * sizeof(double));
    }
    sr_free(order);
}

static const uint32_t *draw(const SrOpCall *call) {
    const SrDropTokensParams *p = call->params;
    sr_drop_tokens_draw(call->scratch, call->x[0].shape.d[1] - p->prefix, call->seed,
                        call->iteration, call->node_key);
    return call->scratch;
}

static void forward(const SrOpCall *call) {
    const SrDropTokensParams *p = call->params;
    int L = call->x[0].shape.d[1], D = call->y.shape.d[2], kept = call->y.shape.d[1];
    const uint32_t *order = draw(call);
    const float *x = call->x[0].data; // (N, L, D)
    float *y = call->y.data;          // (N, prefix + kept, D)
#pragma omp parallel for schedule(static) if (sr_shape_count(call->y.shape) > SR_CHUNK)
    for (int n = 0; n < call->y.shape.d[0]; n++)
        for (int t = 0; t < kept; t++) {
            int from = t < p->prefix ? t : p->prefix + (int)order[t - p->prefix];
            memcpy(y + ((int64_t)n * kept + t) * D, x + ((int64_t)n * L + from) * D,
                   (size_t)D * sizeof(float));
        }
}

static void backward(const SrOpCall *call) {
    const SrDropTokensParams *p = call->params;
    int L = call->x[0].shape.d[1], D = call->y.shape.d[2], kept = call->y.shape.d[1];
    const uint32_t *order = draw(call);
    if (!call->dx[0])
        return;
    sr__zero(call->dx[0], sr_shape_count(call->x[0].shape));
#pragma omp parallel for schedule(static) if (sr_shape_count(call->y.shape) > SR_CHUNK)
    for (int n = 0; n < call->y.shape.d[0]; n++)
        for (int t = 0; t < kept; t++) {
            int to = t < p->prefix ? t : p->prefix + (int)order[t - p->prefix];
            memcpy(call->dx[0] + ((int64_t)n * L + to) * D, call->dy + ((int64_t)n * kept + t) * D,
                   (size_t)D * sizeof(float));
        }
}

static const SrOpCase cases[] = {
    {"{prefix: 1, kept: 3}", 1, {SR_SHAPE(2, 6, 3)}, false},
    {"{kept: 4}", 1, {SR_SHAPE(3, 4, 2)}, false},
};

const SrOp sr_op_drop_tokens = {
    .name = "drop_tokens",
    .help = "Random choice of tokens, the same for all images.",
    .options = options,
    .params_bytes = sizeof(SrDropTokensParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_IMPURE,
    .infer = infer,
    .scratch_bytes = scratch_bytes,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
