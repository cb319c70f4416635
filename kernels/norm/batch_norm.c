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
#include "kernels/norm/batch_norm_rows.h"

#include <math.h>
#include <stddef.h>

#include "base/bf16.h"
#include "kernels/activation/pointwise.h"
#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"
#include "kernels/norm/batch_norm.h"

static const SrOption options[] = {
    {"eps", SR_OPT_FLOAT, offsetof(SrBatchNormParams, eps), "1e-5", 0, 1,
     .help = "Number added to the variance."},
    {"momentum", SR_OPT_FLOAT, offsetof(SrBatchNormParams, momentum), "0.1", 0, 1,
     .help = "Momentum: share of the batch in the running statistics."},
    {"relu", SR_OPT_BOOL, offsetof(SrBatchNormParams, relu), "false",
     .help = "Rectify the output."},
    {"relu6", SR_OPT_BOOL, offsetof(SrBatchNormParams, relu6), "false",
     .help = "Apply a ReLU6 to the output."},
    {"silu", SR_OPT_BOOL, offsetof(SrBatchNormParams, silu), "false",
     .help = "Apply a SiLU to the output."},
    {"hardswish", SR_OPT_BOOL, offsetof(SrBatchNormParams, hardswish), "false",
     .help = "Apply a hard-swish to the output."},
    {"gelu", SR_OPT_BOOL, offsetof(SrBatchNormParams, gelu), "false",
     .help = "Apply a GELU to the output."},
    {"residual", SR_OPT_BOOL, offsetof(SrBatchNormParams, residual), "false",
     .help = "Add a second input before the activation."},
    {"sync", SR_OPT_INT, offsetof(SrBatchNormParams, sync), "0", 0, 1e6,
     .help = "Number of consecutive ranks whose rows share one mean and variance; 0: each rank has "
             "its own."},
    SR_OPTION_END,
};

enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR, COUNT, N_SLOTS };

static SrBatchNormActivation activation(const SrBatchNormParams *p) {
    return p->relu        ? SR_BN_RELU
           : p->relu6     ? SR_BN_RELU6
           : p->silu      ? SR_BN_SILU
           : p->hardswish ? SR_BN_HARDSWISH
           : p->gelu      ? SR_BN_GELU
                          : SR_BN_LINEAR;
}

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
    SrShape c = SR_SHAPE(sr_shape_last(x[0]));
    out[WEIGHT] = sr__param_slot("weight", c, SR_ROLE_NORM_WEIGHT, SR_INIT_CONSTANT, 1);
    out[BIAS] = sr__param_slot("bias", c, SR_ROLE_NORM_BIAS, SR_INIT_CONSTANT, 0);
    out[RUNNING_MEAN] = sr__state_slot("running_mean", c, SR_F32, SR_INIT_CONSTANT, 0);
    out[RUNNING_VAR] = sr__state_slot("running_var", c, SR_F32, SR_INIT_CONSTANT, 1);
    out[COUNT] = sr__state_slot("num_batches_tracked", SR_SCALAR, SR_I64, SR_INIT_CONSTANT, 0);
    return N_SLOTS;
}

// The activation's slope is recomputed from x and the residual.  A relu after a residual reads y
// instead, whose sign says the same.
static unsigned reads(const void *params) {
    const SrBatchNormParams *p = params;
    unsigned residual = !p->residual || activation(p) == SR_BN_LINEAR ? 0
                        : p->relu                                     ? SR_READS_Y
                                                                      : SR_READS_X(1);
    return SR_READS_X(0) | residual;
}

// dx[0] may lie on dy, because number i of dx depends only on number i of dy and on sums taken
// before.
static int inplace(const void *params) {
    (void)params;
    return 0;
}

enum {
    NARROWEST = 64, // channels of a strip at least
    JOINED = 16,    // channels of a piece of work that joins sums: a cache line of each unit
    PIECES = 16,    // pieces of work wanted for a sum
    // Numbers of a tensor from which stores bypass the caches: it would hardly stay there until it
    // is read again.
    STREAMED = 1 << 20,
};

