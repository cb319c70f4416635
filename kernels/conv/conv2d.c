// conv2d: torch.nn.Conv2d as an op.  The op wraps the convolutions of kernels/conv/conv.h.
#include <math.h>
#include <stddef.h>

#include "kernels/activation/pointwise.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/conv2d.h"
#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"

static const SrOption options[] = {
    {"out_channels", SR_OPT_INT, offsetof(SrConv2dParams, out_channels), "1", 1, 1 << 20,
     .help = "Output channels."},
    {"kernel_h", SR_OPT_INT, offsetof(SrConv2dParams, kernel_h), "1", 1, 1024,
     .help = "Kernel rows."},
    {"kernel_w", SR_OPT_INT, offsetof(SrConv2dParams, kernel_w), "0", 0, 1024,
     .help = "Kernel columns; 0: as many as rows."},
    {"stride_h", SR_OPT_INT, offsetof(SrConv2dParams, stride_h), "1", 0, 1024,
     .help = "Vertical stride; 0: 1."},
    {"stride_w", SR_OPT_INT, offsetof(SrConv2dParams, stride_w), "0", 0, 1024,
     .help = "Horizontal stride; 0: as stride_h."},
    {"padding_h", SR_OPT_INT, offsetof(SrConv2dParams, padding_h), "0", 0, 1024,
     .help = "Zero rows above and below."},
    {"padding_w", SR_OPT_INT, offsetof(SrConv2dParams, padding_w), "-1", -1, 1024,
     .help = "Zero columns left and right; -1: as padding_h."},
    {"dilation_h", SR_OPT_INT, offsetof(SrConv2dParams, dilation_h), "1", 0, 1024,
     .help = "Vertical dilation; 0: 1."},
    {"dilation_w", SR_OPT_INT, offsetof(SrConv2dParams, dilation_w), "0", 0, 1024,
     .help = "Horizontal dilation; 0: as dilation_h."},
    {"groups", SR_OPT_INT, offsetof(SrConv2dParams, groups), "1", 0, 1 << 20,
     .help = "Channel groups; 0: 1."},
    {"bias", SR_OPT_BOOL, offsetof(SrConv2dParams, bias), "false",
     .help = "Add a bias to each output channel."},
    {"relu", SR_OPT_BOOL, offsetof(SrConv2dParams, relu), "false",
     .help = "Apply a ReLU to the result; without gradients only."},
    {"silu", SR_OPT_BOOL, offsetof(SrConv2dParams, silu), "false",
     .help = "Apply a SiLU to the result; without gradients only."},
    {"hardswish", SR_OPT_BOOL, offsetof(SrConv2dParams, hardswish), "false",
     .help = "Apply a hard-swish to the result; without gradients only."},
    {"relu6", SR_OPT_BOOL, offsetof(SrConv2dParams, relu6), "false",
     .help = "Apply a ReLU6 to the result; without gradients only."},
    {"residual", SR_OPT_BOOL, offsetof(SrConv2dParams, residual), "false",
     .help = "Add a second input before the activation; without gradients only."},
    SR_OPTION_END,
};

// Returns the name of the op that this conv2d also does; NULL: none.
static const char *activation(const SrConv2dParams *p) {
    return p->relu        ? "relu"
           : p->silu      ? "silu"
           : p->hardswish ? "hardswish"
           : p->relu6     ? "relu6"
                          : NULL;
}

static bool is_fused(const SrConv2dParams *p) { return p->residual || activation(p); }

static int or_else(int value, int otherwise) { return value ? value : otherwise; }

SrConv2dParams sr__conv2d_resolved(const SrConv2dParams *p) {
    SrConv2dParams r = *p;
    r.kernel_w = or_else(p->kernel_w, p->kernel_h);
    r.stride_h = or_else(p->stride_h, 1);
    r.stride_w = or_else(p->stride_w, r.stride_h);
    r.padding_w = p->padding_w < 0 ? p->padding_h : p->padding_w;
    r.dilation_h = or_else(p->dilation_h, 1);
    r.dilation_w = or_else(p->dilation_w, r.dilation_h);
    r.groups = or_else(p->groups, 1);
    return r;
}

