// cross_entropy: torch.nn.functional.cross_entropy with class labels, and a temperature.
//
//   q_y = (1 - s) one-hot(y) + s / C
//   L = sum over rows of -w . q_y . log softmax(x / t)  /  sum of w[y]
//
// x (rows, C) or an ensemble (E, N, C); labels (N), repeated over the rows: row r has label r mod
// N.  Rows whose label is ignore_index, or no class at all, do not count; if no row counts, L is 0
// where torch has NaN.  Labels are checked where they are read, not here.
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"
#include "kernels/losses/cross_entropy.h"

#define FIELD(f) offsetof(SrCrossEntropyParams, f)
static const SrOption options[] = {
    {"temperature", SR_OPT_FLOAT, FIELD(temperature), "1.0", 1e-10, 1e10,
     .help = "Temperature that divides the scores."},
    {"label_smoothing", SR_OPT_FLOAT, FIELD(label_smoothing), "0.0", 0, 1,
     .help = "Label smoothing: share of a target that is spread over all classes."},
    {"ignore_index", SR_OPT_INT64, FIELD(ignore_index), "-1",
     .help = "Label of rows that are ignored."},
    {"weight", SR_OPT_FLOATS, FIELD(weight), "[]", 0, 1e10,
     .help = "Weight of each class; empty: all 1."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrCrossEntropyParams *p = params;
    SR_TRY(sr__expect_rank("cross_entropy", x, n_in, 2, 3));
    int C = sr_shape_last(x[0]);
    int64_t rows = sr_shape_count(x[0]) / SR_MAX(C, 1);
    if (x[1].rank != 1 || x[1].d[0] < 1 || rows % x[1].d[0])
        return sr__shape_fail("cross_entropy", x, n_in, "scores, and a label for each image");
    if (p->weight.n != 0 && p->weight.n != C)
        return sr__shape_fail("cross_entropy", x, n_in, "a weight for each of %d classes, not %d",
                              C, p->weight.n);
    *y = SR_SCALAR;
    return SR_OK;
}

// The backward recomputes softmax(x / t) from the scores, which costs less than storing it.
static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1);
}

// The forward pass saves two floats per row, the largest score and the sum of
// exp((x - largest) / t), and the sum of the weights after them.
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return (2 * (size_t)(sr_shape_count(x[0]) / sr_shape_last(x[0])) + 1) * sizeof(float);
}

// Scratch: the loss of each row, double (rows).
static size_t scratch_bytes(const SrOpSite *site) {
    return (size_t)(sr_shape_count(site->x[0]) / sr_shape_last(site->x[0])) * sizeof(double);
}

typedef struct {
    const SrMachine *machine;
    const SrCrossEntropyParams *p;
    int64_t rows, N;
    int C;
    double per_t, smooth; // 1 / t; s / C
    const float *x;       // (rows, C)
    const SrTensor *labels;
    float *most, *sum, *total; // (rows), (rows), (1)
} Work;

static double temperature_of(const SrCrossEntropyParams *p) {
    return p->temperature > 0 ? p->temperature : 1;
}

static double weight_of(const SrCrossEntropyParams *p, int64_t c) {
    return p->weight.n > 0 ? p->weight.v[c] : 1;
}

static Work work_of(const SrOpCall *call) {
    const SrCrossEntropyParams *p = call->params;
    Work w = {.machine = call->machine,
              .p = p,
              .C = sr_shape_last(call->x[0].shape),
              .per_t = 1 / temperature_of(p)};
    w.rows = sr_shape_count(call->x[0].shape) / w.C;
    w.N = call->x[1].shape.d[0];
    w.smooth = p->label_smoothing / w.C;
    w.x = call->x[0].data;
    w.labels = &call->x[1];
    w.most = call->saved;
    w.sum = w.most + w.rows;
    w.total = w.sum + w.rows;
    return w;
}

static bool counts(const SrCrossEntropyParams *p, int64_t label, int C) {
    return label != p->ignore_index && label >= 0 && label < C;
}

// Returns the sum of q_c w_c ((most - x_c) / t + log sum), which subtracts no two large numbers.
static double row_loss(const Work *w, int64_t row) {
    const SrRows *k = sr__rows(w->machine);
    const float *x = w->x + row * w->C;
    int64_t y = sr__label_at(w->labels, row % w->N);
    w->most[row] = k->max(x, w->C);
    w->sum[row] = (float)k->exp_sum(NULL, x, w->most[row], (float)w->per_t, w->C);
    if (!counts(w->p, y, w->C))
        return 0;
    double log_sum = log((double)w->sum[row]), most = w->most[row];
    double loss = (1 - w->p->label_smoothing) * weight_of(w->p, y) *
                  ((most - (double)x[y]) * w->per_t + log_sum);
    for (int c = 0; w->smooth > 0 && c < w->C; c++)
        loss += w->smooth * weight_of(w->p, c) * ((most - (double)x[c]) * w->per_t + log_sum);
    return loss;
}

