// qv_bias: a bias for queries and values; a bias of keys would cancel in the softmax.  BEiT has
// q_bias and v_bias (Bao et al., arXiv:2106.08254), torchvision's Swin V2 one bias of 3 D numbers
// whose middle is left out.
//
//   packed (.., 3 D) -> the same shape
#include "kernels/attention/qv_bias.h"

#include <stddef.h>

#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"

static const SrOption options[] = {
    {"separate", SR_OPT_BOOL, offsetof(SrQvBiasParams, separate), "False",
     .help = "Use two parameters, q_bias and v_bias, instead of one that spans the keys too."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("qv_bias", x, n_in, 2, SR_MAX_RANK));
    if (sr_shape_last(x[0]) % 3)
        return sr__shape_fail("qv_bias", x, n_in, "(.., 3 D)");
    *y = x[0];
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    const SrQvBiasParams *p = params;
    int D = sr_shape_last(x[0]) / 3;
    (void)n_in;
    if (!p->separate) {
        out[0] = sr__param_slot("bias", SR_SHAPE(3 * D), SR_ROLE_BIAS, SR_INIT_CONSTANT, 0);
        return 1;
    }
    out[0] = sr__param_slot("q_bias", SR_SHAPE(D), SR_ROLE_BIAS, SR_INIT_CONSTANT, 0);
    out[1] = sr__param_slot("v_bias", SR_SHAPE(D), SR_ROLE_BIAS, SR_INIT_CONSTANT, 0);
    return 2;
}

static int inplace(const void *params) {
    (void)params;
    return 0;
}

static void reference(const SrRefCall *call) {
    int64_t D = sr_shape_last(call->y_shape) / 3;
    const double *q = call->w[0], *v = call->n_w > 1 ? call->w[1] : q + 2 * D;
    for (int64_t i = 0; i < sr_shape_count(call->y_shape); i++) {
        int64_t c = i % (3 * D);
        call->y[i] = call->x[0][i] + (c < D ? q[c] : c < 2 * D ? 0 : v[c - 2 * D]);
    }
}

static void forward(const SrOpCall *call) {
    int64_t rows = sr_shape_rows(call->y.shape), D = sr_shape_last(call->y.shape) / 3;
    const float *q = call->w[0].data, *v = call->n_w > 1 ? call->w[1].data : q + 2 * D;
    const float *x = call->x[0].data;
    float *y = call->y.data;
#pragma omp parallel for schedule(static) if (rows * D > SR_CHUNK)
    for (int64_t r = 0; r < 3 * rows; r++) {
        const float *add = r % 3 == 0 ? q : r % 3 == 1 ? NULL : v;
        for (int64_t c = 0; c < D; c++)
            y[r * D + c] = x[r * D + c] + (add ? add[c] : 0);
    }
}

// Adds the columns of a third of dy, (rows, D) with rows 3 D apart, in the order of the rows.
static void add_columns(const float *dy, int64_t rows, int64_t D, float *to) {
    for (int64_t r = 0; to && r < rows; r++)
        for (int64_t c = 0; c < D; c++)
            to[c] += dy[r * 3 * D + c];
}

static void backward(const SrOpCall *call) {
    int64_t rows = sr_shape_rows(call->y.shape), D = sr_shape_last(call->y.shape) / 3;
    float *q = call->dw[0];
    float *v = call->n_w > 1 ? call->dw[1] : q ? q + 2 * D : NULL;
    add_columns(call->dy, rows, D, q);
    add_columns(call->dy + 2 * D, rows, D, v);
    if (call->dx[0] && call->dx[0] != call->dy)
        sr__copy(call->dx[0], call->dy, 3 * rows * D);
}

static SrStatus onnx(SrOnnxCall *call) {
    int D = sr_shape_last(call->y) / 3;
    float *bias = sr_arena_alloc(&call->file->arena, 3 * (size_t)D * sizeof *bias);
    SR_TRY_MEMORY(bias, "an ONNX graph");
    const SrQvBiasParams *p = call->params;
    const float *q = call->w[0].data, *v = p->separate ? call->w[1].data : q + 2 * D;
    for (int i = 0; i < D; i++)
        bias[i] = q[i], bias[D + i] = 0, bias[2 * D + i] = v[i];
    const char *whole = sr__onnx_inner(call, "bias");
    sr_onnx_weight(call->file, whole, (SrTensor){SR_SHAPE(3 * D), SR_F32, bias});
    return sr__onnx_finish(call, sr__onnx_two(call, "sum", "Add", sr__onnx_rows(call, 0), whole));
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(2, 3, 6)}, false},
    {"{separate: True}", 1, {SR_SHAPE(2, 2, 3, 9)}, false},
};

const SrOp sr_op_qv_bias = {
    .name = "qv_bias",
    .help = "Adds a bias to queries and values only.",
    .options = options,
    .params_bytes = sizeof(SrQvBiasParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP,
    .infer = infer,
    .slots = slots,
    .inplace = inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
