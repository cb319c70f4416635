// linear: torch.nn.Linear on the last dimension, y = x W^T + b, by the products of
// kernels/core/row_product.h.
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/activation/pointwise.h"
#include "kernels/basic/linear.h"
#include "kernels/conv/conv.h"
#include "kernels/core/gemm.h"
#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"
#include "kernels/core/row_product.h"
#include "kernels/core/rows.h"

static const SrOption options[] = {
    {"out_features", SR_OPT_INT, offsetof(SrLinearParams, out_features), "1", 1, 1 << 24,
     .help = "Number of output features."},
    {"bias", SR_OPT_BOOL, offsetof(SrLinearParams, bias), "true", .help = "Add a bias."},
    {"gelu", SR_OPT_BOOL, offsetof(SrLinearParams, gelu), "false",
     .help = "Apply a GELU to the result; without gradients only."},
    {"residual", SR_OPT_BOOL, offsetof(SrLinearParams, residual), "false",
     .help = "Add a second input before the GELU; without gradients only."},
    SR_OPTION_END,
};

// Computes y's shape: x's, with the last dimension replaced.
static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrLinearParams *p = params;
    if (n_in != 1 + p->residual)
        return sr__shape_fail("linear", x, n_in, "%d inputs (residual: %s)", 1 + p->residual,
                              p->residual ? "on" : "off");
    SR_TRY(sr__expect_rank("linear", x, 1, 2, SR_MAX_RANK));
    if (p->out_features < 1)
        SR_FAIL(SR_ERR_CONFIG, "linear: out_features %d: expected at least 1", p->out_features);
    *y = x[0];
    y->d[y->rank - 1] = p->out_features;
    if (p->residual && !sr_shape_equal(x[1], *y))
        return sr__shape_fail("linear", x, n_in, "a residual of the output's shape");
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    (void)n_in;
    const SrLinearParams *p = params;
    int C = sr_shape_last(x[0]);
    out[0] = sr__param_slot("weight", SR_SHAPE(p->out_features, C), SR_ROLE_WEIGHT,
                            SR_INIT_UNIFORM_FAN_IN, 1);
    // PyTorch scales the bias by the weight's fan-in, which the bias' shape does not tell.
    out[1] = sr__param_slot("bias", SR_SHAPE(p->out_features), SR_ROLE_BIAS, SR_INIT_UNIFORM,
                            1 / sqrt(C));
    return p->bias ? 2 : 1;
}

static void design(const SrOpSite *site, void *out) {
    const SrLinearParams *p = site->params;
    *(SrConv *)out = sr__row_conv(site->machine, sr_shape_rows(site->x[0]),
                                  sr_shape_last(site->x[0]), p->out_features, site->type);
}

