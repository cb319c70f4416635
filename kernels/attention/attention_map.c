// attention_map: the probabilities that attention (kernels/attention/attention.c) never stores, for
// inspection: how much each token attends to each other token, from packed queries, keys and
// values.  Gradients stop here.
//
//   qkv (N, L, 3 D) -> (N, E, L, L),  y[n, e] = softmax(scale q k^T)
#include "kernels/attention/attention_map.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "base/parallel.h"
#include "kernels/core/gemm.h"
#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

#define FIELD(f) offsetof(SrAttentionMapParams, f)
static const SrOption options[] = {
    {"num_heads", SR_OPT_INT, FIELD(num_heads), "1", 1, 1 << 16, .help = "Heads."},
    {"scale", SR_OPT_FLOAT, FIELD(scale), "0", 0, 1e6,
     .help = "Factor that scales the scores before the softmax; 0: 1 / sqrt(width of a head)."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrAttentionMapParams *p = params;
    SR_TRY(sr__expect_rank("attention_map", x, n_in, 3, 3));
    if (p->num_heads < 1 || x[0].d[2] % (3 * p->num_heads))
        return sr__shape_fail("attention_map", x, n_in,
                              "(N, L, 3 D) with D a multiple of num_heads %d", p->num_heads);
    *y = SR_SHAPE(x[0].d[0], p->num_heads, x[0].d[1], x[0].d[1]);
    return SR_OK;
}

// torch has (N, E, L, L) in the same order.
static bool channels_last(const void *params, bool of_input) {
    (void)params, (void)of_input;
    return true;
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    const SrAttentionMapParams *p = params;
    (void)n_in;
    return 2 * sr_shape_count(y) * (x[0].d[2] / 3 / p->num_heads);
}

static double scale_of(const SrAttentionMapParams *p, int d) {
    return p->scale > 0 ? p->scale : 1 / sqrt(d);
}

static void reference(const SrRefCall *call) {
    const SrAttentionMapParams *p = call->params;
    int L = call->y_shape.d[2], E = p->num_heads, D = call->x_shape[0].d[2] / 3, d = D / E;
    for (int64_t row = 0; row < sr_shape_rows(call->y_shape); row++) {
        int64_t l = row % L, e = row / L % E, n = row / L / E;
        const double *q = call->x[0] + (n * L + l) * 3 * D + e * d;
        const double *k = call->x[0] + n * L * 3 * D + D + e * d;
        double *y = call->y + row * L, most = -INFINITY, sum = 0;
        for (int64_t m = 0; m < L; m++) {
            y[m] = 0;
            for (int i = 0; i < d; i++)
                y[m] += scale_of(p, d) * q[i] * k[m * 3 * D + i];
            most = fmax(most, y[m]);
        }
        for (int m = 0; m < L; m++)
            sum += y[m] = exp(y[m] - most);
        for (int m = 0; m < L; m++)
            y[m] /= sum;
    }
}

// Computes one head of one image.
static void forward_unit(void *arg, int64_t i, int thread) {
    const SrOpCall *call = arg;
    const SrAttentionMapParams *p = call->params;
    int L = call->y.shape.d[2], E = p->num_heads, D = call->x[0].shape.d[2] / 3, d = D / E;
    const float *q = (const float *)call->x[0].data + i / E * L * 3 * D + i % E * d;
    float *y = (float *)call->y.data + i * L * L;
    (void)thread;
    sr_gemm_here(false, true, L, L, d, (float)scale_of(p, d), q, 3 * D, q + D, 3 * D, 0, y, L);
    for (int l = 0; l < L; l++, y += L) {
        double sum =
            sr__rows(call->machine)->exp_sum(y, y, sr__rows(call->machine)->max(y, L), 1, L);
        sr__rows(call->machine)->scale(y, y, (float)(1 / sum), L);
    }
}

static void forward(const SrOpCall *call) {
    sr_parallel_for((int64_t)call->y.shape.d[0] * call->y.shape.d[1], forward_unit, (void *)call);
}

// Writes queries (part 0) as (N, E, L, d), keys (part 1) as (N, E, d, L), from packed (N, L, 3 D).
static const char *heads_of(SrOnnxCall *call, const char *what, int part) {
    const SrAttentionMapParams *p = call->params;
    static const int64_t orders[][4] = {{0, 2, 1, 3}, {0, 2, 3, 1}};
    int64_t D = call->x[0].d[2] / 3, E = p->num_heads;
    char split[16], turned[16];
    snprintf(split, sizeof split, "%s.heads", what);
    snprintf(turned, sizeof turned, "%s.turned", what);
    const char *x = sr__onnx_slice(call, what, call->in[0], 2, part * D, (part + 1) * D);
    x = sr__onnx_reshape(call, split, x, (const int64_t[]){0, 0, E, D / E}, 4);
    return sr__onnx_transpose(call, turned, x, orders[part], 4);
}

static SrStatus onnx(SrOnnxCall *call) {
    const SrAttentionMapParams *p = call->params;
    int d = call->x[0].d[2] / 3 / p->num_heads;
    const char *q = heads_of(call, "q", 0), *k = heads_of(call, "k", 1);
    const char *scale = sr__onnx_number(call, "scale", scale_of(p, d));
    const char *scores = sr__onnx_two(call, "scores", "MatMul", q, k);
    scores = sr__onnx_two(call, "scaled", "Mul", scores, scale);
    return sr__onnx_finish(call, sr__onnx_softmax(call, "probabilities", scores));
}

static const SrOpCase cases[] = {
    {"{num_heads: 2}", 1, {SR_SHAPE(2, 5, 18)}, false},
    {"{num_heads: 1, scale: 0.3}", 1, {SR_SHAPE(1, 33, 12)}, false},
};

const SrOp sr_op_attention_map = {
    .name = "attention_map",
    .help = "Attention probabilities between all tokens.",
    .options = options,
    .params_bytes = sizeof(SrAttentionMapParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_NO_GRAD,
    .infer = infer,
    .channels_last = channels_last,
    .flops = flops,
    .reference = reference,
    .forward = forward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
