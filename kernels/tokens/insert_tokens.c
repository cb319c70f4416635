// insert_tokens: puts learned tokens into the sequence of every image after its first `at` tokens,
// such as the registers of vision transformers (Darcet et al., "Vision transformers need
// registers", arXiv:2309.16588).
//
//   x (N, L, D), tokens (1, count, D) -> (N, L + count, D)
#include "kernels/tokens/insert_tokens.h"

#include <stddef.h>
#include <string.h>

#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"

#define FIELD(f) offsetof(SrInsertTokensParams, f)
static const SrOption options[] = {
    {"at", SR_OPT_INT, FIELD(at), "0", 0, 1 << 20,
     .help = "Number of tokens that stay before the new ones."},
    {"count", SR_OPT_INT, FIELD(count), "1", 1, 1 << 20, .help = "Number of new tokens."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrInsertTokensParams *p = params;
    SR_TRY(sr__expect_rank("insert_tokens", x, n_in, 3, 3));
    if (p->at > x[0].d[1] || p->count < 1)
        return sr__shape_fail("insert_tokens", x, n_in, "at least %d tokens", p->at);
    *y = SR_SHAPE(x[0].d[0], x[0].d[1] + p->count, x[0].d[2]);
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    const SrInsertTokensParams *p = params;
    (void)n_in;
    out[0] = sr__param_slot("tokens", SR_SHAPE(1, p->count, x[0].d[2]), SR_ROLE_OTHER,
                            SR_INIT_NORMAL, 1e-6);
    return 1;
}

static void reference(const SrRefCall *call) {
    const SrInsertTokensParams *p = call->params;
    int L = call->x_shape[0].d[1];
    int64_t D = call->y_shape.d[2], n = p->count;
    double *y = call->y;
    for (int i = 0; i < call->y_shape.d[0]; i++, y += (L + n) * D) {
        const double *x = call->x[0] + (int64_t)i * L * D;
        memcpy(y, x, (size_t)(p->at * D) * sizeof *y);
        memcpy(y + p->at * D, call->w[0], (size_t)(n * D) * sizeof *y);
        memcpy(y + (p->at + n) * D, x + p->at * D, (size_t)((L - p->at) * D) * sizeof *y);
    }
}

static void forward(const SrOpCall *call) {
    const SrInsertTokensParams *p = call->params;
    int N = call->y.shape.d[0], L = call->x[0].shape.d[1];
    int64_t D = call->y.shape.d[2], n = p->count;
#pragma omp parallel for schedule(static) if (sr_shape_count(call->y.shape) > SR_CHUNK)
    for (int i = 0; i < N; i++) {
        const float *x = (const float *)call->x[0].data + i * L * D;
        float *y = (float *)call->y.data + i * (L + n) * D;
        memcpy(y, x, (size_t)(p->at * D) * sizeof *y);
        memcpy(y + p->at * D, call->w[0].data, (size_t)(n * D) * sizeof *y);
        memcpy(y + (p->at + n) * D, x + p->at * D, (size_t)((L - p->at) * D) * sizeof *y);
    }
}

// The tokens add the images' gradients in their order, on one thread.
static void backward(const SrOpCall *call) {
    const SrInsertTokensParams *p = call->params;
    int N = call->y.shape.d[0], L = call->x[0].shape.d[1];
    int64_t D = call->y.shape.d[2], n = p->count;
    for (int i = 0; call->dw[0] && i < N; i++)
        for (int64_t k = 0; k < n * D; k++)
            call->dw[0][k] += call->dy[i * (L + n) * D + p->at * D + k];
    if (!call->dx[0])
        return;
#pragma omp parallel for schedule(static) if (sr_shape_count(call->y.shape) > SR_CHUNK)
    for (int i = 0; i < N; i++) {
        const float *dy = call->dy + i * (L + n) * D;
        float *dx = call->dx[0] + i * L * D;
        memcpy(dx, dy, (size_t)(p->at * D) * sizeof *dx);
        memcpy(dx + p->at * D, dy + (p->at + n) * D, (size_t)((L - p->at) * D) * sizeof *dx);
    }
}

static SrStatus onnx(SrOnnxCall *call) {
    const SrInsertTokensParams *p = call->params;
    const char *tokens = sr__onnx_each_image(call, "tokens", sr__onnx_weight(call, 0), call->in[0],
                                             p->count, call->y.d[2]);
    const char *before = sr__onnx_slice(call, "before", call->in[0], 1, 0, p->at);
    const char *after = sr__onnx_slice(call, "after", call->in[0], 1, p->at, call->x[0].d[1]);
    sr__onnx_begin(call, "Concat", (const char *[]){before, tokens, after}, 3);
    sr_onnx_int(call->file, "axis", 1);
    sr_onnx_end(call->file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{at: 1, count: 2}", 1, {SR_SHAPE(3, 4, 5)}, false},
    {"{count: 1}", 1, {SR_SHAPE(1, 2, 3)}, false},
};

const SrOp sr_op_insert_tokens = {
    .name = "insert_tokens",
    .help = "Inserts learned tokens into the sequence of every image.",
    .options = options,
    .params_bytes = sizeof(SrInsertTokensParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP,
    .infer = infer,
    .slots = slots,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
