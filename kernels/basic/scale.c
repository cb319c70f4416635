// scale: y = factor x + offset, for weighting losses and averaging.
#include <stddef.h>

#include "kernels/basic/scale.h"
#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

static const SrOption options[] = {
    {"factor", SR_OPT_FLOAT, offsetof(SrScaleParams, factor), "1", .help = "Factor of the input."},
    {"offset", SR_OPT_FLOAT, offsetof(SrScaleParams, offset), "0",
     .help = "Number added after the multiplication."},
    SR_OPTION_END,
};

static int inplace(const void *params) {
    (void)params;
    return 0;
}

static void reference(const SrRefCall *call) {
    const SrScaleParams *p = call->params;
    for (int64_t i = 0, n = sr_shape_count(call->y_shape); i < n; i++)
        call->y[i] = p->factor * call->x[0][i] + p->offset;
}

// Computes to = factor * from; both have the shape of y.
static void multiply(const SrOpCall *call, float *to, const float *from) {
    const SrRows *k = sr__rows(call->machine);
    const SrScaleParams *p = call->params;
    int64_t n = sr_shape_count(call->y.shape);
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i += SR_CHUNK)
        k->scale(to + i, from + i, (float)p->factor, SR_MIN(SR_CHUNK, n - i));
}

static void forward(const SrOpCall *call) {
    const SrScaleParams *p = call->params;
    float *y = call->y.data; // as x
    multiply(call, y, call->x[0].data);
    for (int64_t i = 0, n = sr_shape_count(call->y.shape); p->offset != 0 && i < n; i++)
        y[i] += (float)p->offset;
}

// The gradient of a multiplication by a constant is the same multiplication.
static void backward(const SrOpCall *call) {
    if (call->dx[0])
        multiply(call, call->dx[0], call->dy);
}

static bool inverse(const void *params, void *inverted) {
    const SrScaleParams *p = params;
    if (p->factor == 0)
        return false;
    *(SrScaleParams *)inverted = (SrScaleParams){1 / p->factor, -p->offset / p->factor};
    return true;
}

static SrStatus onnx(SrOnnxCall *call) {
    const SrScaleParams *p = call->params;
    const char *factor = sr__onnx_number(call, "factor", p->factor);
    const char *product = sr__onnx_two(call, "product", "Mul", call->in[0], factor);
    sr__onnx_begin(call, "Add",
                   (const char *[]){product, sr__onnx_number(call, "offset", p->offset)}, 2);
    sr_onnx_end(call->file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{factor: 3, offset: -1.5}", 1, {SR_SHAPE(2, 5)}, false},
    {"{factor: -0.37}", 1, {SR_SHAPE(3, 11)}, false},
    {"{factor: 2}", 1, {{0}}, false},
};

const SrOp sr_op_scale = {
    .name = "scale",
    .help = "Multiplication by a constant, and an offset.",
    .options = options,
    .params_bytes = sizeof(SrScaleParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP,
    .infer = sr__infer_same,
    .inplace = inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .inverse = inverse,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
