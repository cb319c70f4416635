// dropout: in training each number becomes 0 with probability p and is otherwise divided by 1 - p,
// torch.nn.Dropout (Srivastava et al. 2014); in evaluation a copy.  Draws are keyed by seed,
// iteration and node.
#include <stddef.h>

#include "base/mem.h"
#include "base/rng.h"
#include "kernels/basic/dropout.h"
#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

static const SrOption options[] = {
    {"p", SR_OPT_FLOAT, offsetof(SrDropoutParams, p), "0.5", 0, 1,
     .help = "Probability of a zero."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrDropoutParams *p = params;
    if (!(p->p >= 0 && p->p <= 1))
        SR_FAIL(SR_ERR_CONFIG, "dropout: p %g: expected a probability", p->p);
    return sr__infer_same(params, x, n_in, y);
}

// With p = 0 nothing needs to be copied.
static bool is_view(const void *params, const SrShape *x, int n_in) {
    const SrDropoutParams *p = params;
    (void)x, (void)n_in;
    return p->p == 0;
}

static int inplace(const void *params) {
    (void)params;
    return 0;
}

static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return (size_t)sr_shape_count(x[0]); // 1 where a number was kept
}

// Returns the factor on a kept number.
static double factor_of(const void *params) {
    const SrDropoutParams *p = params;
    return p->p < 1 ? 1 / (1 - p->p) : 0;
}

// Each chunk has its own random stream, so that chunks may be drawn in any order.
static void draw(uint8_t *mask, int64_t chunk, int64_t n, double p, uint64_t seed,
                 int64_t iteration, uint64_t key) {
    SrRng rng = sr_rng(seed, SR_RNG_DROPOUT, (uint64_t)iteration, key, (uint32_t)chunk & 0xffff,
                       (uint32_t)(chunk >> 16));
    double threshold = p * 4294967296.0;
    for (int64_t i = 0; i < n; i++)
        mask[i] = (double)sr_rng_u32(&rng) >= threshold;
}

// Uses the draws of the fast path, so that both can be compared number by number.
static void reference(const SrRefCall *call) {
    const SrDropoutParams *p = call->params;
    int64_t n = sr_shape_count(call->y_shape);
    uint8_t *mask = sr_calloc((size_t)n, 1);
    for (int64_t i = 0; mask && i < n; i += SR_CHUNK)
        draw(mask + i, i / SR_CHUNK, SR_MIN(SR_CHUNK, n - i), p->p, call->seed, call->iteration,
             call->node_key);
    for (int64_t i = 0; mask && i < n; i++)
        call->y[i] = !call->train ? call->x[0][i] : mask[i] ? call->x[0][i] * factor_of(p) : 0;
    sr_free(mask);
}

// A recomputation (again) uses the saved mask.
static void forward(const SrOpCall *call) {
    const SrRows *k = sr__rows(call->machine);
    const SrDropoutParams *p = call->params;
    const float *x = call->x[0].data; // (n)
    float *y = call->y.data;          // (n)
    uint8_t *mask = call->saved;      // (n)
    int64_t n = sr_shape_count(call->y.shape);
    if (!call->train) {
        sr__copy(y, x, n);
        return;
    }
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i += SR_CHUNK) {
        int64_t m = SR_MIN(SR_CHUNK, n - i);
        if (!call->again)
            draw(mask + i, i / SR_CHUNK, m, p->p, call->seed, call->iteration, call->node_key);
        k->keep(y + i, x + i, mask + i, (float)factor_of(p), m);
    }
}

static void backward(const SrOpCall *call) {
    const SrRows *k = sr__rows(call->machine);
    const uint8_t *mask = call->saved;
    float *dx = call->dx[0], factor = (float)factor_of(call->params);
    int64_t n = sr_shape_count(call->y.shape);
    if (!dx)
        return;
    if (!call->train) {
        sr__copy(dx, call->dy, n);
        return;
    }
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i += SR_CHUNK)
        k->keep(dx + i, call->dy + i, mask + i, factor, SR_MIN(SR_CHUNK, n - i));
}

// In evaluation nothing is dropped.
static SrStatus onnx(SrOnnxCall *call) { return sr__onnx_plain(call, "Identity"); }

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(5, 37)}, false},
    {"{p: 0.1}", 1, {SR_SHAPE(2, 3, 4, 5)}, false},
    {"{p: 1}", 1, {SR_SHAPE(2, 3)}, false},
};

const SrOp sr_op_dropout = {
    .name = "dropout",
    .help = "Sets random elements to zero in training.",
    .options = options,
    .params_bytes = sizeof(SrDropoutParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_IMPURE | SR_OP_CHEAP,
    .infer = infer,
    .saved_bytes = saved_bytes,
    .is_view = is_view,
    .inplace = inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
