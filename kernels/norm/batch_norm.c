// batch_norm: torch.nn.BatchNorm1d/2d on (rows, C), with an optional residual and activation in the
// same pass.
//
//   train  mean, biased variance of the batch (Ioffe and Szegedy 2015, algorithm 1); running
//          statistics move by `momentum` towards them, the variance unbiased, as PyTorch's do
//   eval   running statistics; also differentiable, because frozen trunks are trained through
//   y      = f((x - mean) * weight * invstd + bias + residual?), f: an activation or nothing
//
// Forward and backward read memory twice each: for the sums per channel, then for the rows.  The
// forward skips the first reading where the op below has left the sums (x_sums).  Sums are taken
// about the first row, so that a mean far from zero costs no digits.  dx[0] may be dy: dx[1], the
// residual's gradient dy f', is written before dx[0] is.  f' is computed from x again, so no
// tensor is kept for it.  With bfloat16, only x, y, dy and dx have that type; statistics,
// coefficients and sums stay as for floats.
#include "kernels/norm/batch_norm.h"

#include <math.h>
#include <stddef.h>

#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"
#include "kernels/norm/batch_statistics.h"

static const SrOption options[] = {
    SR_BATCH_NORM_OPTIONS,
    {"residual", SR_OPT_BOOL, offsetof(SrBatchNormParams, residual), "false",
     .help = "Add a second input before the activation."},
    SR_OPTION_END,
};

// Takes any rank from 2: all dimensions but the last are rows, so (N, C) and (N, H, W, C) are
// treated alike.
static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrBatchNormParams *p = params;
    SR_TRY(sr__expect_rank("batch_norm", x, n_in, 2, SR_MAX_RANK));
    if (p->relu + p->relu6 + p->silu + p->hardswish + p->gelu > 1)
        SR_FAIL(SR_ERR_CONFIG, "batch_norm: expected one activation at most");
    if (n_in != 1 + p->residual)
        return sr__shape_fail("batch_norm", x, n_in, "%d inputs (residual: %s)", 1 + p->residual,
                              p->residual ? "true" : "false");
    if (n_in == 2 && !sr_shape_equal(x[0], x[1]))
        return sr__shape_fail("batch_norm", x, n_in, "a residual of the input's shape");
    *y = x[0];
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    (void)params, (void)n_in;
    return sr__batch_slots(x[0], out);
}

// The activation's slope is recomputed from x and the residual.  A relu after a residual reads y
// instead, whose sign says the same.
static unsigned reads(const void *params) {
    const SrBatchNormParams *p = params;
    unsigned residual = !p->residual || sr__batch_activation(p) == SR_BN_LINEAR ? 0
                        : p->relu                                               ? SR_READS_Y
                                                                                : SR_READS_X(1);
    return SR_READS_X(0) | residual;
}

// dx[0] may lie on dy, because number i of dx depends only on number i of dy and on sums taken
// before.
static int inplace(const void *params) {
    (void)params;
    return 0;
}

static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return 2 * (size_t)sr_shape_last(x[0]) * sizeof(float); // mean, invstd: each (C)
}

static size_t scratch_bytes(const SrOpSite *site) { return sr__batch_scratch_bytes(site->x[0]); }

// A recomputation (again) starts at the second pass: mean and invstd are still in `saved`.
static void forward(const SrOpCall *call) {
    const SrBatchNormParams *p = call->params;
    SrBatchWork w = sr__batch_work(call);
    sr__batch_normaliser(call, &w);
    const void *x = call->x[0].data, *residual = p->residual ? call->x[1].data : NULL;
    void *y = call->y.data;
    int64_t step = SR_MAX(1, SR_CHUNK / w.C);
    bool stream = w.rows * w.C >= SR_BN_STREAMED;
#pragma omp parallel for schedule(static) if (sr__batch_parallel(&w))
    for (int64_t r = 0; r < w.rows; r += step)
        w.kernels->apply(sr__at(w.type, y, r * w.C), sr__at(w.type, x, r * w.C),
                         sr__at(w.type, residual, r * w.C), SR_MIN(step, w.rows - r), w.C, w.k,
                         sr__batch_activation(p), stream);
}