// Takes rows in parallel, then adds their losses in order in double: the same bits for any number
// of threads.
static void forward(const SrOpCall *call) {
    Work w = work_of(call);
    double *losses = call->scratch, sum = 0, total = 0;
#pragma omp parallel for schedule(static) if (w.rows * w.C > SR_CHUNK)
    for (int64_t row = 0; row < w.rows; row++)
        losses[row] = row_loss(&w, row);
    for (int64_t row = 0; row < w.rows; row++) {
        int64_t y = sr__label_at(w.labels, row % w.N);
        total += counts(w.p, y, w.C) ? weight_of(w.p, y) : 0;
        sum += losses[row];
    }
    *w.total = (float)total;
    *(float *)call->y.data = (float)(total > 0 ? sum / total : 0);
}

// Computes dx_c = (softmax_c sum of q w - q_c w_c) / (t total), times the gradient of L.
static void row_gradient(const Work *w, int64_t row, double dy, float *dx) {
    const SrRows *k = sr__rows(w->machine);
    int64_t y = sr__label_at(w->labels, row % w->N);
    if (!counts(w->p, y, w->C) || !(*w->total > 0)) {
        memset(dx, 0, (size_t)w->C * sizeof *dx);
        return;
    }
    double factor = dy * w->per_t / (double)*w->total;
    double hit = (1 - w->p->label_smoothing) * weight_of(w->p, y), mass = hit;
    for (int c = 0; w->smooth > 0 && c < w->C; c++)
        mass += w->smooth * weight_of(w->p, c);
    k->exp(dx, w->x + row * w->C, w->most[row], (float)w->per_t, w->C);
    k->scale(dx, dx, (float)(factor * mass / (double)w->sum[row]), w->C);
    dx[y] -= (float)(factor * hit);
    for (int c = 0; w->smooth > 0 && c < w->C; c++)
        dx[c] -= (float)(factor * w->smooth * weight_of(w->p, c));
}

static void backward(const SrOpCall *call) {
    Work w = work_of(call);
    double dy = (double)call->dy[0];
    float *dx = call->dx[0];
#pragma omp parallel for schedule(static) if (w.rows * w.C > SR_CHUNK)
    for (int64_t row = 0; row < (dx ? w.rows : 0); row++)
        row_gradient(&w, row, dy, dx + row * w.C);
    if (call->dx[1])
        memset(call->dx[1], 0, (size_t)w.N * sizeof(float));
}

static double reference_row(const SrCrossEntropyParams *p, const double *x, int C, int64_t y) {
    double t = temperature_of(p), most = x[0], sum = 0, loss = 0;
    for (int c = 1; c < C; c++)
        most = fmax(most, x[c]);
    for (int c = 0; c < C; c++)
        sum += exp((x[c] - most) / t);
    for (int c = 0; c < C; c++) {
        double q = p->label_smoothing / C + (c == y ? 1 - p->label_smoothing : 0);
        loss -= q * weight_of(p, c) * ((x[c] - most) / t - log(sum));
    }
    return loss;
}

static void reference(const SrRefCall *call) {
    const SrCrossEntropyParams *p = call->params;
    int C = sr_shape_last(call->x_shape[0]), N = call->x_shape[1].d[0];
    int64_t rows = sr_shape_count(call->x_shape[0]) / C;
    double sum = 0, total = 0;
    for (int64_t row = 0; row < rows; row++) {
        int64_t y = (int64_t)floor(call->x[1][row % N]);
        if (!counts(p, y, C))
            continue;
        total += weight_of(p, y);
        sum += reference_row(p, call->x[0] + row * C, C, y);
    }
    call->y[0] = total > 0 ? sum / total : 0;
}

// clang-format off
static const SrOpCase cases[] = {
    {"{}", 2, {SR_SHAPE(12, 5), SR_SHAPE(12)}, false},
    {"{temperature: 0.5, label_smoothing: 0.2, ignore_index: 1}",
     2, {SR_SHAPE(16, 33), SR_SHAPE(16)}, false},
    {"{weight: [0.5, 2, 1, 3], label_smoothing: 0.1}", 2, {SR_SHAPE(3, 8, 4), SR_SHAPE(8)}, false},
};
// clang-format on

const SrOp sr_op_cross_entropy = {
    .name = "cross_entropy",
    .help = "Cross entropy of class scores with labels.",
    .options = options,
    .params_bytes = sizeof(SrCrossEntropyParams),
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
