// sinkhorn_rows: turns a teacher's scores into targets that use all prototypes equally, by
// Sinkhorn-Knopp.
//
// Q = exp(x / temperature) is the start of DINOv2's code (Oquab et al., arXiv:2304.07193, section
// 4; Ruan et al., arXiv:2210.16870).  With `probabilities` Q = softmax(x / temperature), the
// start of MSN's code (github.com/facebookresearch/msn, src/losses.py).  Each of num_iters
// iterations scales columns to sum 1 / K, then rows to sum 1 / n.  Three iterations depend on the
// start.  The result's rows sum to 1.
//
// in[0] x (..., K), in[1] the temperature (1), in[2] (optional) a mask with a number per row:
// rows at 0 take no part and become zeros.  The op `sinkhorn` is VISSL's: it has a fixed epsilon,
// queues and another order of the divisions. Computes in double.  Gradients stop here.
#include "kernels/assign/sinkhorn_rows.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

#include "base/mem.h"
#include "kernels/core/op_util.h"

static const SrOption options[] = {
    {"num_iters", SR_OPT_INT, offsetof(SrSinkhornRowsParams, num_iters), "3", 1, 1000,
     .help = "Iterations."},
    {"probabilities", SR_OPT_BOOL, offsetof(SrSinkhornRowsParams, probabilities), "False",
     .help = "Iterations start from the softmax of each row instead of exponentials."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("sinkhorn_rows", x, 1, 2, SR_MAX_RANK));
    if (sr_shape_count(x[1]) != 1 || (n_in > 2 && sr_shape_count(x[2]) != sr_shape_rows(x[0])))
        return sr__shape_fail("sinkhorn_rows", x, n_in,
                              "scores (..., K), a temperature, and a number for each row");
    *y = x[0];
    return SR_OK;
}

// Scratch: Q (rows, K), and a factor per column (K).
static size_t scratch_bytes(const SrOpSite *site) {
    return sizeof(double) *
           ((size_t)sr_shape_count(site->x[0]) + (size_t)sr_shape_last(site->x[0]));
}

typedef struct {
    int64_t rows;
    int K;
    double *q, *column; // (rows, K), (K)
} Plan;

// Scales columns to equal sums; an empty column stays empty.
static void columns(const Plan *p) {
#pragma omp parallel for schedule(static) if (p->rows * p->K > SR_CHUNK)
    for (int k = 0; k < p->K; k++) {
        double sum = 0;
        for (int64_t r = 0; r < p->rows; r++)
            sum += p->q[r * p->K + k];
        p->column[k] = sum > 0 ? 1 / sum : 0;
    }
}

static void rows(const Plan *p) {
#pragma omp parallel for schedule(static) if (p->rows * p->K > SR_CHUNK)
    for (int64_t r = 0; r < p->rows; r++) {
        double *q = p->q + r * p->K, sum = 0;
        for (int k = 0; k < p->K; k++)
            sum += q[k] *= p->column[k];
        for (int k = 0; k < p->K && sum > 0; k++)
            q[k] /= sum;
    }
}

// Factors that all rows or all columns share cancel in the next division.
static void iterate(const Plan *p, int num_iters) {
    for (int i = 0; i < num_iters; i++) {
        columns(p);
        rows(p);
    }
}

static void reference(const SrRefCall *call) {
    const SrSinkhornRowsParams *p = call->params;
    int K = sr_shape_last(call->y_shape);
    int64_t n = sr_shape_rows(call->y_shape);
    double most = -DBL_MAX, *sum = sr_alloc(sizeof(double) * (size_t)K);
    for (int64_t i = 0; i < n * K; i++)
        most = fmax(most, call->x[0][i] / call->x[1][0]);
    for (int64_t i = 0; i < n * K; i++)
        call->y[i] = call->n_in > 2 && call->x[2][i / K] <= 0
                         ? 0
                         : exp(call->x[0][i] / call->x[1][0] - most);
    for (int64_t r = 0; p->probabilities && r < n; r++) {
        double row = 0;
        for (int k = 0; k < K; k++)
            row += call->y[r * K + k];
        for (int k = 0; k < K && row > 0; k++)
            call->y[r * K + k] /= row;
    }
    for (int t = 0; sum && t < p->num_iters; t++) {
        for (int k = 0; k < K; k++)
            sum[k] = 0;
        for (int64_t i = 0; i < n * K; i++)
            sum[i % K] += call->y[i];
        for (int64_t i = 0; i < n * K; i++)
            call->y[i] = sum[i % K] > 0 ? call->y[i] / sum[i % K] : 0;
        for (int64_t r = 0; r < n; r++) {
            double row = 0;
            for (int k = 0; k < K; k++)
                row += call->y[r * K + k];
            for (int k = 0; k < K && row > 0; k++)
                call->y[r * K + k] /= row;
        }
    }
    sr_free(sum);
}

static double largest(const float *x, int64_t count, double per) {
    double most = -DBL_MAX;
    for (int64_t i = 0; i < count; i++) { // fmax here ends gcc 12 for aarch64 in an internal error
        double v = (double)x[i] * per;
        most = v > most ? v : most;
    }
    return most;
}

// Writes Q before the iterations.  The row's own maximum keeps a row of low scores from becoming
// zeros.
static void start(const Plan *p, const float *x, const float *mask, double per, bool softmax) {
    double most = softmax ? 0 : largest(x, p->rows * p->K, per);
#pragma omp parallel for schedule(static) if (p->rows * p->K > SR_CHUNK)
    for (int64_t r = 0; r < p->rows; r++) {
        const float *in = x + r * p->K;
        double *q = p->q + r * p->K, sum = 0, top = softmax ? largest(in, p->K, per) : most;
        bool used = !mask || mask[r] > 0;
        for (int k = 0; k < p->K; k++)
            sum += q[k] = used ? exp((double)in[k] * per - top) : 0;
        for (int k = 0; softmax && used && k < p->K; k++)
            q[k] /= sum;
    }
}

static void forward(const SrOpCall *call) {
    const SrSinkhornRowsParams *p = call->params;
    Plan plan = {sr_shape_rows(call->y.shape), sr_shape_last(call->y.shape), call->scratch, NULL};
    int64_t count = plan.rows * plan.K;
    plan.column = plan.q + count;
    start(&plan, call->x[0].data, call->n_in > 2 ? call->x[2].data : NULL,
          1 / (double)*(const float *)call->x[1].data, p->probabilities);
    iterate(&plan, p->num_iters);
    float *y = call->y.data;
    for (int64_t i = 0; i < count; i++)
        y[i] = (float)plan.q[i];
}

static const SrOpCase cases[] = {
    {"{}", 2, {SR_SHAPE(6, 4), SR_SCALAR}, false},
    {"{num_iters: 5}", 3, {SR_SHAPE(3, 4, 5), SR_SCALAR, SR_SHAPE(3, 4)}, false},
    {"{probabilities: True}", 3, {SR_SHAPE(5, 7), SR_SCALAR, SR_SHAPE(5)}, false},
};

const SrOp sr_op_sinkhorn_rows = {
    .name = "sinkhorn_rows",
    .help = "Balanced targets from scores: all prototypes are used equally, at a temperature that "
            "is an input.",
    .options = options,
    .params_bytes = sizeof(SrSinkhornRowsParams),
    .min_in = 2,
    .max_in = 3,
    .flags = SR_OP_NO_GRAD,
    .infer = infer,
    .scratch_bytes = scratch_bytes,
    .reference = reference,
    .forward = forward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
