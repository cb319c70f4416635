// local_response_norm: torch.nn.LocalResponseNorm on (..., C) (Krizhevsky et al., "ImageNet
// classification with deep convolutional neural networks", 2012, section 3.3): y = x / (k + alpha
// mean(x^2))^beta.  The mean is over the `size` channels around each channel; those outside count
// as 0.
#include "kernels/norm/local_response_norm.h"

#include <math.h>
#include <stddef.h>

#include "base/parallel.h"
#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

static const SrOption options[] = {
    {"size", SR_OPT_INT, offsetof(SrLocalResponseNormParams, size), "5", 1, 4096,
     .help = "Number of neighbouring channels, including the channel itself."},
    {"alpha", SR_OPT_FLOAT, offsetof(SrLocalResponseNormParams, alpha), "1e-4", 0, 1e6,
     .help = "Factor of the mean of squares."},
    {"beta", SR_OPT_FLOAT, offsetof(SrLocalResponseNormParams, beta), "0.75", 0, 16,
     .help = "Exponent."},
    {"k", SR_OPT_FLOAT, offsetof(SrLocalResponseNormParams, k), "1", 1e-6, 1e6,
     .help = "Number added to the mean."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    SR_TRY(sr__expect_rank("local_response_norm", x, n_in, 2, SR_MAX_RANK));
    return sr__infer_same(params, x, n_in, y);
}

// A thread's rows of one pixel each: x, dy or y, sums, and gradients of sums, float (4, C).
static size_t scratch_bytes(const SrOpSite *site) {
    return 4 * sizeof(float) * (size_t)sr_shape_last(site->x[0]) * (size_t)sr_parallel_threads();
}

// Channels before and after a channel; PyTorch puts the greater part of an even window before it.
static int before(const SrLocalResponseNormParams *p) { return p->size / 2; }
static int behind(const SrLocalResponseNormParams *p) { return (p->size - 1) / 2; }

static void reference(const SrRefCall *call) {
    const SrLocalResponseNormParams *p = call->params;
    int C = sr_shape_last(call->y_shape);
    for (int64_t r = 0; r < sr_shape_rows(call->y_shape); r++) {
        const double *x = call->x[0] + r * C;
        for (int c = 0; c < C; c++) {
            double sum = 0;
            for (int i = SR_MAX(c - before(p), 0); i <= SR_MIN(c + behind(p), C - 1); i++)
                sum += x[i] * x[i];
            call->y[r * C + c] = x[c] / pow(p->k + p->alpha / p->size * sum, p->beta);
        }
    }
}

// Computes sum[c] = start + the sum over the window around c of factor a b.
static void window_sums(const float *a, const float *b, int C, int before, int behind, float start,
                        float factor, float *sum) {
    for (int c = 0; c < C; c++)
        sum[c] = start;
    for (int at = -before; at <= behind; at++)
        for (int c = SR_MAX(-at, 0); c < SR_MIN(C - at, C); c++)
            sum[c] += factor * a[c + at] * b[c + at];
}

// Computes s^-beta; for the usual exponent 0.75 by two square roots.
static void powers(const float *s, int C, double beta, float *out) {
    if (beta == 0.75) {
        for (int c = 0; c < C; c++)
            out[c] = 1 / (sqrtf(s[c]) * sqrtf(sqrtf(s[c])));
        return;
    }
    for (int c = 0; c < C; c++)
        out[c] = powf(s[c], (float)-beta);
}

typedef struct {
    const SrOpCall *call;
    const SrLocalResponseNormParams *p;
    int C;
    int64_t rows, unit; // all rows; rows of a unit
} Job;

static Job job_of(const SrOpCall *call) {
    SrShape s = call->y.shape;
    int C = sr_shape_last(s);
    return (Job){call, call->params, C, sr_shape_rows(s), SR_MAX(SR_CHUNK / C, 1)};
}

static void sums_of(const Job *job, const float *x, float *sum) {
    const SrLocalResponseNormParams *p = job->p;
    window_sums(x, x, job->C, before(p), behind(p), (float)p->k, (float)(p->alpha / p->size), sum);
}

static void forward_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    const SrOpCall *call = job->call;
    SrDtype type = call->y.dtype;
    int C = job->C;
    float *x = (float *)call->scratch + (int64_t)thread * 4 * C, *y = x + C, *s = y + C;
    for (int64_t r = i * job->unit; r < SR_MIN((i + 1) * job->unit, job->rows); r++) {
        sr__rows(call->machine)
            ->cast(SR_F32, x, type, sr__at(type, call->x[0].data, r * C), C, false);
        sums_of(job, x, s);
        powers(s, C, job->p->beta, y);
        for (int c = 0; c < C; c++)
            y[c] *= x[c];
        sr__rows(call->machine)->cast(type, sr__at(type, call->y.data, r * C), SR_F32, y, C, false);
    }
}

