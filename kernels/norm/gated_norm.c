// gated_norm: a batch norm, its activation and squeeze-and-excitation (Hu et al.,
// arXiv:1709.01507) as one op, which plans make of those ops (graph/plan/pass_fuse_gate.c).
//
//   u = f(batch_norm(x)),  p = the mean of u over an image's pixels        (N, C)
//   h = p fc1^T + b1,      t = act(h) fc2^T + b2,      s = gate(t)         (N, S), (N, C), (N, C)
//   y = u s
//
// u is never stored.  The forward reads x for p and again for y.  The backward reads x and dy
// twice: g = (s dy + dp / pixels) f' is linear in s and dp, which depend on the image alone.  All
// that the gradients of gates, weights and statistics need are therefore five sums per image and
// channel (SrGatedSum), and one pass takes them.  The products of p are floats in every plan.
#include "kernels/norm/gated_norm.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/activation/pointwise.h"
#include "kernels/core/gemm.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"
#include "kernels/norm/batch_statistics.h"
#include "kernels/norm/gated_norm_rows.h"

#define FIELD(f) offsetof(SrGatedNormParams, f)
static const SrOption options[] = {
    SR_BATCH_NORM_OPTIONS,
    {"squeeze", SR_OPT_INT, FIELD(squeeze), "1", 1, 1e6,
     .help = "Channels between the two products."},
    {"activation", SR_OPT_ENUM, FIELD(activation), "relu", .choices = "relu|silu",
     .help = "Activation after the first product."},
    {"gate", SR_OPT_ENUM, FIELD(gate), "sigmoid", .choices = "sigmoid|hardsigmoid",
     .help = "Function that makes gates of the second product."},
    SR_OPTION_END,
};
#undef FIELD

enum { FC1 = SR_BN_SLOTS, FC1_BIAS, FC2, FC2_BIAS, N_SLOTS };

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrGatedNormParams *p = params;
    SR_TRY(sr__expect_rank("gated_norm", x, n_in, 4, 4));
    if (sr__batch_activation(&p->norm) == SR_BN_LINEAR || p->norm.residual)
        SR_FAIL(SR_ERR_CONFIG, "gated_norm: expected one activation and no residual");
    if (p->squeeze < 1)
        SR_FAIL(SR_ERR_CONFIG, "gated_norm: squeeze %d: expected at least 1", p->squeeze);
    *y = x[0];
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    const SrGatedNormParams *p = params;
    int C = sr_shape_last(x[0]), S = p->squeeze;
    (void)n_in;
    sr__batch_slots(x[0], out);
    out[FC1] = sr__param_slot("fc1.weight", SR_SHAPE(S, C, 1, 1), SR_ROLE_WEIGHT,
                              SR_INIT_UNIFORM_FAN_IN, 1);
    out[FC1_BIAS] = sr__param_slot("fc1.bias", SR_SHAPE(S), SR_ROLE_BIAS, SR_INIT_CONSTANT, 0);
    out[FC2] = sr__param_slot("fc2.weight", SR_SHAPE(C, S, 1, 1), SR_ROLE_WEIGHT,
                              SR_INIT_UNIFORM_FAN_IN, 1);
    out[FC2_BIAS] = sr__param_slot("fc2.bias", SR_SHAPE(C), SR_ROLE_BIAS, SR_INIT_CONSTANT, 0);
    return N_SLOTS;
}

// dx may lie on dy: number i of dx depends on number i of dy and on sums taken before.
static int inplace(const void *params) {
    (void)params;
    return 0;
}

// Saved: mean and invstd (C), then p, t and s, each (N, C), and h (N, S).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    const SrGatedNormParams *p = params;
    size_t N = (size_t)x[0].d[0], C = (size_t)sr_shape_last(x[0]);
    (void)n_in;
    return sizeof(float) * (2 * C + N * (3 * C + (size_t)p->squeeze));
}