// Returns the bytes of weights that each call packs into its scratch; 0: weights are packed once
// per step.  Packing once would hold a transformer's weights three times.  With many rows, packing
// takes a hundredth of the product, so each call does it.  Products on tile registers are too fast
// for that.
static size_t packed_at_call(const SrConv *c, SrConvPass pass) {
    enum { VERY_MANY_ROWS = 512 };
    const SrConvShape *s = &c->shape;
    bool here = s->type == SR_F32 && pass != SR_CONV_BACKWARD_WEIGHT && s->W >= VERY_MANY_ROWS &&
                strcmp(sr_conv_design(c, pass), "direct") == 0;
    size_t bytes = here ? sr_conv_prepared(c, pass).bytes : 0;
    return (bytes + SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN;
}

static size_t scratch_bytes(const SrOpSite *site) {
    const SrConv *c = site->design;
    size_t most = 0;
    for (int pass = SR_CONV_FORWARD; pass <= SR_CONV_BACKWARD_WEIGHT; pass++)
        if (sr__rows_by_conv(c, (SrConvPass)pass))
            most = SR_MAX(most, packed_at_call(c, (SrConvPass)pass) +
                                    sr_conv_scratch_bytes(c, (SrConvPass)pass));
    return most;
}

static SrOpPrepared prepared(const SrOpSite *site, SrOpPass pass) {
    const SrConv *c = site->design;
    SrConvPass conv_pass = pass == SR_PASS_FORWARD ? SR_CONV_FORWARD : SR_CONV_BACKWARD_DATA;
    if (!sr__rows_by_conv(c, conv_pass) || packed_at_call(c, conv_pass))
        return (SrOpPrepared){0};
    SrConvPrepared p = sr_conv_prepared(c, conv_pass);
    return (SrOpPrepared){p.bytes, p.key};
}

static void prepare_forward(const SrOpCall *call) {
    sr_conv_prepare(call->design, SR_CONV_FORWARD, call->w[0].data, call->prepared);
}

static void prepare_backward(const SrOpCall *call) {
    sr_conv_prepare(call->design, SR_CONV_BACKWARD_DATA, call->w[0].data, call->prepared);
}

// Returns the weights in the form that the pass reads; *scratch is the rest of the scratch.
static const float *weights(const SrOpCall *call, SrConvPass pass, void **scratch) {
    size_t bytes = packed_at_call(call->design, pass);
    *scratch = (char *)call->scratch + bytes;
    if (!bytes)
        return call->prepared ? call->prepared : call->w[0].data;
    sr_conv_prepare(call->design, pass, call->w[0].data, call->scratch);
    return call->scratch;
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    (void)params, (void)n_in;
    return 2 * sr_shape_count(y) * sr_shape_last(x[0]);
}

static void reference(const SrRefCall *call) {
    int64_t rows = sr_shape_rows(call->x_shape[0]);
    int C = sr_shape_last(call->x_shape[0]), K = sr_shape_last(call->y_shape);
    for (int64_t r = 0; r < rows; r++)
        for (int k = 0; k < K; k++) {
            double sum = call->n_w > 1 ? call->w[1][k] : 0;
            for (int c = 0; c < C; c++)
                sum += call->x[0][r * C + c] * call->w[0][(int64_t)k * C + c];
            call->y[r * K + k] = sum;
        }
    const SrLinearParams *p = call->params;
    for (int64_t i = 0; p->residual && i < rows * K; i++)
        call->y[i] += call->x[1][i];
    const SrOp *gelu;
    if (p->gelu && sr_op_find("gelu", &gelu) == SR_OK)
        gelu->reference(&(SrRefCall){.n_in = 1,
                                     .x_shape = &call->y_shape,
                                     .x = (const double *const[]){call->y},
                                     .y_shape = call->y_shape,
                                     .y = call->y});
}

static void by_convolution(const SrOpCall *call) {
    const SrLinearParams *p = call->params;
    void *scratch;
    const float *w = weights(call, SR_CONV_FORWARD, &scratch);
    SrConvEnd end = {.bias = p->bias ? call->w[1].data : NULL,
                     .residual = p->residual ? call->x[1].data : NULL,
                     .activate = p->gelu ? sr__pointwise(call->machine)->gelu.f : NULL};
    sr_conv_forward_end(call->design, call->x[0].data, w, &end, call->y.data, scratch);
}

// The bias is written to y first and the product added to it: one pass less than adding it
// afterwards.
static void forward(const SrOpCall *call) {
    if (sr__rows_by_conv(call->design, SR_CONV_FORWARD)) {
        by_convolution(call);
        return;
    }
    const SrLinearParams *p = call->params;
    int rows = (int)sr_shape_rows(call->y.shape), C = sr_shape_last(call->x[0].shape);
    int K = sr_shape_last(call->y.shape);
    float *y = call->y.data;                                    // (rows, K)
    const float *bias = call->n_w > 1 ? call->w[1].data : NULL; // (K)
    for (int r = 0; bias && r < rows; r++)
        memcpy(y + (int64_t)r * K, bias, (size_t)K * sizeof(float));
    sr_gemm(false, true, rows, K, C, 1, call->x[0].data, C, call->w[0].data, C, bias ? 1 : 0, y, K);
    if (p->residual)
        sr__rows(call->machine)->add(SR_F32, y, y, call->x[1].data, (int64_t)rows * K);
    if (p->gelu)
        sr__pointwise(call->machine)->gelu.f(SR_F32, y, y, (int64_t)rows * K);
}

// Adds dW (K, C) += dy^T x and db (K) += column sums of dy.
static void weight_gradient(const SrOpCall *call) {
    const SrConv *c = call->design;
    const SrConvShape *s = &c->shape;
    float *db = call->n_w > 1 ? call->dw[1] : NULL;
    bool conv = sr__rows_by_conv(c, SR_CONV_BACKWARD_WEIGHT);
    if (call->dw[0] && conv)
        sr_conv_backward_weight(c, call->x[0].data, call->dy, call->dw[0], db, call->scratch);
    else if (call->dw[0])
        sr_gemm(true, false, s->K, s->C, s->W, 1, call->dy, s->K, call->x[0].data, s->C, 1,
                call->dw[0], s->C);
    if (!db || (call->dw[0] && conv))
        return;
    if (conv)
        sr_conv_backward_bias(c, call->dy, db, call->scratch);
    else
        sr__add_column_sums(call->machine, call->dy, s->W, s->K, db);
}

// Computes dx (rows, C) = or += dy W.
static void backward(const SrOpCall *call) {
    const SrConv *c = call->design;
    const SrConvShape *s = &c->shape;
    weight_gradient(call);
    if (!call->dx[0])
        return;
    if (sr__rows_by_conv(c, SR_CONV_BACKWARD_DATA)) {
        void *scratch;
        const float *w = weights(call, SR_CONV_BACKWARD_DATA, &scratch);
        sr_conv_backward_data(c, call->dy, w, call->dx[0], call->dx_add & 1, scratch);
    } else
        sr_gemm(false, false, s->W, s->C, s->K, 1, call->dy, s->K, call->w[0].data, s->C,
                (float)(call->dx_add & 1), call->dx[0], s->C);
}

// ONNX's Gemm takes matrices only.
static SrStatus onnx_tokens(SrOnnxCall *call) {
    const SrLinearParams *p = call->params;
    const char *turned =
        sr__onnx_transpose(call, "turned", sr__onnx_weight(call, 0), (const int64_t[]){1, 0}, 2);
    const char *y = sr__onnx_two(call, "product", "MatMul", sr__onnx_rows(call, 0), turned);
    if (p->bias)
        y = sr__onnx_two(call, "sum", "Add", y, sr__onnx_weight(call, 1));
    return sr__onnx_finish(call, y);
}

static SrStatus onnx(SrOnnxCall *call) {
    const SrLinearParams *p = call->params;
    if (p->gelu || p->residual)
        return sr__onnx_unsupported(call, "fused");
    if (call->y.rank != 2)
        return onnx_tokens(call);
    const char *in[] = {call->in[0], sr__onnx_weight(call, 0),
                        p->bias ? sr__onnx_weight(call, 1) : NULL};
    sr__onnx_begin(call, "Gemm", in, p->bias ? 3 : 2);
    sr_onnx_int(call->file, "transB", 1);
    sr_onnx_end(call->file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{out_features: 5}", 1, {SR_SHAPE(4, 7)}, false},
    {"{out_features: 3, bias: false}", 1, {SR_SHAPE(2, 3, 6)}, false},
    {"{out_features: 70}", 1, {SR_SHAPE(33, 2)}, false},
    {"{out_features: 20}", 1, {SR_SHAPE(2, 70, 9)}, false},  // weights packed once per step
    {"{out_features: 20}", 1, {SR_SHAPE(4, 130, 9)}, false}, // weights packed in each call
};

const SrOp sr_op_linear = {
    .name = "linear",
    .help = "Matrix product with a weight, on the last dimension.",
    .options = options,
    .params_bytes = sizeof(SrLinearParams),
    .min_in = 1,
    .max_in = 2,
    .flags = SR_OP_ADDS_DX | SR_OP_FUSED_NO_GRAD | SR_OP_BF16,
    .infer = infer,
    .slots = slots,
    .reads = sr__reads_x, // for dy^T x; dx needs dy and the weight
    .design = design,
    .design_bytes = sizeof(SrConv),
    .scratch_bytes = scratch_bytes,
    .prepared = prepared,
    .prepare = {prepare_forward, prepare_backward},
    .flops = flops,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
