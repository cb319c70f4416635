// bce_logits: binary cross entropy of logits, separately for each class, as in VISSL's multi-label
// loss (bce_logits_multiple_output_single_target).
//
//   L = sum over classes of (sum over valid rows of max(x, 0) - x y + log(1 + e^-|x|)) / valid rows
//
// x (rows, C).  targets are (N, C) of 1, 0 and -1 (unknown: the entry is left out), or (N) class
// labels that stand for one-hot rows (a row whose label is no class is left out).  Row r has target
// r mod N.  A class without a valid row adds nothing.
#include <math.h>
#include <string.h>

#include "kernels/core/op_util.h"

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("bce_logits", x, n_in, 2, 3));
    int C = sr_shape_last(x[0]);
    int64_t rows = sr_shape_count(x[0]) / SR_MAX(C, 1);
    bool fits = x[1].rank == 1 || (x[1].rank == 2 && x[1].d[1] == C);
    if (!fits || x[1].d[0] < 1 || rows % x[1].d[0])
        return sr__shape_fail("bce_logits", x, n_in,
                              "logits, and a label or %d targets for each "
                              "image",
                              C);
    *y = SR_SCALAR;
    return SR_OK;
}

static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1);
}

// Saved: number of valid rows of each class, float (C).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return (size_t)sr_shape_last(x[0]) * sizeof(float);
}

// Scratch: loss of each class, double (C).
static size_t scratch_bytes(const SrOpSite *site) {
    return (size_t)sr_shape_last(site->x[0]) * sizeof(double);
}

// Returns 1, 0, or -1 for an entry that is left out.
static int target_at(const SrTensor *t, int64_t row, int c, int C) {
    int64_t n = row % t->shape.d[0];
    if (t->shape.rank == 2)
        return (int)SR_MAX(SR_MIN(sr__label_at(t, n * C + c), 1), -1);
    int64_t label = sr__label_at(t, n);
    return label < 0 || label >= C ? -1 : label == c;
}

// Each class belongs to one thread, which takes rows in order.
static void forward(const SrOpCall *call) {
    int C = sr_shape_last(call->x[0].shape);
    int64_t rows = sr_shape_count(call->x[0].shape) / C;
    const float *x = call->x[0].data; // (rows, C)
    float *valid = call->saved;       // (C)
    double *losses = call->scratch, total = 0;
#pragma omp parallel for schedule(static) if (rows * C > SR_CHUNK)
    for (int c = 0; c < C; c++) {
        int64_t n = 0;
        double sum = 0;
        for (int64_t row = 0; row < rows; row++) {
            int y = target_at(&call->x[1], row, c, C);
            double v = (double)x[row * C + c];
            n += y >= 0;
            sum += y < 0 ? 0 : fmax(v, 0) - v * y + log1p(exp(-fabs(v)));
        }
        valid[c] = (float)n;
        losses[c] = n > 0 ? sum / (double)n : 0;
    }
    for (int c = 0; c < C; c++)
        total += losses[c];
    *(float *)call->y.data = (float)total;
}

// dx = (sigmoid(x) - y) / valid rows, times the gradient of L.
static void backward(const SrOpCall *call) {
    int C = sr_shape_last(call->x[0].shape);
    int64_t rows = sr_shape_count(call->x[0].shape) / C;
    const float *x = call->x[0].data, *valid = call->saved; // (rows, C), (C)
    double dy = (double)call->dy[0];
    float *dx = call->dx[0]; // (rows, C)
#pragma omp parallel for schedule(static) if (rows * C > SR_CHUNK)
    for (int64_t row = 0; row < (dx ? rows : 0); row++)
        for (int c = 0; c < C; c++) {
            int y = target_at(&call->x[1], row, c, C);
            double sigmoid = 1 / (1 + exp(-(double)x[row * C + c]));
            dx[row * C + c] = y < 0 ? 0 : (float)(dy * (sigmoid - y) / (double)valid[c]);
        }
    if (call->dx[1])
        memset(call->dx[1], 0, (size_t)sr_shape_count(call->x[1].shape) * sizeof(float));
}

static void reference(const SrRefCall *call) {
    int C = sr_shape_last(call->x_shape[0]), N = call->x_shape[1].d[0];
    int64_t rows = sr_shape_count(call->x_shape[0]) / C;
    call->y[0] = 0;
    for (int c = 0; c < C; c++) {
        double sum = 0, n = 0;
        for (int64_t row = 0; row < rows; row++) {
            double at = call->x[0][row * C + c], y;
            if (call->x_shape[1].rank == 2) {
                y = fmin(floor(call->x[1][row % N * C + c]), 1);
            } else {
                double label = floor(call->x[1][row % N]);
                y = label < 0 || label >= C ? -1 : label == c;
            }
            if (y < 0)
                continue;
            sum -= y * -log1p(exp(-at)) + (1 - y) * -log1p(exp(at));
            n += 1;
        }
        call->y[0] += n > 0 ? sum / n : 0;
    }
}

static const SrOpCase cases[] = {
    {"{}", 2, {SR_SHAPE(9, 4), SR_SHAPE(9, 4)}, false},
    {"{}", 2, {SR_SHAPE(12, 5), SR_SHAPE(12)}, false},
    {"{}", 2, {SR_SHAPE(2, 6, 3), SR_SHAPE(6, 3)}, false},
};

const SrOp sr_op_bce_logits = {
    .name = "bce_logits",
    .help = "Binary cross entropy of logits, averaged over the valid rows of each class.",
    .min_in = 2,
    .max_in = 2,
    .infer = infer,
    .reads = reads,
    .saved_bytes = saved_bytes,
    .scratch_bytes = scratch_bytes,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