// Rows are summed in chunks whose number depends on the shape alone.
static int chunk_count(int64_t rows) {
    int64_t n = rows / 256;
    return (int)(n < 1 ? 1 : n > 64 ? 64 : n);
}

static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return 2 * (size_t)sr_shape_last(x[0]) * sizeof(float); // mean, invstd: each (C)
}

// Scratch: totals and a partial sum per chunk, each double (2, C); then three rows of coefficients,
// float (3, C).
static size_t scratch_bytes(const SrOpSite *site) {
    size_t C = (size_t)sr_shape_last(site->x[0]),
           chunks = (size_t)chunk_count(sr_shape_rows(site->x[0]));
    return 2 * C * sizeof(double) * (1 + chunks) + 3 * C * sizeof(float);
}

typedef struct {
    int64_t rows;
    int C, chunks, strip;     // channels; runs of rows; channels of a piece of work
    float *mean, *invstd;     // saved, each (C)
    double *totals, *partial; // (2, C), (chunks, 2, C)
    float *a, *k1, *k0;       // each (C)
    SrBatchNormCoefs k;
    SrDtype type; // type of x, y and their gradients
    const SrBatchNormKernels *kernels;
} Work;

// Returns the channels of a strip.  Wide strips read memory in long runs; narrow ones keep all
// threads busy where chunks are few.  No sum crosses channels, so the width does not change bits.
static int strip_width(const Work *w) {
    int width = SR_BN_STRIP;
    while (width > NARROWEST && w->chunks * ((w->C + width - 1) / width) < PIECES)
        width /= 2;
    return width;
}

static Work work_of(const SrOpCall *call) {
    Work w = {.rows = sr_shape_rows(call->x[0].shape), .C = sr_shape_last(call->x[0].shape)};
    w.chunks = chunk_count(w.rows);
    w.strip = strip_width(&w);
    w.mean = call->saved;
    w.invstd = w.mean + w.C;
    w.totals = call->scratch;
    w.partial = w.totals + 2 * w.C;
    w.a = (float *)(w.partial + 2 * (int64_t)w.chunks * w.C);
    w.k1 = w.a + w.C;
    w.k0 = w.k1 + w.C;
    w.k = (SrBatchNormCoefs){w.mean, w.a, call->w[BIAS].data, w.k1, w.k0};
    w.type = call->x[0].dtype;
    w.kernels = sr__batch_norm(call->machine, w.type);
    return w;
}

// Computes a = weight * invstd.  Every call does so, because weight lives in the table, not in
// `saved`.
static void scale_of(const Work *w, const float *weight) {
    for (int c = 0; c < w->C; c++)
        w->a[c] = weight[c] * w->invstd[c];
}

// Adds the partial sums to totals (2, C) in the order of the chunks.
static void add_partials(const Work *w) {
    for (int i = 0; i < 2 * w->C; i++)
        w->totals[i] = 0;
    for (int chunk = 0; chunk < w->chunks; chunk++)
        for (int i = 0; i < 2 * w->C; i++)
            w->totals[i] += w->partial[2 * (int64_t)chunk * w->C + i];
}

// A piece of a loop over chunks x strips: first row, rows, first channel, and the piece's partial
// sums.
typedef struct {
    int64_t at, rows; // offset of the strip's first number; rows of the chunk
    int c, width;
    double *first, *second; // zeroed, each (width)
} Piece;

static int strip_count(const Work *w) { return (w->C + w->strip - 1) / w->strip; }

static Piece piece_of(const Work *w, int task) {
    int chunk = task / strip_count(w), c = task % strip_count(w) * w->strip;
    int64_t low = w->rows * chunk / w->chunks, high = w->rows * (chunk + 1) / w->chunks;
    Piece p = {
        .at = low * w->C + c, .rows = high - low, .c = c, .width = SR_MIN(w->strip, w->C - c)};
    p.first = w->partial + 2 * (int64_t)chunk * w->C + c;
    p.second = p.first + w->C;
    for (int i = 0; i < p.width; i++)
        p.first[i] = p.second[i] = 0;
    return p;
}