// Bytes of the norm's scratch, up to the next cache line.
static size_t norm_bytes(SrShape x) {
    return (sr__batch_scratch_bytes(x) + SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN;
}

// Scratch: the norm's; then five sums, double (N, C) each; then dt and dp, float (N, C), act(h) and
// its gradient, float (N, S).
static size_t scratch_bytes(const SrOpSite *site) {
    const SrGatedNormParams *p = site->params;
    size_t N = (size_t)site->x[0].d[0], C = (size_t)sr_shape_last(site->x[0]);
    return norm_bytes(site->x[0]) + N * (SR_GATED_SUMS * C * sizeof(double) +
                                         (2 * C + 2 * (size_t)p->squeeze) * sizeof(float));
}

typedef struct {
    SrBatchWork norm;
    const SrGatedNormParams *p;
    int N, C, S;
    int64_t pixels;        // of an image
    float *mean_u, *t, *s; // saved, (N, C) each; mean_u is p
    float *h;              // saved, (N, S)
    double *sums;          // (SR_GATED_SUMS, N, C)
    float *dt, *dp;        // (N, C) each; dp is divided by the pixels
    float *squeezed, *dh;  // (N, S) each
    SrBatchNormActivation f;
    const SrGatedNormKernels *kernels;
} Work;

static Work work_of(const SrOpCall *call) {
    const SrGatedNormParams *p = call->params;
    SrShape x = call->x[0].shape;
    Work w = {.norm = sr__batch_work(call), .p = p, .N = (int)x.d[0], .S = p->squeeze};
    w.C = w.norm.C;
    w.pixels = w.norm.rows / w.N;
    int64_t map = (int64_t)w.N * w.C, squeezed = (int64_t)w.N * w.S;
    w.mean_u = (float *)call->saved + 2 * w.C;
    w.t = w.mean_u + map;
    w.s = w.t + map;
    w.h = w.s + map;
    w.sums = (double *)((char *)call->scratch + norm_bytes(x));
    w.dt = (float *)(w.sums + SR_GATED_SUMS * map);
    w.dp = w.dt + map;
    w.squeezed = w.dp + map;
    w.dh = w.squeezed + squeezed;
    w.f = sr__batch_activation(&p->norm);
    w.kernels = sr__gated_norm(call->machine, w.norm.type);
    return w;
}

// Coefficients of the channels from c on.
static SrBatchNormCoefs coefs_from(const Work *w, int c) {
    SrBatchNormCoefs k = w->norm.k;
    return (SrBatchNormCoefs){k.mean + c, k.a + c, k.b + c, k.k1 + c, k.k0 + c};
}

// A piece of a sum: a strip of channels of one image.
typedef struct {
    int n, c, width;
    int64_t at; // offset of its first number in x
} Strip;

static Strip strip_of(const Work *w, int task) {
    int strips = sr__batch_strips(&w->norm), n = task / strips, c = task % strips * w->norm.strip;
    return (Strip){n, c, SR_MIN(w->norm.strip, w->C - c), (int64_t)n * w->pixels * w->C + c};
}

static int strip_tasks(const Work *w) { return w->N * sr__batch_strips(&w->norm); }

static void pool(const SrOpCall *call, const Work *w) {
    int tasks = strip_tasks(w);
#pragma omp parallel for schedule(static) if (sr__batch_parallel(&w->norm))
    for (int task = 0; task < tasks; task++) {
        Strip s = strip_of(w, task);
        double sum[SR_BN_STRIP] = {0};
        w->kernels->pool(sr__at(w->norm.type, call->x[0].data, s.at), w->pixels, w->C, s.width,
                         coefs_from(w, s.c), w->f, sum);
        for (int i = 0; i < s.width; i++)
            w->mean_u[(int64_t)s.n * w->C + s.c + i] = (float)(sum[i] / (double)w->pixels);
    }
}

static void add_bias(const SrOpCall *call, float *rows, const float *bias, int n, int width) {
    for (int i = 0; i < n; i++)
        sr__rows(call->machine)
            ->add(SR_F32, rows + (int64_t)i * width, rows + (int64_t)i * width, bias, width);
}

// Writes act(h) to `squeezed`.
static void squeeze(const SrOpCall *call, const Work *w) {
    int64_t n = (int64_t)w->N * w->S;
    if (w->p->activation == SR_SQUEEZE_RELU)
        sr__rows(call->machine)->relu(SR_F32, w->squeezed, w->h, n);
    else
        sr__pointwise(call->machine)->silu.f(SR_F32, w->squeezed, w->h, n);
}

static const SrPointwise *gate_of(const SrOpCall *call, const Work *w) {
    const SrPointwiseTable *table = sr__pointwise(call->machine);
    return w->p->gate == SR_GATE_SIGMOID ? &table->sigmoid : &table->hardsigmoid;
}

// Computes h, t and s from the means.
static void gates(const SrOpCall *call, const Work *w) {
    const float *fc1 = call->w[FC1].data, *fc2 = call->w[FC2].data; // (S, C), (C, S)
    sr_gemm(false, true, w->N, w->S, w->C, 1, w->mean_u, w->C, fc1, w->C, 0, w->h, w->S);
    add_bias(call, w->h, call->w[FC1_BIAS].data, w->N, w->S);
    squeeze(call, w);
    sr_gemm(false, true, w->N, w->C, w->S, 1, w->squeezed, w->S, fc2, w->S, 0, w->t, w->C);
    add_bias(call, w->t, call->w[FC2_BIAS].data, w->N, w->C);
    gate_of(call, w)->f(SR_F32, w->s, w->t, (int64_t)w->N * w->C);
}

// A piece of an image's pixels, for loops without sums.
typedef struct {
    int n;
    int64_t at, rows; // offset of its first number, pixels
} Run;

static int64_t run_rows(const Work *w) { return SR_MAX(1, SR_CHUNK / w->C); }
static int64_t runs_per_image(const Work *w) { return (w->pixels + run_rows(w) - 1) / run_rows(w); }
static Run run_of(const Work *w, int64_t i) {
    int64_t runs = runs_per_image(w), n = i / runs, first = i % runs * run_rows(w);
    return (Run){(int)n, (n * w->pixels + first) * w->C, SR_MIN(run_rows(w), w->pixels - first)};
}

// A recomputation (again) starts at the last pass: gates and statistics are still in `saved`.
static void forward(const SrOpCall *call) {
    Work w = work_of(call);
    sr__batch_normaliser(call, &w.norm);
    if (!call->again) {
        pool(call, &w);
        gates(call, &w);
    }
    SrDtype type = w.norm.type;
    bool stream = w.norm.rows * w.C >= SR_BN_STREAMED;
    int64_t runs = w.N * runs_per_image(&w);
#pragma omp parallel for schedule(static) if (sr__batch_parallel(&w.norm))
    for (int64_t i = 0; i < runs; i++) {
        Run r = run_of(&w, i);
        w.kernels->apply(sr__at(type, call->y.data, r.at), sr__at(type, call->x[0].data, r.at),
                         r.rows, w.C, w.norm.k, w.f, w.s + (int64_t)r.n * w.C, stream);
    }
}

static void take_sums(const SrOpCall *call, const Work *w) {
    int tasks = strip_tasks(w);
    int64_t map = (int64_t)w->N * w->C;
#pragma omp parallel for schedule(static) if (sr__batch_parallel(&w->norm))
    for (int task = 0; task < tasks; task++) {
        Strip s = strip_of(w, task);
        double *sum[SR_GATED_SUMS];
        for (int j = 0; j < SR_GATED_SUMS; j++) {
            sum[j] = w->sums + j * map + (int64_t)s.n * w->C + s.c;
            memset(sum[j], 0, sizeof(double) * (size_t)s.width);
        }
        w->kernels->sums(sr__at(w->norm.type, call->x[0].data, s.at),
                         sr__at(w->norm.type, call->dy, s.at), w->pixels, w->C, s.width,
                         coefs_from(w, s.c), w->f, sum);
    }
}

// Computes the gradient of h in dh, from that of act(h) in the same place.
static void squeeze_gradient(const SrOpCall *call, const Work *w) {
    int64_t n = (int64_t)w->N * w->S;
    if (w->p->activation == SR_SQUEEZE_RELU)
        sr__rows(call->machine)->relu_grad(SR_F32, w->dh, w->h, w->dh, n);
    else
        sr__pointwise(call->machine)->silu.grad(SR_F32, w->dh, w->h, w->dh, n);
}

// Adds the gradients of a product's weight (K, C) and bias, from dy (N, K) and x (N, C).
static void product_gradients(const SrOpCall *call, int slot, int N, int K, int C, const float *dy,
                              const float *x) {
    if (call->dw[slot])
        sr_gemm(true, false, K, C, N, 1, dy, K, x, C, 1, call->dw[slot], C);
    if (call->dw[slot + 1])
        sr__add_column_sums(call->machine, dy, N, K, call->dw[slot + 1]);
}

// Computes dp, the gradient that each pixel of u gets through the mean, and adds the gradients of
// both products.
static void gate_gradients(const SrOpCall *call, const Work *w) {
    int64_t map = (int64_t)w->N * w->C;
    const double *ds = w->sums + SR_GATED_DY_F * map;
    for (int64_t i = 0; i < map; i++)
        w->dt[i] = (float)ds[i];
    gate_of(call, w)->grad(SR_F32, w->dt, w->t, w->dt, map);
    squeeze(call, w);
    product_gradients(call, FC2, w->N, w->C, w->S, w->dt, w->squeezed);
    sr_gemm(false, false, w->N, w->S, w->C, 1, w->dt, w->C, call->w[FC2].data, w->S, 0, w->dh,
            w->S);
    squeeze_gradient(call, w);
    product_gradients(call, FC1, w->N, w->S, w->C, w->dh, w->mean_u);
    sr_gemm(false, false, w->N, w->C, w->S, 1 / (float)w->pixels, w->dh, w->S, call->w[FC1].data,
            w->C, 0, w->dp, w->C);
}

// Fills the norm's totals with sum g and sum g d, images in order.
static void join_sums(const Work *w) {
    int64_t map = (int64_t)w->N * w->C;
    double *g = w->norm.totals, *gd = g + w->C;
    memset(g, 0, 2 * sizeof(double) * (size_t)w->C);
    for (int n = 0; n < w->N; n++)
        for (int c = 0; c < w->C; c++) {
            int64_t i = (int64_t)n * w->C + c;
            const double *sum = w->sums + i;
            double s = (double)w->s[i], dp = (double)w->dp[i];
            g[c] += s * sum[SR_GATED_DY_SLOPE * map] + dp * sum[SR_GATED_SLOPE * map];
            gd[c] += s * sum[SR_GATED_DY_SLOPE_D * map] + dp * sum[SR_GATED_SLOPE_D * map];
        }
}

// First half of the backward: all sums, and all gradients but that of x.
static void backward_partial(const SrOpCall *call) {
    Work w = work_of(call);
    sr__batch_scale(&w.norm, call->w[SR_BN_WEIGHT].data);
    take_sums(call, &w);
    gate_gradients(call, &w);
    join_sums(&w);
    sr__batch_parameter_gradients(call, &w.norm);
}

static void backward(const SrOpCall *call) {
    Work w = work_of(call);
    if (!call->exchanged)
        backward_partial(call);
    sr__batch_scale(&w.norm, call->w[SR_BN_WEIGHT].data);
    if (!call->dx[0])
        return;
    sr__batch_sum_coefficients(call, &w.norm);
    SrDtype type = w.norm.type;
    bool stream = w.norm.rows * w.C >= SR_BN_STREAMED && call->dx[0] != call->dy;
    int64_t runs = w.N * runs_per_image(&w);
#pragma omp parallel for schedule(static) if (sr__batch_parallel(&w.norm))
    for (int64_t i = 0; i < runs; i++) {
        Run r = run_of(&w, i);
        w.kernels->input_grad(sr__at(type, call->dx[0], r.at), sr__at(type, call->x[0].data, r.at),
                              sr__at(type, call->dy, r.at), r.rows, w.C, w.norm.k, w.f,
                              w.s + (int64_t)r.n * w.C, w.dp + (int64_t)r.n * w.C, stream);
    }
}

// Computes y (n, K) = x W^T + b.
static void reference_product(const SrRefCall *call, int slot, int n, int K, int C, const double *x,
                              double *y) {
    for (int i = 0; i < n * K; i++) {
        y[i] = call->w[slot + 1][i % K];
        for (int c = 0; c < C; c++)
            y[i] += x[i / K * C + c] * call->w[slot][i % K * C + c];
    }
}

// Applies the reference of op `name` to x (n, width) in place.
static void reference_in_place(const char *name, double *x, int n, int width) {
    SrShape shape = SR_SHAPE(n, width);
    sr__reference_activation(&(SrRefCall){.y = x, .y_shape = shape}, name);
}

// Runs the ops that this one stands for, one after the other.
static void reference(const SrRefCall *call) {
    const SrGatedNormParams *p = call->params;
    SrShape x = call->x_shape[0];
    int N = (int)x.d[0], C = sr_shape_last(x), S = p->squeeze;
    int64_t count = sr_shape_count(x), pixels = count / N / C;
    const SrOp *norm;
    double *mean = sr_calloc((size_t)N * (size_t)C, sizeof *mean),
           *h = sr_calloc((size_t)N * (size_t)S, sizeof *h),
           *s = sr_calloc((size_t)N * (size_t)C, sizeof *s);
    if (!mean || !h || !s || sr_op_find("batch_norm", &norm) != SR_OK)
        goto done;
    norm->reference(call);
    for (int64_t i = 0; i < count; i++)
        mean[i / (pixels * C) * C + i % C] += call->y[i] / (double)pixels;
    reference_product(call, FC1, N, S, C, mean, h);
    reference_in_place(p->activation == SR_SQUEEZE_RELU ? "relu" : "silu", h, N, S);
    reference_product(call, FC2, N, C, S, h, s);
    reference_in_place(p->gate == SR_GATE_SIGMOID ? "sigmoid" : "hardsigmoid", s, N, C);
    for (int64_t i = 0; i < count; i++)
        call->y[i] *= s[i / (pixels * C) * C + i % C];
done:
    sr_free(mean);
    sr_free(h);
    sr_free(s);
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    const SrGatedNormParams *p = params;
    (void)n_in, (void)y;
    return 4 * (int64_t)p->squeeze * x[0].d[0] * sr_shape_last(x[0]);
}

static const SrOpCase cases[] = {
    {"{relu: true, squeeze: 3}", 1, {SR_SHAPE(3, 4, 5, 6)}, false},
    {"{silu: true, squeeze: 5, activation: silu}", 1, {SR_SHAPE(2, 9, 8, 37)}, false},
    {"{hardswish: true, squeeze: 8, gate: hardsigmoid}", 1, {SR_SHAPE(4, 3, 3, 70)}, false},
    {"{relu6: true, squeeze: 1, sync: 2}", 1, {SR_SHAPE(2, 13, 17, 4)}, false},
    {"{gelu: true, squeeze: 4}", 1, {SR_SHAPE(5, 2, 2, 18)}, false},
};

const SrOp sr_op_gated_norm = {
    .name = "gated_norm",
    .help = "Batch normalisation, activation and squeeze-and-excitation in one pass.",
    .options = options,
    .params_bytes = sizeof(SrGatedNormParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_IMPURE | SR_OP_CHEAP | SR_OP_BF16 | SR_OP_TAKES_SUMS,
    .infer = infer,
    .slots = slots,
    .reads = sr__reads_x,
    .saved_bytes = saved_bytes,
    .scratch_bytes = scratch_bytes,
    .exchange = sr__batch_exchange,
    .partial = {sr__batch_forward_partial, backward_partial},
    .inplace = inplace,
    .flops = flops,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
