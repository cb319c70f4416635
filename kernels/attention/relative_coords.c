// relative_coords: the offsets between two places of a window on a logarithmic scale, sign(o)
// log2(1 + 8 |o| / (n - 1)) / 3, row and column, (1, 2 h - 1, 2 w - 1, 2), a constant.  The network
// of continuous position biases reads it (Liu et al., "Swin Transformer V2", arXiv:2111.09883,
// equation 4; torchvision's buffer relative_coords_table).
#include <math.h>
#include <stddef.h>

#include "kernels/attention/relative_bias.h"
#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"

#define FIELD(f) offsetof(SrRelativeCoordsParams, f)
static const SrOption options[] = {
    {"window_h", SR_OPT_INT, FIELD(window_h), "2", 2, 0xffff, .help = "Rows of a window."},
    {"window_w", SR_OPT_INT, FIELD(window_w), "2", 2, 0xffff, .help = "Columns of a window."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrRelativeCoordsParams *p = params;
    (void)x, (void)n_in;
    if (p->window_h < 2 || p->window_w < 2)
        SR_FAIL(SR_ERR_CONFIG, "relative_coords: a window of %d x %d: expected at least 2 x 2",
                p->window_h, p->window_w);
    *y = SR_SHAPE(1, 2 * p->window_h - 1, 2 * p->window_w - 1, 2);
    return SR_OK;
}

static bool channels_last(const void *params, bool of_input) {
    (void)params, (void)of_input;
    return true;
}

static double coordinate(int offset, int n) {
    double o = 8.0 * offset / (n - 1);
    return copysign(log2(fabs(o) + 1) / 3, o);
}

static double value_at(const SrRelativeCoordsParams *p, int64_t i) {
    int w = 2 * p->window_w - 1, row = (int)(i / 2 / w), column = (int)(i / 2 % w);
    return i % 2 ? coordinate(column - p->window_w + 1, p->window_w)
                 : coordinate(row - p->window_h + 1, p->window_h);
}

static void reference(const SrRefCall *call) {
    for (int64_t i = 0; i < sr_shape_count(call->y_shape); i++)
        call->y[i] = value_at(call->params, i);
}

static void forward(const SrOpCall *call) {
    float *y = call->y.data;
    for (int64_t i = 0; i < sr_shape_count(call->y.shape); i++)
        y[i] = (float)value_at(call->params, i);
}

static SrStatus onnx(SrOnnxCall *call) {
    float *values =
        sr_arena_alloc(&call->file->arena, (size_t)sr_shape_count(call->y) * sizeof *values);
    SR_TRY_MEMORY(values, "an ONNX graph");
    for (int64_t i = 0; i < sr_shape_count(call->y); i++)
        values[i] = (float)value_at(call->params, i);
    const char *table = sr__onnx_inner(call, "table");
    sr_onnx_weight(call->file, table, (SrTensor){call->y, SR_F32, values});
    return sr__onnx_finish(call, table);
}

static const SrOpCase cases[] = {
    {"{window_h: 3, window_w: 4}", 0, {{0}}, false},
};

const SrOp sr_op_relative_coords = {
    .name = "relative_coords",
    .help = "Offsets between two positions of a window on a logarithmic scale.",
    .options = options,
    .params_bytes = sizeof(SrRelativeCoordsParams),
    .min_in = 0,
    .max_in = 0,
    .flags = SR_OP_NO_GRAD,
    .infer = infer,
    .channels_last = channels_last,
    .reference = reference,
    .forward = forward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