static bool parallel_pays(const Work *w) { return w->rows * w->C > SR_CHUNK; }

static double first_row(const Work *w, const void *x, int c) {
    return w->type == SR_BF16 ? (double)sr_bf16_float(((const SrBf16 *)x)[c])
                              : (double)((const float *)x)[c];
}

// Sums x - shift and its square into totals, where shift is the first row of x.
static void sums_of_rows(const Work *w, const void *x) {
    int tasks = w->chunks * strip_count(w);
#pragma omp parallel for schedule(static) if (parallel_pays(w))
    for (int task = 0; task < tasks; task++) {
        Piece p = piece_of(w, task);
        w->kernels->stats(sr__at(w->type, x, p.at), p.rows, w->C, p.width, sr__at(w->type, x, p.c),
                          p.first, p.second);
    }
    add_partials(w);
}

// Fills totals from the channel sums that the op below has left.
static void sums_of_units(const Work *w, const void *x, const SrChannelSums *sums) {
    float *shift = w->k0; // not used otherwise in the forward
    for (int c = 0; c < w->C; c++) {
        shift[c] = (float)first_row(w, x, c);
        w->totals[c] = w->totals[w->C + c] = 0;
    }
#pragma omp parallel for schedule(static) if (sums->units * w->C > SR_CHUNK)
    for (int c = 0; c < w->C; c += JOINED)
        w->kernels->join(sums, w->C, c, SR_MIN(JOINED, w->C - c), shift, w->totals,
                         w->totals + w->C);
}

// Fills totals with this rank's sums about its first row.
static void own_sums(const SrOpCall *call, const Work *w) {
    if (call->x_sums.unit)
        sums_of_units(w, call->x[0].data, &call->x_sums);
    else
        sums_of_rows(w, call->x[0].data);
}

// Ranks have different first rows, so they exchange sums about zero.
static void forward_partial(const SrOpCall *call) {
    Work w = work_of(call);
    double rows = (double)w.rows;
    own_sums(call, &w);
    for (int c = 0; c < w.C; c++) {
        double shift = first_row(&w, call->x[0].data, c), sum = w.totals[c];
        w.totals[w.C + c] += 2 * shift * sum + rows * shift * shift;
        w.totals[c] += rows * shift;
    }
}

// Fills totals with the batch's sums about this rank's first row, and returns the number of rows
// that they cover; every rank has the same number.
static double batch_sums(const SrOpCall *call, const Work *w) {
    double rows = (double)w->rows;
    if (!call->exchanged) {
        own_sums(call, w);
        return rows;
    }
    rows *= call->exchanged;
    for (int c = 0; c < w->C; c++) {
        double shift = first_row(w, call->x[0].data, c);
        w->totals[c] -= rows * shift;
        w->totals[w->C + c] -= 2 * shift * w->totals[c] + rows * shift * shift;
    }
    return rows;
}

// Moves a running statistic one step towards the batch's.
static float moved(float running, double batch, double momentum) {
    return (float)((1 - momentum) * (double)running + momentum * batch);
}

static void batch_statistics(const SrOpCall *call, const Work *w) {
    const SrBatchNormParams *p = call->params;
    const void *x = call->x[0].data; // (rows, C)
    float *running_mean = call->w[RUNNING_MEAN].data, *running_var = call->w[RUNNING_VAR].data;
    double rows = batch_sums(call, w), unbias = rows > 1 ? rows / (rows - 1) : 1;
    for (int c = 0; c < w->C; c++) {
        double mean = w->totals[c] / rows, var = w->totals[w->C + c] / rows - mean * mean;
        var = var > 0 || isnan(var) ? var : 0;
        mean += first_row(w, x, c);
        w->mean[c] = (float)mean;
        w->invstd[c] = (float)(1 / sqrt(var + p->eps));
        running_mean[c] = moved(running_mean[c], mean, p->momentum);
        running_var[c] = moved(running_var[c], var * unbias, p->momentum);
    }
    *(int64_t *)call->w[COUNT].data += 1;
}

