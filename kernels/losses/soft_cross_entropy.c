// soft_cross_entropy: torch.nn.functional.cross_entropy with a distribution over classes as target
// (mixup, cutmix).  cross_entropy.c takes class labels.
//
//   L = - 1 / rows  sum over rows r and classes c of q_(r mod M)c log softmax(x_r / t)_c
//
// x (rows, C) or of rank 3; q (M, C) of floats, or of rank 3, repeated over the rows.  With w, a
// weight per row, the sum over rows of w_r times the row's loss takes the place of the mean
// (patches that a mask marks).
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"
#include "kernels/losses/soft_cross_entropy.h"

static const SrOption options[] = {
    {"temperature", SR_OPT_FLOAT, offsetof(SrSoftCrossEntropyParams, temperature), "1.0", 1e-10,
     1e10, .help = "Temperature that divides the scores."},
    SR_OPTION_END,
};

static int64_t rows_of(SrShape x) { return sr_shape_count(x) / SR_MAX(sr_shape_last(x), 1); }

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("soft_cross_entropy", x, 2, 2, 3));
    int64_t rows = rows_of(x[0]), targets = rows_of(x[1]);
    if (targets < 1 || sr_shape_last(x[1]) != sr_shape_last(x[0]) || rows % targets ||
        (n_in > 2 && sr_shape_count(x[2]) != rows))
        return sr__shape_fail("soft_cross_entropy", x, n_in,
                              "scores, and a target for each class of each image");
    *y = SR_SCALAR;
    return SR_OK;
}

static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1) | SR_READS_X(2);
}

// Saved: per row the largest score and the sum of exp((x - largest) / t), float (2 rows).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return 2 * (size_t)rows_of(x[0]) * sizeof(float);
}

// Scratch: the loss of each row, double (rows).
static size_t scratch_bytes(const SrOpSite *site) {
    return (size_t)rows_of(site->x[0]) * sizeof(double);
}

static double temperature_of(const SrSoftCrossEntropyParams *p) {
    return p->temperature > 0 ? p->temperature : 1;
}

typedef struct {
    const SrMachine *machine;
    int64_t rows, M;
    int C;
    double per_t;
    const float *x, *q, *w; // (rows, C), (M, C), (rows) or NULL
    float *most, *sum;      // (rows)
} Work;

static Work work_of(const SrOpCall *call) {
    Work w = {.machine = call->machine,
              .rows = rows_of(call->x[0].shape),
              .M = rows_of(call->x[1].shape),
              .C = sr_shape_last(call->x[0].shape),
              .per_t = 1 / temperature_of(call->params),
              .x = call->x[0].data,
              .q = call->x[1].data,
              .w = call->n_in > 2 ? call->x[2].data : NULL,
              .most = call->saved};
    w.sum = w.most + w.rows;
    return w;
}

// Returns the weight of a row in the loss.
static double weight(const Work *w, int64_t row) {
    return w->w ? (double)w->w[row] : 1 / (double)w->rows;
}

// Returns - log softmax of one score, without subtracting two large numbers.  log_sum: the
// logarithm of sum[row], which a caller takes once per row.
static double surprise(const Work *w, int64_t row, int c, double log_sum) {
    return ((double)w->most[row] - (double)w->x[row * w->C + c]) * w->per_t + log_sum;
}

static double row_value(const Work *w, int64_t row) {
    const float *q = w->q + row % w->M * w->C;
    double loss = 0, log_sum = log((double)w->sum[row]);
    for (int c = 0; c < w->C; c++)
        loss += (double)q[c] * surprise(w, row, c, log_sum);
    return loss;
}

static double row_loss(const Work *w, int64_t row) {
    const float *x = w->x + row * w->C;
    w->most[row] = sr__rows(w->machine)->max(x, w->C);
    w->sum[row] =
        (float)sr__rows(w->machine)->exp_sum(NULL, x, w->most[row], (float)w->per_t, w->C);
    return row_value(w, row);
}

