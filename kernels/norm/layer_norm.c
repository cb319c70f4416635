// layer_norm: torch.nn.LayerNorm over the last dimension of (..., C) (Ba et al., arXiv:1607.06450).
#include "kernels/norm/layer_norm.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

static const SrOption options[] = {
    {"eps", SR_OPT_FLOAT, offsetof(SrLayerNormParams, eps), "1e-5", 0, 1,
     .help = "Number added to the variance."},
    SR_OPTION_END,
};

enum { WEIGHT, BIAS, N_SLOTS };
enum { UNITS = 64 }; // pieces that rows are cut into at most; each sums the parameter gradients

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    SR_TRY(sr__expect_rank("layer_norm", x, n_in, 2, SR_MAX_RANK));
    return sr__infer_same(params, x, n_in, y);
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    (void)params, (void)n_in;
    SrShape c = SR_SHAPE(sr_shape_last(x[0]));
    out[WEIGHT] = sr__param_slot("weight", c, SR_ROLE_NORM_WEIGHT, SR_INIT_CONSTANT, 1);
    out[BIAS] = sr__param_slot("bias", c, SR_ROLE_NORM_BIAS, SR_INIT_CONSTANT, 0);
    return N_SLOTS;
}

static int inplace(const void *params) {
    (void)params;
    return 0;
}

static int64_t rows_of(SrShape s) { return sr_shape_count(s) / sr_shape_last(s); }

// Returns the rows of a piece, from the shape alone.
static int64_t unit_rows(SrShape s) { return (rows_of(s) + UNITS - 1) / UNITS; }

// Saved: mean and invstd of each row, float (2, rows).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return 2 * sizeof(float) * (size_t)rows_of(x[0]);
}

// Scratch: dweight and dbias of each piece, float (UNITS, 2, C).
static size_t scratch_bytes(const SrOpSite *site) {
    return UNITS * 2 * sizeof(float) * (size_t)sr_shape_last(site->x[0]);
}

static void reference(const SrRefCall *call) {
    const SrLayerNormParams *p = call->params;
    int C = sr_shape_last(call->y_shape);
    for (int64_t r = 0; r < rows_of(call->y_shape); r++) {
        const double *x = call->x[0] + r * C;
        double mean = 0, var = 0;
        for (int c = 0; c < C; c++)
            mean += x[c] / C;
        for (int c = 0; c < C; c++)
            var += (x[c] - mean) * (x[c] - mean) / C;
        for (int c = 0; c < C; c++)
            call->y[r * C + c] =
                (x[c] - mean) / sqrt(var + p->eps) * call->w[WEIGHT][c] + call->w[BIAS][c];
    }
}

static void forward(const SrOpCall *call) {
    const SrLayerNormParams *p = call->params;
    const SrLayerNormKernels *k = sr__layer_norm(call->machine);
    SrDtype to = call->y.dtype, from = call->x[0].dtype;
    SrShape s = call->y.shape;
    int C = sr_shape_last(s);
    int64_t rows = rows_of(s), unit = unit_rows(s);
    float *mean = call->saved, *invstd = mean + rows; // (rows)
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < rows; r += unit)
        k->forward(to, sr__at(to, call->y.data, r * C), from, sr__at(from, call->x[0].data, r * C),
                   SR_MIN(unit, rows - r), C, p->eps, call->w[WEIGHT].data, call->w[BIAS].data,
                   mean + r, invstd + r, call->again);
}

static void backward(const SrOpCall *call) {
    const SrLayerNormKernels *k = sr__layer_norm(call->machine);
    SrDtype above = call->y.dtype, type = call->x[0].dtype;
    SrShape s = call->y.shape;
    int C = sr_shape_last(s);
    int64_t rows = rows_of(s), unit = unit_rows(s);
    const float *mean = call->saved, *invstd = mean + rows; // (rows)
    bool learns = call->dw[WEIGHT] || call->dw[BIAS];
    float *parts = call->scratch; // (UNITS, 2, C)
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < rows; r += unit) {
        float *part = parts + r / unit * 2 * C;
        if (learns)
            memset(part, 0, 2 * (size_t)C * sizeof *part);
        k->backward(type, sr__at(type, call->dx[0], r * C), sr__at(type, call->x[0].data, r * C),
                    above, sr__at(above, call->dy, r * C), SR_MIN(unit, rows - r), C,
                    call->w[WEIGHT].data, mean + r, invstd + r, learns ? part : NULL,
                    learns ? part + C : NULL);
    }
    for (int64_t r = 0; learns && r < rows; r += unit)
        for (int slot = 0; slot < N_SLOTS; slot++)
            if (call->dw[slot])
                sr__rows(call->machine)
                    ->axpy(call->dw[slot], parts + (r / unit * 2 + slot) * C, 1, C);
}