// Returns the tensor from which the backward takes the slope after a residual
// (batch_norm_rows.h); NULL: none.
static const void *slope_source(const SrOpCall *call) {
    const SrBatchNormParams *p = call->params;
    return !p->residual || sr__batch_activation(p) == SR_BN_LINEAR ? NULL
           : p->relu                                               ? call->y.data
                                                                   : call->x[1].data;
}

// Returns where g = dy f' is kept between the two passes: as the gradient of the residual, or in
// dx[0] where computing f' a second time would take longer than writing g: that of GELU, and one
// that would have to read the residual again.  NULL: it is not kept.
static void *kept_gradient(const SrOpCall *call) {
    const SrBatchNormParams *p = call->params;
    SrBatchNormActivation f = sr__batch_activation(p);
    if (p->residual && call->dx[1])
        return call->dx[1];
    return f == SR_BN_GELU || (p->residual && f > SR_BN_RELU) ? call->dx[0] : NULL;
}

// Fills totals with sum g and sum g (x - mean).
static void gradient_sums(const SrOpCall *call, const SrBatchWork *w) {
    const SrBatchNormParams *p = call->params;
    const void *x = call->x[0].data, *aux = slope_source(call);
    void *g_out = kept_gradient(call);
    bool stream = w->rows * w->C >= SR_BN_STREAMED && g_out != call->dy;
    int tasks = w->chunks * sr__batch_strips(w);
#pragma omp parallel for schedule(static) if (sr__batch_parallel(w))
    for (int task = 0; task < tasks; task++) {
        SrBatchPiece s = sr__batch_piece(w, task);
        SrBatchNormCoefs k = {w->k.mean + s.c, w->k.a + s.c, w->k.b + s.c, NULL, NULL};
        w->kernels->reduce(sr__at(w->type, x, s.at), sr__at(w->type, aux, s.at),
                           sr__at(w->type, call->dy, s.at), sr__at(w->type, g_out, s.at), s.rows,
                           w->C, s.width, k, sr__batch_activation(p), stream, s.first, s.second);
    }
    sr__batch_add_partials(w);
}

// First half of the backward: the sums, and the gradients of weight, bias and residual.
static void backward_partial(const SrOpCall *call) {
    SrBatchWork w = sr__batch_work(call);
    sr__batch_scale(&w, call->w[SR_BN_WEIGHT].data);
    gradient_sums(call, &w);
    sr__batch_parameter_gradients(call, &w);
}

// Makes two passes over memory: sums (and the gradient of the residual), then dx.  Ioffe and
// Szegedy 2015, section 3, with the terms gathered per channel: dx = a g - k1 (x - mean) - k0.
static void backward(const SrOpCall *call) {
    SrBatchWork w = sr__batch_work(call);
    SrBatchNormActivation f = sr__batch_activation(call->params);
    if (!call->exchanged)
        backward_partial(call);
    sr__batch_scale(&w, call->w[SR_BN_WEIGHT].data);
    if (!call->dx[0])
        return;
    sr__batch_sum_coefficients(call, &w);
    const void *x = call->x[0].data, *aux = slope_source(call), *dy = call->dy;
    if (kept_gradient(call)) {
        dy = kept_gradient(call);
        f = SR_BN_LINEAR;
        aux = NULL;
    }
    sr__batch_input_grad(&w, call->dx[0], x, aux, dy, f);
}

static void reference_statistics(const SrRefCall *call, int c, int64_t rows, int C, double *mean,
                                 double *var) {
    const SrBatchNormParams *p = call->params;
    double sum = 0, square = 0;
    for (int64_t r = 0; r < rows; r++)
        sum += call->x[0][r * C + c];
    *mean = sum / (double)rows;
    for (int64_t r = 0; r < rows; r++)
        square += (call->x[0][r * C + c] - *mean) * (call->x[0][r * C + c] - *mean);
    *var = square / (double)rows;
    double unbiased = rows > 1 ? square / (double)(rows - 1) : *var, m = p->momentum;
    call->w[SR_BN_RUNNING_MEAN][c] = (1 - m) * call->w[SR_BN_RUNNING_MEAN][c] + m * *mean;
    call->w[SR_BN_RUNNING_VAR][c] = (1 - m) * call->w[SR_BN_RUNNING_VAR][c] + m * unbiased;
}

