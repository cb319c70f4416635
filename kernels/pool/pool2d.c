// max_pool2d and avg_pool2d, the largest number or the mean of each window of a map, and their
// adaptive forms, whose fixed number of windows covers the map: torch.nn.MaxPool2d, AvgPool2d
// (padding counts as zeros), AdaptiveMaxPool2d, AdaptiveAvgPool2d.
//
// Each op combines a rule for the windows with what is computed of a window (pool2d_windows.h).
#include <stddef.h>

#include "kernels/core/op_util.h"
#include "kernels/pool/pool2d.h"
#include "kernels/pool/pool2d_onnx.h"
#include "kernels/pool/pool2d_windows.h"

#define FIELD(f) offsetof(SrPool2dParams, f)
// clang-format off
#define WINDOW_OPTIONS \
    {"kernel_h", SR_OPT_INT, FIELD(kernel_h), "2", 1, 65535, .help = "Window rows."}, \
    {"kernel_w", SR_OPT_INT, FIELD(kernel_w), "0", 0, 65535, .help = "Window columns; 0: as kernel_h."}, \
    {"stride_h", SR_OPT_INT, FIELD(stride_h), "0", 0, 65535, .help = "Vertical stride; 0: as kernel_h."}, \
    {"stride_w", SR_OPT_INT, FIELD(stride_w), "0", 0, 65535, .help = "Horizontal stride; 0: as stride_h."}, \
    {"padding_h", SR_OPT_INT, FIELD(padding_h), "0", 0, 65535, .help = "Rows of padding."}, \
    {"padding_w", SR_OPT_INT, FIELD(padding_w), "-1", -1, 65535, .help = "Columns of padding; -1: as padding_h."}
static const SrOption max_options[] = {
    WINDOW_OPTIONS,
    {"ceil_mode", SR_OPT_BOOL, FIELD(ceil_mode), "false", .help = "The last window may extend beyond the border."},
    SR_OPTION_END};
static const SrOption avg_options[] = {
    WINDOW_OPTIONS,
    {"exclude_pad", SR_OPT_BOOL, FIELD(exclude_pad), "false", .help = "Divide by the pixels inside the map."},
    SR_OPTION_END};
static const SrOption adaptive_options[] = {
    {"out_h", SR_OPT_INT, offsetof(SrAdaptivePool2dParams, out_h), "1", 0, 65535, .help = "Output rows."},
    {"out_w", SR_OPT_INT, offsetof(SrAdaptivePool2dParams, out_w), "1", 0, 65535, .help = "Output columns."},
    SR_OPTION_END};

static const SrOpCase max_cases[] = {
    {"{kernel_h: 3, stride_h: 2, padding_h: 1}", 1, {SR_SHAPE(2, 8, 7, 5)}, false},
    {"{kernel_h: 2}", 1, {SR_SHAPE(2, 5, 4, 70)}, false},
    {"{kernel_h: 3, kernel_w: 2, stride_h: 2, stride_w: 1, padding_w: 1, ceil_mode: true}",
     1, {SR_SHAPE(1, 8, 5, 3)}, false}};
static const SrOpCase avg_cases[] = {
    {"{kernel_h: 3, stride_h: 2, padding_h: 1}", 1, {SR_SHAPE(2, 8, 7, 5)}, false},
    {"{kernel_h: 2}", 1, {SR_SHAPE(2, 5, 4, 20)}, false},
    {"{kernel_h: 3, kernel_w: 2, stride_h: 2, stride_w: 1, padding_w: 1, exclude_pad: true}",
     1, {SR_SHAPE(1, 8, 5, 3)}, false}};
static const SrOpCase adaptive_cases[] = {
    {"{}", 1, {SR_SHAPE(2, 5, 7, 3)}, false},
    {"{out_h: 3, out_w: 2}", 1, {SR_SHAPE(2, 7, 5, 20)}, false},
    {"{out_h: 6, out_w: 6}", 1, {SR_SHAPE(1, 4, 6, 2)}, false}};
// clang-format on
#undef FIELD