// ONNX has a node for it only from opset 17 on, so its parts are written.
static const char *mean_over(SrOnnxCall *call, const char *in, int64_t axis, const char *name) {
    const char *out = sr__onnx_inner(call, name);
    sr_onnx_node(call->file, "ReduceMean", &in, 1, out);
    sr_onnx_ints(call->file, "axes", &axis, 1);
    sr_onnx_int(call->file, "keepdims", 1);
    sr_onnx_end(call->file);
    return out;
}

static const char *binary(SrOnnxCall *call, const char *op, const char *a, const char *b,
                          const char *name) {
    const char *out = sr__onnx_inner(call, name);
    sr_onnx_node(call->file, op, (const char *[]){a, b}, 2, out);
    sr_onnx_end(call->file);
    return out;
}

static const char *constant(SrOnnxCall *call, SrTensor value, const char *name) {
    const char *out = sr__onnx_inner(call, name);
    sr_onnx_weight(call->file, out, value);
    return out;
}

static SrStatus onnx(SrOnnxCall *call) {
    const SrLayerNormParams *p = call->params;
    bool map = call->y.rank == 4; // (N, C, H, W) in ONNX
    int64_t axis = map ? 1 : call->y.rank - 1;
    int C = sr_shape_last(call->y);
    SrShape shape = map ? SR_SHAPE(C, 1, 1) : SR_SHAPE(C);
    float *eps = sr_arena_alloc(&call->file->arena, 2 * sizeof *eps);
    SR_TRY_MEMORY(eps, "an ONNX graph");
    *eps = (float)p->eps;
    eps[1] = 2;
    const char *two = constant(call, (SrTensor){SR_SHAPE(1), SR_F32, eps + 1}, "two");
    const char *mean = mean_over(call, call->in[0], axis, "mean");
    const char *away = binary(call, "Sub", call->in[0], mean, "away");
    const char *square = binary(call, "Pow", away, two, "square");
    const char *var = mean_over(call, square, axis, "var");
    const char *floor = constant(call, (SrTensor){SR_SHAPE(1), SR_F32, eps}, "eps");
    const char *sum = binary(call, "Add", var, floor, "sum"), *deviation;
    deviation = sr__onnx_inner(call, "deviation");
    sr_onnx_node(call->file, "Sqrt", &sum, 1, deviation);
    sr_onnx_end(call->file);
    const char *hat = binary(call, "Div", away, deviation, "hat");
    const char *weight = constant(call, (SrTensor){shape, SR_F32, call->w[WEIGHT].data}, "weight");
    const char *scaled = binary(call, "Mul", hat, weight, "scaled");
    const char *bias = constant(call, (SrTensor){shape, SR_F32, call->w[BIAS].data}, "bias");
    sr__onnx_begin(call, "Add", (const char *[]){scaled, bias}, 2);
    sr_onnx_end(call->file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(3, 5, 24)}, false},
    {"{eps: 1e-6}", 1, {SR_SHAPE(2, 3, 4, 37)}, false},
    {"{}", 1, {SR_SHAPE(130, 8)}, false},
};

const SrOp sr_op_layer_norm = {
    .name = "layer_norm",
    .help = "Normalisation of each row (pixel or token) over its channels.",
    .options = options,
    .params_bytes = sizeof(SrLayerNormParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP | SR_OP_BF16 | SR_OP_MIXES,
    .infer = infer,
    .slots = slots,
    .reads = sr__reads_x,
    .saved_bytes = saved_bytes,
    .scratch_bytes = scratch_bytes,
    .inplace = inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