static void forward(const SrOpCall *call) {
    Job job = job_of(call);
    sr_parallel_for((job.rows + job.unit - 1) / job.unit, forward_unit, &job);
}

// Computes dx = dy s^-beta - 2 alpha beta / size x (sum of dy x s^(-beta - 1) over the channels
// whose windows hold x).
static void backward_row(const Job *job, const float *x, float *dy, float *s, float *g) {
    const SrLocalResponseNormParams *p = job->p;
    int C = job->C;
    sums_of(job, x, s);
    powers(s, C, p->beta, g);
    for (int c = 0; c < C; c++) {
        float power = g[c];
        g[c] = dy[c] * x[c] * power / s[c];
        dy[c] *= power;
    }
    float factor = (float)(2 * p->alpha * p->beta / p->size);
    for (int at = -behind(p); at <= before(p); at++)
        for (int c = SR_MAX(-at, 0); c < SR_MIN(C - at, C); c++)
            dy[c] -= factor * x[c] * g[c + at];
}

static void backward_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    const SrOpCall *call = job->call;
    SrDtype type = call->y.dtype;
    int C = job->C;
    float *x = (float *)call->scratch + (int64_t)thread * 4 * C, *dy = x + C;
    for (int64_t r = i * job->unit; r < SR_MIN((i + 1) * job->unit, job->rows); r++) {
        sr__rows(call->machine)
            ->cast(SR_F32, x, type, sr__at(type, call->x[0].data, r * C), C, false);
        sr__rows(call->machine)->cast(SR_F32, dy, type, sr__at(type, call->dy, r * C), C, false);
        backward_row(job, x, dy, dy + C, dy + 2 * C);
        sr__rows(call->machine)->cast(type, sr__at(type, call->dx[0], r * C), SR_F32, dy, C, false);
    }
}

static void backward(const SrOpCall *call) {
    Job job = job_of(call);
    if (call->dx[0])
        sr_parallel_for((job.rows + job.unit - 1) / job.unit, backward_unit, &job);
}

// ONNX puts the greater part of an even window after the channel, and takes maps only.
static SrStatus onnx(SrOnnxCall *call) {
    const SrLocalResponseNormParams *p = call->params;
    if (p->size % 2 == 0 || call->y.rank != 4)
        return sr__onnx_unsupported(call, p->size % 2 ? "on an input that is not a map"
                                                      : "with an even size");
    sr__onnx_begin(call, "LRN", call->in, 1);
    sr_onnx_float(call->file, "alpha", (float)p->alpha);
    sr_onnx_float(call->file, "beta", (float)p->beta);
    sr_onnx_float(call->file, "bias", (float)p->k);
    sr_onnx_int(call->file, "size", p->size);
    sr_onnx_end(call->file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{alpha: 0.5}", 1, {SR_SHAPE(2, 3, 3, 37)}, false},
    {"{size: 4, alpha: 1.5, beta: 0.5, k: 2}", 1, {SR_SHAPE(9, 6)}, false},
    {"{size: 9, alpha: 1, beta: 1.25}", 1, {SR_SHAPE(2, 5, 4, 3)}, false},
};

const SrOp sr_op_local_response_norm = {
    .name = "local_response_norm",
    .help = "Divides each value by a power of the mean square of neighbouring channels.",
    .options = options,
    .params_bytes = sizeof(SrLocalResponseNormParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP | SR_OP_BF16,
    .infer = infer,
    .reads = sr__reads_x,
    .scratch_bytes = scratch_bytes,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
