// layer_scale: y = x times a learned factor per channel, over (..., C) (Touvron et al., "Going
// deeper with image transformers", arXiv:2103.17239, section 2).
#include "kernels/norm/layer_scale.h"

#include <stddef.h>

#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

static const SrOption options[] = {
    {"init", SR_OPT_FLOAT, offsetof(SrLayerScaleParams, init), "1e-6", 0, 1e6,
     .help = "Initial value of every factor."},
    {"over_planes", SR_OPT_BOOL, offsetof(SrLayerScaleParams, over_planes), "False",
     .help = "The parameter has the shape (C, 1, 1) instead of (C)."},
    SR_OPTION_END,
};

enum {
    UNITS = 64
}; // most pieces that rows are cut into: the parameter's gradient is summed in each

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    SR_TRY(sr__expect_rank("layer_scale", x, n_in, 2, SR_MAX_RANK));
    return sr__infer_same(params, x, n_in, y);
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    const SrLayerScaleParams *p = params;
    int C = sr_shape_last(x[0]);
    (void)n_in;
    out[0] = sr__param_slot("weight", p->over_planes ? SR_SHAPE(C, 1, 1) : SR_SHAPE(C),
                            SR_ROLE_OTHER, SR_INIT_CONSTANT, p->init);
    return 1;
}

static int inplace(const void *params) {
    (void)params;
    return 0;
}

static int64_t unit_rows(SrShape s) { return (sr_shape_rows(s) + UNITS - 1) / UNITS; }

// Scratch: dweight of each piece, float (UNITS, C).
static size_t scratch_bytes(const SrOpSite *site) {
    return UNITS * sizeof(float) * (size_t)sr_shape_last(site->x[0]);
}

static void reference(const SrRefCall *call) {
    int C = sr_shape_last(call->y_shape);
    for (int64_t i = 0; i < sr_shape_count(call->y_shape); i++)
        call->y[i] = call->x[0][i] * call->w[0][i % C];
}

static void forward(const SrOpCall *call) {
    SrShape s = call->y.shape;
    SrDtype type = call->y.dtype;
    int C = sr_shape_last(s);
    int64_t rows = sr_shape_rows(s), unit = unit_rows(s);
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < rows; r += unit)
        sr__rows(call->machine)
            ->mul_rows(type, sr__at(type, call->y.data, r * C),
                       sr__at(type, call->x[0].data, r * C), call->w[0].data,
                       SR_MIN(unit, rows - r), C);
}

// The weight's gradient comes first, because dx may overwrite dy.
static void backward(const SrOpCall *call) {
    SrShape s = call->y.shape;
    SrDtype type = call->y.dtype;
    int C = sr_shape_last(s);
    int64_t rows = sr_shape_rows(s), unit = unit_rows(s);
    float *parts = call->scratch; // (UNITS, C)
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < rows; r += unit) {
        const void *dy = sr__at(type, call->dy, r * C);
        int64_t n = SR_MIN(unit, rows - r);
        if (call->dw[0])
            sr__rows(call->machine)
                ->sum_products(type, parts + r / unit * C, dy, sr__at(type, call->x[0].data, r * C),
                               n, C, false);
        if (call->dx[0])
            sr__rows(call->machine)
                ->mul_rows(type, sr__at(type, call->dx[0], r * C), dy, call->w[0].data, n, C);
    }
    for (int64_t r = 0; call->dw[0] && r < rows; r += unit)
        sr__rows(call->machine)->axpy(call->dw[0], parts + r / unit * C, 1, C);
}

static SrStatus onnx(SrOnnxCall *call) {
    bool map = call->y.rank == 4; // (N, C, H, W) in ONNX
    int C = sr_shape_last(call->y);
    const char *weight = sr__onnx_inner(call, "weight");
    sr_onnx_weight(call->file, weight,
                   (SrTensor){map ? SR_SHAPE(C, 1, 1) : SR_SHAPE(C), SR_F32, call->w[0].data});
    sr__onnx_begin(call, "Mul", (const char *[]){call->in[0], weight}, 2);
    sr_onnx_end(call->file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(3, 5, 24)}, false},
    {"{over_planes: True}", 1, {SR_SHAPE(2, 9, 8, 77)}, false},
    {"{init: 0.1}", 1, {SR_SHAPE(130, 8)}, false},
};

const SrOp sr_op_layer_scale = {
    .name = "layer_scale",
    .help = "Learned factor for each channel.",
    .options = options,
    .params_bytes = sizeof(SrLayerScaleParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP | SR_OP_BF16,
    .infer = infer,
    .slots = slots,
    .reads = sr__reads_x,
    .scratch_bytes = scratch_bytes,
    .inplace = inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