SrConvShape sr__conv2d_shape(const SrConv2dParams *params, SrShape x, SrDtype type) {
    SrConv2dParams p = sr__conv2d_resolved(params);
    SrConvShape s = {.N = x.d[0], .H = x.d[1], .W = x.d[2], .C = x.d[3], .K = p.out_channels};
    s.type = type;
    s.R = p.kernel_h;
    s.S = p.kernel_w;
    s.stride_h = p.stride_h;
    s.stride_w = p.stride_w;
    s.pad_h = p.padding_h;
    s.pad_w = p.padding_w;
    s.dilation_h = p.dilation_h;
    s.dilation_w = p.dilation_w;
    s.groups = p.groups;
    sr_conv_shape(&s);
    return s;
}

// Computes y (N, P, Q, K).  All divisors are checked here, before slots or scratch divide by them.
static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrConv2dParams *p = params;
    if (n_in != 1 + p->residual)
        return sr__shape_fail("conv2d", x, n_in, "%d inputs (residual: %s)", 1 + p->residual,
                              p->residual ? "on" : "off");
    SR_TRY(sr__expect_rank("conv2d", x, n_in, 4, 4));
    SrConvShape s = sr__conv2d_shape(params, x[0], SR_F32);
    if (s.K < 1 || s.R < 1)
        SR_FAIL(SR_ERR_CONFIG, "conv2d: out_channels %d, kernel_h %d: expected at least 1", s.K,
                s.R);
    if (s.C % s.groups || s.K % s.groups)
        return sr__shape_fail("conv2d", x, n_in, "%d and %d channels to be multiples of groups %d",
                              s.C, s.K, s.groups);
    if (s.H + 2 * s.pad_h < (s.R - 1) * s.dilation_h + 1 ||
        s.W + 2 * s.pad_w < (s.S - 1) * s.dilation_w + 1)
        return sr__shape_fail("conv2d", x, n_in, "a map at least as large as the %d x %d kernel",
                              s.R, s.S);
    *y = SR_SHAPE(s.N, s.P, s.Q, s.K);
    if (p->residual && !sr_shape_equal(x[1], *y))
        return sr__shape_fail("conv2d", x, n_in, "a residual of the output's shape");
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    (void)n_in;
    const SrConv2dParams *p = params;
    SrConvShape s = sr__conv2d_shape(p, x[0], SR_F32);
    int fan_in = s.C / s.groups * s.R * s.S;
    out[0] = sr__param_slot("weight", SR_SHAPE(s.K, s.C / s.groups, s.R, s.S), SR_ROLE_WEIGHT,
                            SR_INIT_UNIFORM_FAN_IN, 1);
    // PyTorch scales the bias by the weight's fan-in, which the bias' shape does not tell.
    out[1] = sr__param_slot("bias", SR_SHAPE(s.K), SR_ROLE_BIAS, SR_INIT_UNIFORM, 1 / sqrt(fan_in));
    return p->bias ? 2 : 1;
}

static void design(const SrOpSite *site, void *out) {
    SrConvShape s = sr__conv2d_shape(site->params, site->x[0], site->type);
    s.machine = site->machine;
    *(SrConv *)out = sr_conv_choose(&s);
}

// One size serves all passes: the plan gives a node one scratch area at a time.
static size_t scratch_bytes(const SrOpSite *site) {
    size_t most = 0;
    for (int pass = SR_CONV_FORWARD; pass <= SR_CONV_BACKWARD_WEIGHT; pass++) {
        size_t bytes = sr_conv_scratch_bytes(site->design, (SrConvPass)pass);
        most = SR_MAX(most, bytes);
    }
    return most;
}

