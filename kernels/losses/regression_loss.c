// regression_loss: the mean of f(x - t) over all numbers.  f(d) = d^2 is
// torch.nn.functional.mse_loss.  With beta it is smooth_l1_loss: d^2 / (2 beta) where |d| < beta,
// else |d| - beta / 2.
//
// in[0] x (..., D), in[1] t of the same shape, in[2] (optional) w, a weight per row.  With w the
// result is the sum over rows of w times the row's mean.
#include "kernels/losses/regression_loss.h"

#include <math.h>
#include <stddef.h>

#include "kernels/core/op_util.h"

static const SrOption options[] = {
    {"beta", SR_OPT_FLOAT, offsetof(SrRegressionLossParams, beta), "0", 0, 1e10,
     .help = "Smooth L1 loss: differences below this are squared; 0: all are squared."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("regression_loss", x, 1, 1, SR_MAX_RANK));
    bool fits =
        sr_shape_equal(x[0], x[1]) && (n_in < 3 || sr_shape_count(x[2]) == sr_shape_rows(x[0]));
    if (!fits)
        return sr__shape_fail("regression_loss", x, n_in,
                              "two tensors of one shape, and a weight for each row");
    *y = SR_SCALAR;
    return SR_OK;
}

static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1) | SR_READS_X(2);
}

// Scratch: the mean of each row, double (rows).
static size_t scratch_bytes(const SrOpSite *site) {
    return (size_t)sr_shape_rows(site->x[0]) * sizeof(double);
}

static double value(double beta, double d) {
    double a = fabs(d);
    if (beta <= 0)
        return d * d;
    return a < beta ? 0.5 * d * d / beta : a - 0.5 * beta;
}

static double slope(double beta, double d) {
    if (beta <= 0)
        return 2 * d;
    return fabs(d) < beta ? d / beta : d > 0 ? 1 : -1;
}

typedef struct {
    double beta;
    int64_t rows;
    int D;
    const float *x, *t, *w; // (rows, D), (rows, D), (rows) or NULL
} Work;

static Work work_of(const SrOpCall *call) {
    const SrRegressionLossParams *p = call->params;
    return (Work){p->beta,
                  sr_shape_rows(call->x[0].shape),
                  sr_shape_last(call->x[0].shape),
                  call->x[0].data,
                  call->x[1].data,
                  call->n_in > 2 ? call->x[2].data : NULL};
}

static double weight(const Work *k, int64_t r) {
    return k->w ? (double)k->w[r] : 1 / (double)k->rows;
}

static double row_mean(const Work *k, int64_t r) {
    double sum = 0;
    for (int i = 0; i < k->D; i++)
        sum += value(k->beta, (double)k->x[r * k->D + i] - (double)k->t[r * k->D + i]);
    return sum / k->D;
}

// Takes rows in parallel, then adds their means in order: the same bits for any number of threads.
static void forward(const SrOpCall *call) {
    Work k = work_of(call);
    double *mean = call->scratch, sum = 0;
#pragma omp parallel for schedule(static) if (k.rows * k.D > SR_CHUNK)
    for (int64_t r = 0; r < k.rows; r++)
        mean[r] = row_mean(&k, r);
    for (int64_t r = 0; r < k.rows; r++)
        sum += weight(&k, r) * mean[r];
    *(float *)call->y.data = (float)sum;
}

static void row_gradient(const Work *k, int64_t r, double dy, const SrOpCall *call) {
    double factor = dy * weight(k, r) / k->D;
    for (int64_t i = r * k->D; i < (r + 1) * k->D; i++) {
        float g = (float)(factor * slope(k->beta, (double)k->x[i] - (double)k->t[i]));
        if (call->dx[0])
            call->dx[0][i] = g;
        if (call->dx[1])
            call->dx[1][i] = -g;
    }
    if (k->w && call->dx[2])
        call->dx[2][r] = (float)(dy * row_mean(k, r));
}

static void backward(const SrOpCall *call) {
    Work k = work_of(call);
    double dy = (double)call->dy[0];
#pragma omp parallel for schedule(static) if (k.rows * k.D > SR_CHUNK)
    for (int64_t r = 0; r < k.rows; r++)
        row_gradient(&k, r, dy, call);
}

static void reference(const SrRefCall *call) {
    const SrRegressionLossParams *p = call->params;
    int D = sr_shape_last(call->x_shape[0]);
    int64_t rows = sr_shape_rows(call->x_shape[0]);
    double loss = 0;
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < D; i++)
            sum += value(p->beta, call->x[0][r * D + i] - call->x[1][r * D + i]);
        loss += sum / D * (call->n_in > 2 ? call->x[2][r] : 1 / (double)rows);
    }
    call->y[0] = loss;
}

static const SrOpCase cases[] = {
    {"{}", 2, {SR_SHAPE(5, 7), SR_SHAPE(5, 7)}, false},
    {"{beta: 0.7}", 2, {SR_SHAPE(3, 4, 9), SR_SHAPE(3, 4, 9)}, false},
    {"{}", 3, {SR_SHAPE(3, 4, 5), SR_SHAPE(3, 4, 5), SR_SHAPE(3, 4)}, false},
};

const SrOp sr_op_regression_loss = {
    .name = "regression_loss",
    .help = "Mean of squared or smoothed absolute differences, with a weight per row.",
    .options = options,
    .params_bytes = sizeof(SrRegressionLossParams),
    .min_in = 2,
    .max_in = 3,
    .infer = infer,
    .reads = reads,
    .scratch_bytes = scratch_bytes,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