// Resolves zeros of the params as pool2d.h says.
static SrPool fixed(const void *params, SrShape x) {
    const SrPool2dParams *p = params;
    int kernel_w = p->kernel_w ? p->kernel_w : p->kernel_h;
    int stride_h = p->stride_h ? p->stride_h : p->kernel_h;
    int stride_w = p->stride_w ? p->stride_w : p->stride_h ? p->stride_h : kernel_w;
    int pad_w = p->padding_w < 0 ? p->padding_h : p->padding_w;
    return (SrPool){.N = x.d[0],
                    .C = x.d[3],
                    .h = sr__pool_axis(x.d[1], p->kernel_h, stride_h, p->padding_h, p->ceil_mode),
                    .w = sr__pool_axis(x.d[2], kernel_w, stride_w, pad_w, p->ceil_mode),
                    .ceil_mode = p->ceil_mode,
                    .exclude_pad = p->exclude_pad};
}

static SrPool adaptive(const void *params, SrShape x) {
    const SrAdaptivePool2dParams *p = params;
    return (SrPool){.N = x.d[0],
                    .C = x.d[3],
                    .h = {.in = x.d[1], .out = p->out_h ? p->out_h : 1},
                    .w = {.in = x.d[2], .out = p->out_w ? p->out_w : 1},
                    .exclude_pad = true};
}

static SrStatus fixed_infer(const char *op, const void *params, const SrShape *x, int n_in,
                            SrShape *y) {
    const SrPool2dParams *p = params;
    SR_TRY(sr__expect_rank(op, x, n_in, 4, 4));
    if (p->kernel_h < 1)
        SR_FAIL(SR_ERR_CONFIG, "%s: kernel_h %d: expected at least 1", op, p->kernel_h);
    SrPool pool = fixed(p, x[0]);
    if (2 * pool.h.pad > pool.h.kernel || 2 * pool.w.pad > pool.w.kernel)
        SR_FAIL(SR_ERR_CONFIG, "%s: padding %d x %d: expected at most half the kernel %d x %d", op,
                pool.h.pad, pool.w.pad, pool.h.kernel, pool.w.kernel);
    if ((int64_t)pool.h.kernel * pool.w.kernel > UINT16_MAX)
        SR_FAIL(SR_ERR_CONFIG, "%s: kernel %d x %d: expected at most 65535 cells", op,
                pool.h.kernel, pool.w.kernel);
    if (pool.h.out < 1 || pool.w.out < 1)
        return sr__shape_fail(op, x, n_in, "a map at least as large as the %d x %d kernel",
                              pool.h.kernel, pool.w.kernel);
    *y = SR_SHAPE(pool.N, pool.h.out, pool.w.out, pool.C);
    return SR_OK;
}

static SrStatus adaptive_infer(const char *op, const void *params, const SrShape *x, int n_in,
                               SrShape *y) {
    SR_TRY(sr__expect_rank(op, x, n_in, 4, 4));
    SrPool pool = adaptive(params, x[0]);
    if (pool.h.out < 0 || pool.w.out < 0)
        SR_FAIL(SR_ERR_CONFIG, "%s: output %d x %d: expected positive sizes", op, pool.h.out,
                pool.w.out);
    if ((int64_t)pool.h.in * pool.w.in > UINT16_MAX)
        return sr__shape_fail(op, x, n_in, "a map of at most 65535 pixels");
    *y = SR_SHAPE(pool.N, pool.h.out, pool.w.out, pool.C);
    return SR_OK;
}

// Fields of all four ops, from the stem of their hooks and the rule of their windows.
#define POOL_HOOKS(stem, op, rule, is_max)                                                     \
    static SrStatus stem##_infer(const void *params, const SrShape *x, int n_in, SrShape *y) { \
        return rule##_infer(op, params, x, n_in, y);                                           \
    }                                                                                          \
    static void stem##_reference(const SrRefCall *call) {                                      \
        SrPool pool = rule(call->params, call->x_shape[0]);                                    \
        sr__pool_reference(&pool, is_max, call->x[0], call->y);                                \
    }                                                                                          \
    static SrStatus stem##_onnx(SrOnnxCall *call) {                                            \
        return sr__pool_onnx(call, rule(call->params, call->x[0]), is_max);                    \
    }
#define POOL_OP(stem)                                                               \
    .min_in = 1, .max_in = 1, .infer = stem##_infer, .reference = stem##_reference, \
    .forward = stem##_forward, .backward = stem##_backward, .onnx = stem##_onnx