static SrOpPrepared prepared(const SrOpSite *site, SrOpPass pass) {
    SrConvPrepared p = sr_conv_prepared(
        site->design, pass == SR_PASS_FORWARD ? SR_CONV_FORWARD : SR_CONV_BACKWARD_DATA);
    return (SrOpPrepared){p.bytes, p.key};
}

static int64_t sum_units(const SrOpSite *site) {
    const SrConv2dParams *p = site->params;
    return p->bias || is_fused(p) ? 0 : sr_conv_sum_units(site->design);
}

static void prepare_forward(const SrOpCall *call) {
    sr_conv_prepare(call->design, SR_CONV_FORWARD, call->w[0].data, call->prepared);
}

static void prepare_backward(const SrOpCall *call) {
    sr_conv_prepare(call->design, SR_CONV_BACKWARD_DATA, call->w[0].data, call->prepared);
}

// Returns the weights in the form that the pass reads.
static const float *weights(const SrOpCall *call) {
    return call->prepared ? call->prepared : call->w[0].data;
}

// Taps that fall on padding are counted, as is usual when GFLOP/s of convolutions are reported.
static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    (void)n_in;
    SrConvShape s = sr__conv2d_shape(params, x[0], SR_F32);
    return 2 * sr_shape_count(y) * s.R * s.S * (s.C / s.groups);
}

// Computes one output by plain loops.  x (N, H, W, C), w (K, C/groups, R, S).
static double tap_sum(const SrConvShape *s, const double *x, const double *w, int n, int p, int q,
                      int k) {
    int C_group = s->C / s->groups, first = k / (s->K / s->groups) * C_group;
    double sum = 0;
    for (int r = 0; r < s->R; r++)
        for (int t = 0; t < s->S; t++) {
            int h = p * s->stride_h - s->pad_h + r * s->dilation_h;
            int v = q * s->stride_w - s->pad_w + t * s->dilation_w;
            if (h < 0 || h >= s->H || v < 0 || v >= s->W)
                continue;
            const double *pixel = x + (((int64_t)n * s->H + h) * s->W + v) * s->C + first;
            for (int c = 0; c < C_group; c++)
                sum += pixel[c] * w[(((int64_t)k * C_group + c) * s->R + r) * s->S + t];
        }
    return sum;
}

static void reference(const SrRefCall *call) {
    SrConvShape s = sr__conv2d_shape(call->params, call->x_shape[0], SR_F32);
    double *y = call->y;
    for (int n = 0; n < s.N; n++)
        for (int p = 0; p < s.P; p++)
            for (int q = 0; q < s.Q; q++)
                for (int k = 0; k < s.K; k++)
                    *y++ = tap_sum(&s, call->x[0], call->w[0], n, p, q, k) +
                           (call->n_w > 1 ? call->w[1][k] : 0);
    const SrConv2dParams *o = call->params;
    for (int64_t i = 0; o->residual && i < sr_shape_count(call->y_shape); i++)
        call->y[i] += call->x[1][i];
    sr__reference_activation(call, activation(o));
}

static void forward(const SrOpCall *call) {
    const SrConv2dParams *p = call->params;
    SrConvEnd end = {.bias = p->bias ? call->w[1].data : NULL,
                     .residual = p->residual ? call->x[1].data : NULL,
                     .relu = p->relu,
                     .activate = p->silu        ? sr__pointwise(call->machine)->silu.f
                                 : p->hardswish ? sr__pointwise(call->machine)->hardswish.f
                                 : p->relu6     ? sr__pointwise(call->machine)->relu6.f
                                                : NULL,
                     .sums = call->sums};
    sr_conv_forward_end(call->design, call->x[0].data, weights(call), &end, call->y.data,
                        call->scratch);
}

