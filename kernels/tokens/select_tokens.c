// select_tokens: x[:, begin : begin + count] of a token sequence (N, L, D), or x[:, begin] as (N,
// D): the class token, or the patches after it.
#include <stddef.h>
#include <string.h>

#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"
#include "kernels/tokens/select_tokens.h"

static const SrOption options[] = {
    {"begin", SR_OPT_INT, offsetof(SrSelectTokensParams, begin), "0", 0, 0x7fffffff,
     .help = "Index of the first token."},
    {"count", SR_OPT_INT, offsetof(SrSelectTokensParams, count), "1", 1, 0x7fffffff,
     .help = "Number of tokens."},
    {"squeeze", SR_OPT_BOOL, offsetof(SrSelectTokensParams, squeeze), "false",
     .help = "With one token, give (N, D) instead of (N, 1, D)."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrSelectTokensParams *p = params;
    SR_TRY(sr__expect_rank("select_tokens", x, n_in, 3, 3));
    if (p->begin < 0 || p->count < 1 || p->begin > x[0].d[1] - p->count)
        return sr__shape_fail("select_tokens", x, n_in, "tokens %d .. %lld inside the sequence",
                              p->begin, (long long)p->begin + p->count - 1);
    if (p->squeeze && p->count != 1)
        return sr__shape_fail("select_tokens", x, n_in, "squeeze with one token, not %d", p->count);
    *y = p->squeeze ? SR_SHAPE(x[0].d[0], x[0].d[2]) : SR_SHAPE(x[0].d[0], p->count, x[0].d[2]);
    return SR_OK;
}

static void reference(const SrRefCall *call) {
    const SrSelectTokensParams *p = call->params;
    SrShape s = call->x_shape[0];
    int64_t part = (int64_t)p->count * s.d[2], whole = (int64_t)s.d[1] * s.d[2];
    for (int n = 0; n < s.d[0]; n++)
        memcpy(call->y + n * part, call->x[0] + n * whole + (int64_t)p->begin * s.d[2],
               (size_t)part * sizeof(double));
}

static void forward(const SrOpCall *call) {
    const SrSelectTokensParams *p = call->params;
    SrShape s = call->x[0].shape; // (N, L, D)
    int64_t part = (int64_t)p->count * s.d[2], whole = (int64_t)s.d[1] * s.d[2];
    const float *x = (const float *)call->x[0].data + (int64_t)p->begin * s.d[2];
    float *y = call->y.data; // (N, count, D)
#pragma omp parallel for schedule(static) if (s.d[0] * part > SR_CHUNK)
    for (int n = 0; n < s.d[0]; n++)
        memcpy(y + n * part, x + n * whole, (size_t)part * sizeof(float));
}

// The other tokens of an image get zero, or with dx_add keep their gradient.
static void backward_image(float *dx, const float *dy, int64_t before, int64_t part, int64_t whole,
                           bool add) {
    if (!add) {
        memset(dx, 0, (size_t)whole * sizeof(float));
        memcpy(dx + before, dy, (size_t)part * sizeof(float));
        return;
    }
    for (int64_t i = 0; i < part; i++)
        dx[before + i] += dy[i];
}

static void backward(const SrOpCall *call) {
    const SrSelectTokensParams *p = call->params;
    SrShape s = call->x[0].shape; // (N, L, D)
    int64_t part = (int64_t)p->count * s.d[2], whole = (int64_t)s.d[1] * s.d[2];
    if (!call->dx[0])
        return;
#pragma omp parallel for schedule(static) if (s.d[0] * whole > SR_CHUNK)
    for (int n = 0; n < s.d[0]; n++)
        backward_image(call->dx[0] + n * whole, call->dy + n * part, (int64_t)p->begin * s.d[2],
                       part, whole, call->dx_add & 1);
}

static SrStatus onnx(SrOnnxCall *call) {
    const SrSelectTokensParams *p = call->params;
    const char *part = sr__onnx_slice(call, "part", call->in[0], 1, p->begin, p->begin + p->count);
    if (p->squeeze)
        part = sr__onnx_reshape(call, "row", part, (const int64_t[]){0, call->y.d[1]}, 2);
    return sr__onnx_finish(call, part);
}

static const SrOpCase cases[] = {
    {"{begin: 1, count: 3}", 1, {SR_SHAPE(2, 5, 3)}, false},
    {"{squeeze: true}", 1, {SR_SHAPE(3, 4, 2)}, false},
    {"{begin: 2}", 1, {SR_SHAPE(2, 3, 4)}, false},
};

const SrOp sr_op_select_tokens = {
    .name = "select_tokens",
    .help = "A range of tokens of every image.",
    .options = options,
    .params_bytes = sizeof(SrSelectTokensParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_ADDS_DX | SR_OP_CHEAP,
    .infer = infer,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
