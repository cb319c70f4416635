// weight_norm_linear: torch.nn.utils.weight_norm of a Linear without bias, y = x W^T with rows
// W_k = g_k v_k / |v_k| (Salimans and Kingma 2016).
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/conv/conv_shape.h"
#include "kernels/core/op_util.h"
#include "kernels/core/row_product.h"
#include "kernels/core/rows.h"
#include "kernels/norm/weight_norm_linear.h"

static const SrOption options[] = {
    {"out_features", SR_OPT_INT, offsetof(SrWeightNormLinearParams, out_features), "1", 1, 1 << 24,
     .help = "Number of output features."},
    SR_OPTION_END,
};

enum { G, V, N_SLOTS };

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrWeightNormLinearParams *p = params;
    SR_TRY(sr__expect_rank("weight_norm_linear", x, n_in, 2, SR_MAX_RANK));
    if (p->out_features < 1)
        SR_FAIL(SR_ERR_CONFIG, "weight_norm_linear: out_features %d: expected at least 1",
                p->out_features);
    *y = x[0];
    y->d[y->rank - 1] = p->out_features;
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    (void)n_in;
    const SrWeightNormLinearParams *p = params;
    out[G] = sr__param_slot("weight_g", SR_SHAPE(p->out_features, 1), SR_ROLE_WEIGHT,
                            SR_INIT_NORM_OF, 0);
    out[V] = sr__param_slot("weight_v", SR_SHAPE(p->out_features, sr_shape_last(x[0])),
                            SR_ROLE_WEIGHT, SR_INIT_UNIFORM_FAN_IN, 1);
    return N_SLOTS;
}

static void design(const SrOpSite *site, void *out) {
    const SrWeightNormLinearParams *p = site->params;
    *(SrConv *)out = sr__row_conv(site->machine, sr_shape_rows(site->x[0]),
                                  sr_shape_last(site->x[0]), p->out_features, SR_F32);
}

static size_t weight_bytes(const void *params, const SrShape *x) {
    const SrWeightNormLinearParams *p = params;
    return (size_t)p->out_features * (size_t)sr_shape_last(x[0]) * sizeof(float);
}

// Saved: W (K, D), then 1 / |v| (K).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)n_in;
    const SrWeightNormLinearParams *p = params;
    return weight_bytes(params, x) + (size_t)p->out_features * sizeof(float);
}

// Scratch: the gradient of W (K, D) in whole cache lines, then what the products need.
static size_t gradient_bytes(const void *params, const SrShape *x) {
    return (weight_bytes(params, x) + SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN;
}

static size_t scratch_bytes(const SrOpSite *site) {
    return gradient_bytes(site->params, site->x) + sr__row_product_bytes(site->design);
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    (void)params, (void)n_in;
    return 2 * sr_shape_count(y) * sr_shape_last(x[0]);
}

// A row of zeros stays a row of zeros instead of becoming NaN.
static double inverse_norm(double square) { return 1 / fmax(sqrt(square), 1e-30); }

static void reference(const SrRefCall *call) {
    int64_t rows = sr_shape_rows(call->x_shape[0]);
    int D = sr_shape_last(call->x_shape[0]), K = sr_shape_last(call->y_shape);
    for (int k = 0; k < K; k++) {
        const double *v = call->w[V] + (int64_t)k * D;
        double square = 0;
        for (int d = 0; d < D; d++)
            square += v[d] * v[d];
        for (int64_t r = 0; r < rows; r++) {
            double sum = 0;
            for (int d = 0; d < D; d++)
                sum += call->x[0][r * D + d] * v[d];
            call->y[r * K + k] = sum * call->w[G][k] * inverse_norm(square);
        }
    }
}

// Makes W once per step.
static void forward(const SrOpCall *call) {
    const SrRows *rows = sr__rows(call->machine);
    const SrConv *product = call->design;
    int D = product->shape.C, K = product->shape.K;
    const float *g = call->w[G].data, *v = call->w[V].data;
    float *weight = call->saved, *inverse = weight + (int64_t)K * D; // (K, D), (K)
#pragma omp parallel for schedule(static) if ((int64_t)K * D > SR_CHUNK)
    for (int k = 0; k < K; k++) {
        const float *row = v + (int64_t)k * D;
        inverse[k] = (float)inverse_norm(rows->dot(row, row, D));
        rows->scale(weight + (int64_t)k * D, row, g[k] * inverse[k], D);
    }
    sr__row_forward(product, call->x[0].data, weight, call->y.data, call->scratch);
}

// Computes dg = dW . v / |v| and dv = g / |v| (dW - (dW . v) v / |v|^2).
static void split_gradient(const SrOpCall *call, const float *dweight, const float *inverse, int K,
                           int D) {
    const SrRows *rows = sr__rows(call->machine);
    const float *g = call->w[G].data, *v = call->w[V].data;
#pragma omp parallel for schedule(static) if ((int64_t)K * D > SR_CHUNK)
    for (int k = 0; k < K; k++) {
        const float *row = v + (int64_t)k * D, *drow = dweight + (int64_t)k * D;
        double along = rows->dot(drow, row, D) * (double)inverse[k];
        if (call->dw[G])
            call->dw[G][k] += (float)along;
        if (!call->dw[V])
            continue;
        float factor = g[k] * inverse[k];
        rows->axpy(call->dw[V] + (int64_t)k * D, drow, factor, D);
        rows->axpy(call->dw[V] + (int64_t)k * D, row, -factor * (float)along * inverse[k], D);
    }
}

// dW (K, D) is computed for this call alone, because dg and dv are functions of it, and then split.
static void backward(const SrOpCall *call) {
    const SrConv *product = call->design;
    const float *weight = call->saved; // (K, D)
    float *dweight = call->scratch;    // (K, D)
    void *rest = (char *)call->scratch + gradient_bytes(call->params, &call->x[0].shape);
    if (call->dw[G] || call->dw[V]) {
        memset(dweight, 0, weight_bytes(call->params, &call->x[0].shape));
        sr__row_backward_weight(product, call->x[0].data, call->dy, dweight, rest);
        split_gradient(call, dweight, weight + (int64_t)product->shape.K * product->shape.C,
                       product->shape.K, product->shape.C);
    }
    if (call->dx[0])
        sr__row_backward_data(product, call->dy, weight, call->dx[0], call->dx_add & 1, rest);
}

static const SrOpCase cases[] = {
    {"{out_features: 5}", 1, {SR_SHAPE(4, 7)}, false},
    {"{out_features: 20}", 1, {SR_SHAPE(3, 17)}, false},
    {"{out_features: 20}", 1, {SR_SHAPE(2, 70, 9)}, false}, // enough rows for packed weights
};

const SrOp sr_op_weight_norm_linear = {
    .name = "weight_norm_linear",
    .help = "Linear layer whose weight rows have learned lengths.",
    .options = options,
    .params_bytes = sizeof(SrWeightNormLinearParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_ADDS_DX,
    .infer = infer,
    .slots = slots,
    .reads = sr__reads_x,
    .saved_bytes = saved_bytes,
    .design = design,
    .design_bytes = sizeof(SrConv),
    .scratch_bytes = scratch_bytes,
    .flops = flops,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