// Takes rows in parallel, then adds their losses in order: the same bits for any number of threads.
static void forward(const SrOpCall *call) {
    Work w = work_of(call);
    double *losses = call->scratch, sum = 0;
#pragma omp parallel for schedule(static) if (w.rows * w.C > SR_CHUNK)
    for (int64_t row = 0; row < w.rows; row++)
        losses[row] = row_loss(&w, row);
    for (int64_t row = 0; row < w.rows; row++)
        sum += (w.w ? (double)w.w[row] : 1) * losses[row];
    *(float *)call->y.data = (float)(w.w ? sum : sum / (double)w.rows);
}

// Computes dx_c = (softmax_c sum of q - q_c) / t, times the row's weight and the gradient of L.
static void row_gradient(const Work *w, int64_t row, double dy, float *dx) {
    const SrRows *k = sr__rows(w->machine);
    const float *q = w->q + row % w->M * w->C;
    double factor = dy * w->per_t * weight(w, row), mass = k->sum(q, w->C);
    k->exp(dx, w->x + row * w->C, w->most[row], (float)w->per_t, w->C);
    k->scale(dx, dx, (float)(factor * mass / (double)w->sum[row]), w->C);
    k->axpy(dx, q, (float)-factor, w->C);
}

// The gradient of q serves a teacher that learns; targets that come from the data need none.
static void target_gradient(const Work *w, double dy, float *dq) {
    memset(dq, 0, (size_t)(w->M * w->C) * sizeof *dq);
    for (int64_t row = 0; row < w->rows; row++) {
        double log_sum = log((double)w->sum[row]);
        for (int c = 0; c < w->C; c++)
            dq[row % w->M * w->C + c] +=
                (float)(dy * weight(w, row) * surprise(w, row, c, log_sum));
    }
}

static void backward(const SrOpCall *call) {
    Work w = work_of(call);
    double dy = (double)call->dy[0];
    float *dx = call->dx[0];
#pragma omp parallel for schedule(static) if (w.rows * w.C > SR_CHUNK)
    for (int64_t row = 0; row < (dx ? w.rows : 0); row++)
        row_gradient(&w, row, dy, dx + row * w.C);
    if (call->dx[1])
        target_gradient(&w, dy, call->dx[1]);
    for (int64_t row = 0; w.w && call->dx[2] && row < w.rows; row++)
        call->dx[2][row] = (float)(dy * row_value(&w, row));
}

static void reference(const SrRefCall *call) {
    int C = sr_shape_last(call->x_shape[0]);
    int64_t rows = rows_of(call->x_shape[0]), M = rows_of(call->x_shape[1]);
    double t = temperature_of(call->params), loss = 0;
    for (int64_t row = 0; row < rows; row++) {
        const double *x = call->x[0] + row * C, *q = call->x[1] + row % M * C;
        double most = x[0], sum = 0, w = call->n_in > 2 ? call->x[2][row] : 1 / (double)rows;
        for (int c = 1; c < C; c++)
            most = fmax(most, x[c]);
        for (int c = 0; c < C; c++)
            sum += exp((x[c] - most) / t);
        for (int c = 0; c < C; c++)
            loss -= w * q[c] * ((x[c] - most) / t - log(sum));
    }
    call->y[0] = loss;
}

// clang-format off
static const SrOpCase cases[] = {
    {"{}", 2, {SR_SHAPE(12, 5), SR_SHAPE(12, 5)}, false},
    {"{temperature: 0.5}", 2, {SR_SHAPE(16, 33), SR_SHAPE(8, 33)}, false},
    {"{}", 2, {SR_SHAPE(3, 8, 4), SR_SHAPE(8, 4)}, false},
    {"{}", 3, {SR_SHAPE(3, 4, 5), SR_SHAPE(3, 4, 5), SR_SHAPE(3, 4)}, false},
};
// clang-format on

const SrOp sr_op_soft_cross_entropy = {
    .name = "soft_cross_entropy",
    .help = "Cross entropy of class scores with distributions over the classes.",
    .options = options,
    .params_bytes = sizeof(SrSoftCrossEntropyParams),
    .min_in = 2,
    .max_in = 3,
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