// Computes the definition, one channel after the other, without merging passes.
static void reference(const SrRefCall *call) {
    const SrBatchNormParams *p = call->params;
    int64_t rows = sr_shape_rows(call->x_shape[0]);
    int C = sr_shape_last(call->x_shape[0]);
    for (int c = 0; c < C; c++) {
        double mean = call->w[SR_BN_RUNNING_MEAN][c], var = call->w[SR_BN_RUNNING_VAR][c];
        if (call->train)
            reference_statistics(call, c, rows, C, &mean, &var);
        for (int64_t i = c; i < rows * C; i += C) {
            double v = (call->x[0][i] - mean) / sqrt(var + p->eps) * call->w[SR_BN_WEIGHT][c] +
                       call->w[SR_BN_BIAS][c];
            v += p->residual ? call->x[1][i] : 0;
            call->y[i] = v;
        }
    }
    sr__batch_reference_activation(call, sr__batch_activation(p));
    if (call->train)
        call->w[SR_BN_COUNT][0] += 1;
}

static SrStatus onnx(SrOnnxCall *call) {
    const SrBatchNormParams *p = call->params;
    if (sr__batch_activation(p) != SR_BN_LINEAR || p->residual)
        return sr__onnx_unsupported(call, "fused");
    const char *in[5] = {call->in[0]}; // then weight, bias, running_mean, running_var
    for (int i = 0; i < 4; i++)
        in[i + 1] = sr__onnx_weight(call, i);
    sr__onnx_begin(call, "BatchNormalization", in, 5);
    sr_onnx_float(call->file, "epsilon", (float)p->eps);
    sr_onnx_end(call->file);
    return SR_OK;
}

// Returns y = a x + b with the running statistics.  w is NULL where only the answer is wanted.
static bool affine(const void *params, const float *const *w, int C, double *a, double *b) {
    const SrBatchNormParams *p = params;
    if (sr__batch_activation(p) != SR_BN_LINEAR || p->residual)
        return false;
    if (!a)
        return true;
    const float *gamma = w[0], *beta = w[1], *mean = w[2], *var = w[3]; // (C) each
    for (int c = 0; c < C; c++) {
        a[c] = (double)gamma[c] / sqrt((double)var[c] + p->eps);
        b[c] = (double)beta[c] - a[c] * (double)mean[c];
    }
    return true;
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(3, 4, 5, 6)}, false},
    {"{relu: true, eps: 1e-3, momentum: 0.3}", 1, {SR_SHAPE(19, 70)}, false},
    {"{relu: true, residual: true}", 2, {SR_SHAPE(2, 3, 3, 17), SR_SHAPE(2, 3, 3, 17)}, false},
    {"{residual: true}", 2, {SR_SHAPE(8, 5), SR_SHAPE(8, 5)}, false},
    {"{relu6: true}", 1, {SR_SHAPE(5, 3, 2, 20)}, false},
    {"{silu: true}", 1, {SR_SHAPE(3, 5, 4, 37)}, false},
    {"{silu: true, residual: true}", 2, {SR_SHAPE(2, 3, 3, 17), SR_SHAPE(2, 3, 3, 17)}, false},
    {"{hardswish: true}", 1, {SR_SHAPE(23, 18)}, false},
    {"{gelu: true}", 1, {SR_SHAPE(3, 4, 5, 8)}, false},
    {"{gelu: true, residual: true}", 2, {SR_SHAPE(30, 21), SR_SHAPE(30, 21)}, false},
    {"{sync: 2}", 1, {SR_SHAPE(700, 2)}, false}, // two chunks of rows
};

const SrOp sr_op_batch_norm = {
    .name = "batch_norm",
    .help = "Batch normalisation per channel, with an optional residual and activation.",
    .options = options,
    .params_bytes = sizeof(SrBatchNormParams),
    .min_in = 1,
    .max_in = 2,
    .flags = SR_OP_IMPURE | SR_OP_CHEAP | SR_OP_BF16 | SR_OP_TAKES_SUMS,
    .infer = infer,
    .slots = slots,
    .reads = reads,
    .saved_bytes = saved_bytes,
    .scratch_bytes = scratch_bytes,
    .exchange = sr__batch_exchange,
    .partial = {sr__batch_forward_partial, backward_partial},
    .inplace = inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .affine = affine,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