// A NULL gradient pointer (frozen weight, unused input) skips that part.
static void backward(const SrOpCall *call) {
    float *dbias = call->n_w > 1 ? call->dw[1] : NULL;
    if (call->dw[0] && call->dx[0]) {
        sr_conv_backward(call->design, call->x[0].data, call->dy, weights(call), call->dx[0],
                         call->dx_add & 1, call->dw[0], dbias, call->scratch);
        return;
    }
    if (call->dw[0])
        sr_conv_backward_weight(call->design, call->x[0].data, call->dy, call->dw[0], dbias,
                                call->scratch);
    else if (dbias)
        sr_conv_backward_bias(call->design, call->dy, dbias, call->scratch);
    if (call->dx[0])
        sr_conv_backward_data(call->design, call->dy, weights(call), call->dx[0], call->dx_add & 1,
                              call->scratch);
}

static SrStatus onnx(SrOnnxCall *call) {
    const SrConv2dParams *p = call->params;
    if (is_fused(p))
        return sr__onnx_unsupported(call, "fused");
    SrConvShape s = sr__conv2d_shape(p, call->x[0], SR_F32);
    const char *in[] = {call->in[0], sr__onnx_weight(call, 0),
                        p->bias ? sr__onnx_weight(call, 1) : NULL};
    sr__onnx_begin(call, "Conv", in, p->bias ? 3 : 2);
    sr_onnx_ints(call->file, "kernel_shape", (int64_t[]){s.R, s.S}, 2);
    sr_onnx_ints(call->file, "strides", (int64_t[]){s.stride_h, s.stride_w}, 2);
    sr_onnx_ints(call->file, "pads", (int64_t[]){s.pad_h, s.pad_w, s.pad_h, s.pad_w}, 4);
    sr_onnx_ints(call->file, "dilations", (int64_t[]){s.dilation_h, s.dilation_w}, 2);
    sr_onnx_int(call->file, "group", s.groups);
    sr_onnx_end(call->file);
    return SR_OK;
}

static bool over_windows(const void *params) {
    return ((const SrConv2dParams *)params)->kernel_h > 1;
}

// Short sums take little longer than writing the output: the first layer of an inverted residual,
// and a stem.
static bool expands(const void *params, SrShape x, SrShape y) {
    const SrConv2dParams *p = params;
    SrConvShape s = sr__conv2d_shape(p, x, SR_F32);
    return s.C / s.groups * s.R * s.S <= 48 && sr_shape_count(y) >= 2 * sr_shape_count(x);
}

// clang-format off
static const SrOpCase cases[] = {
    {"{out_channels: 5, kernel_h: 3, padding_h: 1}", 1, {SR_SHAPE(2, 5, 4, 3)}, false},
    {"{out_channels: 4, kernel_h: 3, stride_h: 2, padding_h: 1, bias: true}",
     1, {SR_SHAPE(2, 7, 6, 4)}, false},
    {"{out_channels: 6, kernel_h: 1, stride_h: 2}", 1, {SR_SHAPE(3, 5, 5, 2)}, false},
    {"{out_channels: 6, kernel_h: 3, padding_h: 2, dilation_h: 2, groups: 2}",
     1, {SR_SHAPE(1, 6, 7, 4)}, false},
    {"{out_channels: 3, kernel_h: 1, kernel_w: 3, stride_w: 2, padding_w: 1}",
     1, {SR_SHAPE(2, 3, 6, 5)}, false},
};
// clang-format on

const SrOp sr_op_conv2d = {
    .name = "conv2d",
    .help = "Two-dimensional convolution.",
    .options = options,
    .params_bytes = sizeof(SrConv2dParams),
    .min_in = 1,
    .max_in = 2,
    .flags = SR_OP_ADDS_DX | SR_OP_FUSED_NO_GRAD | SR_OP_BF16 | SR_OP_FOLDS_AFFINE,
    .infer = infer,
    .slots = slots,
    .reads = sr__reads_x, // for the weight gradient; dx needs dy and the weight
    .design = design,
    .design_bytes = sizeof(SrConv),
    .scratch_bytes = scratch_bytes,
    .sum_units = sum_units,
    .prepared = prepared,
    .prepare = {prepare_forward, prepare_backward},
    .flops = flops,
    .over_windows = over_windows,
    .expands = expands,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