// Evaluation normalises by the running statistics.  They are copied to `saved`, so that the
// backward need not know which mode it was.
static void running_statistics(const SrOpCall *call, const Work *w) {
    const SrBatchNormParams *p = call->params;
    const float *running_mean = call->w[RUNNING_MEAN].data,
                *running_var = call->w[RUNNING_VAR].data;
    for (int c = 0; c < w->C; c++) {
        w->mean[c] = running_mean[c];
        w->invstd[c] = (float)(1 / sqrt((double)running_var[c] + p->eps));
    }
}

// A recomputation (again) starts at the second pass: mean and invstd are still in `saved`.
static void forward(const SrOpCall *call) {
    const SrBatchNormParams *p = call->params;
    Work w = work_of(call);
    if (call->train && !call->again)
        batch_statistics(call, &w);
    else if (!call->again)
        running_statistics(call, &w);
    scale_of(&w, call->w[WEIGHT].data);
    const void *x = call->x[0].data, *residual = p->residual ? call->x[1].data : NULL;
    void *y = call->y.data;
    int64_t step = SR_MAX(1, SR_CHUNK / w.C);
    bool stream = w.rows * w.C >= STREAMED;
#pragma omp parallel for schedule(static) if (parallel_pays(&w))
    for (int64_t r = 0; r < w.rows; r += step)
        w.kernels->apply(sr__at(w.type, y, r * w.C), sr__at(w.type, x, r * w.C),
                         sr__at(w.type, residual, r * w.C), SR_MIN(step, w.rows - r), w.C, w.k,
                         activation(p), stream);
}

// Returns the tensor from which the backward takes the slope after a residual
// (batch_norm_rows.h); NULL: none.
static const void *slope_source(const SrOpCall *call) {
    const SrBatchNormParams *p = call->params;
    return !p->residual || activation(p) == SR_BN_LINEAR ? NULL
           : p->relu                                     ? call->y.data
                                                         : call->x[1].data;
}

// Returns where g = dy f' is kept between the two passes: as the gradient of the residual, or in
// dx[0] where computing f' a second time would take longer than writing and reading g.  NULL: it is
// not kept.
static void *kept_gradient(const SrOpCall *call) {
    const SrBatchNormParams *p = call->params;
    if (p->residual && call->dx[1])
        return call->dx[1];
    return activation(p) > SR_BN_RELU ? call->dx[0] : NULL;
}

// Fills totals with sum g and sum g (x - mean).
static void gradient_sums(const SrOpCall *call, const Work *w) {
    const SrBatchNormParams *p = call->params;
    const void *x = call->x[0].data, *aux = slope_source(call);
    void *g_out = kept_gradient(call);
    bool stream = w->rows * w->C >= STREAMED && g_out != call->dy;
    int tasks = w->chunks * strip_count(w);
#pragma omp parallel for schedule(static) if (parallel_pays(w))
    for (int task = 0; task < tasks; task++) {
        Piece s = piece_of(w, task);
        SrBatchNormCoefs k = {w->k.mean + s.c, w->k.a + s.c, w->k.b + s.c, NULL, NULL};
        w->kernels->reduce(sr__at(w->type, x, s.at), sr__at(w->type, aux, s.at),
                           sr__at(w->type, call->dy, s.at), sr__at(w->type, g_out, s.at), s.rows,
                           w->C, s.width, k, activation(p), stream, s.first, s.second);
    }
    add_partials(w);
}

// Adds the gradients of weight and bias from the sums over this rank; other ranks' parts arrive
// with all gradients.
static void parameter_gradients(const SrOpCall *call, const Work *w) {
    for (int c = 0; c < w->C; c++) {
        if (call->dw[WEIGHT])
            call->dw[WEIGHT][c] += (float)(w->totals[w->C + c] * (double)w->invstd[c]);
        if (call->dw[BIAS])
            call->dw[BIAS][c] += (float)w->totals[c];
    }
}

// In training the batch's mean and variance depend on x: k0 and k1 account for that.
static void sum_coefficients(const SrOpCall *call, const Work *w) {
    double rows = (double)w->rows * SR_MAX(1, call->exchanged);
    for (int c = 0; c < w->C; c++) {
        double a = call->train ? (double)w->a[c] / rows : 0, invstd = (double)w->invstd[c];
        w->k0[c] = (float)(a * w->totals[c]);
        w->k1[c] = (float)(a * invstd * invstd * w->totals[w->C + c]);
    }
}

