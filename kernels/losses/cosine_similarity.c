// cosine_similarity: the mean over rows of torch.nn.functional.cosine_similarity(a, b), with a and
// b (rows, D), as a scalar.  BYOL and SimSiam maximise it.
#include <math.h>

#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

#define EPS 1e-8 // PyTorch's eps: each length is at least this

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    if (x[0].rank != 2 || !sr_shape_equal(x[0], x[1]))
        return sr__shape_fail("cosine_similarity", x, n_in, "two inputs (rows, D)");
    *y = (SrShape){0};
    return SR_OK;
}

static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1);
}

// Saved: cos, 1/|a| and 1/|b| of each row, double (3, rows).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return 3 * sizeof(double) * (size_t)x[0].d[0];
}

static void forward(const SrOpCall *call) {
    const SrRows *k = sr__rows(call->machine);
    int rows = call->x[0].shape.d[0], D = call->x[0].shape.d[1];
    double *cosine = call->saved, *inv_a = cosine + rows, *inv_b = inv_a + rows, sum = 0;
#pragma omp parallel for schedule(static)
    for (int r = 0; r < rows; r++) {
        const float *a = (const float *)call->x[0].data + (int64_t)r * D;
        const float *b = (const float *)call->x[1].data + (int64_t)r * D;
        inv_a[r] = 1 / fmax(sqrt(k->dot(a, a, D)), EPS);
        inv_b[r] = 1 / fmax(sqrt(k->dot(b, b, D)), EPS);
        cosine[r] = k->dot(a, b, D) * inv_a[r] * inv_b[r];
    }
    for (int r = 0; r < rows; r++)
        sum += cosine[r];
    *(float *)call->y.data = (float)(sum / rows);
}

// Uses d cos / d a = (b / |b| - cos a / |a|) / |a|.
static void side(float *da, const float *a, const float *b, double inv_a, double inv_b,
                 double cosine, double scale, int D) {
    float with_b = (float)(scale * inv_a * inv_b), with_a = (float)(scale * cosine * inv_a * inv_a);
    for (int d = 0; d < D; d++)
        da[d] = with_b * b[d] - with_a * a[d];
}

static void backward(const SrOpCall *call) {
    int rows = call->x[0].shape.d[0], D = call->x[0].shape.d[1];
    const double *cosine = call->saved, *inv_a = cosine + rows, *inv_b = inv_a + rows;
    double scale = (double)*call->dy / rows;
#pragma omp parallel for schedule(static)
    for (int r = 0; r < rows; r++) {
        int64_t at = (int64_t)r * D;
        const float *a = (const float *)call->x[0].data + at,
                    *b = (const float *)call->x[1].data + at;
        if (call->dx[0])
            side(call->dx[0] + at, a, b, inv_a[r], inv_b[r], cosine[r], scale, D);
        if (call->dx[1])
            side(call->dx[1] + at, b, a, inv_b[r], inv_a[r], cosine[r], scale, D);
    }
}

static void reference(const SrRefCall *call) {
    int rows = call->x_shape[0].d[0], D = call->x_shape[0].d[1];
    call->y[0] = 0;
    for (int r = 0; r < rows; r++) {
        const double *a = call->x[0] + (int64_t)r * D, *b = call->x[1] + (int64_t)r * D;
        double aa = 0, bb = 0, ab = 0;
        for (int d = 0; d < D; d++) {
            aa += a[d] * a[d];
            bb += b[d] * b[d];
            ab += a[d] * b[d];
        }
        call->y[0] += ab / (fmax(sqrt(aa), EPS) * fmax(sqrt(bb), EPS)) / rows;
    }
}

static const SrOpCase cases[] = {
    {"{}", 2, {SR_SHAPE(7, 5), SR_SHAPE(7, 5)}, false},
    {"{}", 2, {SR_SHAPE(3, 70), SR_SHAPE(3, 70)}, false},
};

const SrOp sr_op_cosine_similarity = {
    .name = "cosine_similarity",
    .help = "Mean cosine of the rows of two matrices.",
    .min_in = 2,
    .max_in = 2,
    .infer = infer,
    .reads = reads,
    .saved_bytes = saved_bytes,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