// Saved: the place of each maximum in its window, (N, P, Q, C).
#define MAX_HOOKS(stem, op, rule)                                                          \
    POOL_HOOKS(stem, op, rule, true)                                                       \
    static size_t stem##_saved_bytes(const void *params, const SrShape *x, int n_in) {     \
        SrPool pool = rule(params, x[0]);                                                  \
        (void)n_in;                                                                        \
        return (size_t)pool.N * (size_t)pool.h.out * (size_t)pool.w.out * (size_t)pool.C * \
               sizeof(uint16_t);                                                           \
    }                                                                                      \
    static void stem##_forward(const SrOpCall *call) {                                     \
        SrPool pool = rule(call->params, call->x[0].shape);                                \
        sr__pool_max(call->machine, &pool, call->y.dtype, call->x[0].data, call->y.data,   \
                     call->saved);                                                         \
    }                                                                                      \
    static void stem##_backward(const SrOpCall *call) {                                    \
        SrPool pool = rule(call->params, call->x[0].shape);                                \
        if (call->dx[0])                                                                   \
            sr__pool_max_grad(call->machine, &pool, call->y.dtype, call->dy, call->saved,  \
                              call->dx[0]);                                                \
    }
MAX_HOOKS(max, "max_pool2d", fixed)
MAX_HOOKS(adaptive_max, "adaptive_max_pool2d", adaptive)

#define AVG_HOOKS(stem, op, rule)                                                               \
    POOL_HOOKS(stem, op, rule, false)                                                           \
    static void stem##_forward(const SrOpCall *call) {                                          \
        SrPool pool = rule(call->params, call->x[0].shape);                                     \
        sr__pool_mean(call->machine, &pool, call->x[0].dtype, call->x[0].data, call->y.dtype,   \
                      call->y.data);                                                            \
    }                                                                                           \
    static void stem##_backward(const SrOpCall *call) {                                         \
        SrPool pool = rule(call->params, call->x[0].shape);                                     \
        if (call->dx[0])                                                                        \
            sr__pool_mean_grad(call->machine, &pool, call->y.dtype, call->dy, call->x[0].dtype, \
                               call->dx[0]);                                                    \
    }
AVG_HOOKS(avg, "avg_pool2d", fixed)
AVG_HOOKS(adaptive_avg, "adaptive_avg_pool2d", adaptive)

const SrOp sr_op_max_pool2d = {
    .name = "max_pool2d",
    .help = "Largest value of each window.",
    .options = max_options,
    .params_bytes = sizeof(SrPool2dParams),
    .flags = SR_OP_CHEAP | SR_OP_BF16,
    .saved_bytes = max_saved_bytes,
    .cases = max_cases,
    .n_cases = SR_COUNT(max_cases),
    POOL_OP(max),
};

const SrOp sr_op_avg_pool2d = {
    .name = "avg_pool2d",
    .help = "Mean of each window.",
    .options = avg_options,
    .params_bytes = sizeof(SrPool2dParams),
    .flags = SR_OP_CHEAP | SR_OP_BF16 | SR_OP_MIXES,
    .cases = avg_cases,
    .n_cases = SR_COUNT(avg_cases),
    POOL_OP(avg),
};

const SrOp sr_op_adaptive_max_pool2d = {
    .name = "adaptive_max_pool2d",
    .help = "Maxima over a fixed number of windows.",
    .options = adaptive_options,
    .params_bytes = sizeof(SrAdaptivePool2dParams),
    .flags = SR_OP_CHEAP | SR_OP_BF16,
    .saved_bytes = adaptive_max_saved_bytes,
    .cases = adaptive_cases,
    .n_cases = SR_COUNT(adaptive_cases),
    POOL_OP(adaptive_max),
};

const SrOp sr_op_adaptive_avg_pool2d = {
    .name = "adaptive_avg_pool2d",
    .help = "Means over a fixed number of windows.",
    .options = adaptive_options,
    .params_bytes = sizeof(SrAdaptivePool2dParams),
    .flags = SR_OP_CHEAP | SR_OP_BF16 | SR_OP_MIXES,
    .cases = adaptive_cases,
    .n_cases = SR_COUNT(adaptive_cases),
    POOL_OP(adaptive_avg),
};