// First half of the backward: the sums, and the gradients of weight, bias and residual.
static void backward_partial(const SrOpCall *call) {
    Work w = work_of(call);
    scale_of(&w, call->w[WEIGHT].data);
    gradient_sums(call, &w);
    parameter_gradients(call, &w);
}

// Makes two passes over memory: sums (and the gradient of the residual), then dx.  Ioffe and
// Szegedy 2015, section 3, with the terms gathered per channel: dx = a g - k1 (x - mean) - k0.
static void backward(const SrOpCall *call) {
    Work w = work_of(call);
    SrBatchNormActivation f = activation(call->params);
    if (!call->exchanged)
        backward_partial(call);
    scale_of(&w, call->w[WEIGHT].data);
    if (!call->dx[0])
        return;
    sum_coefficients(call, &w);
    const void *x = call->x[0].data, *aux = slope_source(call), *dy = call->dy;
    if (kept_gradient(call)) {
        dy = kept_gradient(call);
        f = SR_BN_LINEAR;
        aux = NULL;
    }
    void *dx = call->dx[0]; // (rows, C), perhaps where dy is
    int64_t step = SR_MAX(1, SR_CHUNK / w.C);
    bool stream = w.rows * w.C >= STREAMED && dx != dy;
#pragma omp parallel for schedule(static) if (parallel_pays(&w))
    for (int64_t r = 0; r < w.rows; r += step)
        w.kernels->input_grad(sr__at(w.type, dx, r * w.C), sr__at(w.type, x, r * w.C),
                              sr__at(w.type, aux, r * w.C), sr__at(w.type, dy, r * w.C),
                              SR_MIN(step, w.rows - r), w.C, w.k, f, stream);
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
    call->w[RUNNING_MEAN][c] = (1 - m) * call->w[RUNNING_MEAN][c] + m * *mean;
    call->w[RUNNING_VAR][c] = (1 - m) * call->w[RUNNING_VAR][c] + m * unbiased;
}

// Computes the definition, one channel after the other, without merging passes.
static void reference(const SrRefCall *call) {
    const SrBatchNormParams *p = call->params;
    int64_t rows = sr_shape_rows(call->x_shape[0]);
    int C = sr_shape_last(call->x_shape[0]);
    for (int c = 0; c < C; c++) {
        double mean = call->w[RUNNING_MEAN][c], var = call->w[RUNNING_VAR][c];
        if (call->train)
            reference_statistics(call, c, rows, C, &mean, &var);
        for (int64_t i = c; i < rows * C; i += C) {
            double v =
                (call->x[0][i] - mean) / sqrt(var + p->eps) * call->w[WEIGHT][c] + call->w[BIAS][c];
            v += p->residual ? call->x[1][i] : 0;
            call->y[i] = v;
        }
    }
    // Ops that do the same work alone.
    static const char *const ops[] = {
        [SR_BN_LINEAR] = NULL, [SR_BN_RELU] = "relu",           [SR_BN_RELU6] = "relu6",
        [SR_BN_SILU] = "silu", [SR_BN_HARDSWISH] = "hardswish", [SR_BN_GELU] = "gelu"};
    sr__reference_activation(call, ops[activation(p)]);
    if (call->train)
        call->w[COUNT][0] += 1;
}

static SrOpExchange exchange(const void *params, const SrShape *x) {
    const SrBatchNormParams *p = params;
    return (SrOpExchange){.n = 2 * sr_shape_last(x[0]), .ranks = p->sync};
}

static SrStatus onnx(SrOnnxCall *call) {
    const SrBatchNormParams *p = call->params;
    if (activation(p) != SR_BN_LINEAR || p->residual)
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
    if (activation(p) != SR_BN_LINEAR || p->residual)
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
    .exchange = exchange,
    .partial = {forward_partial, backward_partial},
    .inplace = inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .affine = affine,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
