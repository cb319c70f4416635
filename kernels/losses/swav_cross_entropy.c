// swav_cross_entropy: the swapped prediction of SwAV (Caron et al., NeurIPS 2020, equation 2, over
// many crops):
//
//   L = mean over assign crops i and over the C - 1 crops p != c_i of
//       mean over images of  -q_i . log softmax(s_p / t)
//
// scores (C n, P) are crop-major, codes (A n, P) in the order of crops_for_assign.  Each row of
// scores is read once with the sum of the codes that are its targets.
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"
#include "kernels/losses/swav_cross_entropy.h"

static const SrOption options[] = {
    {"num_crops", SR_OPT_INT, offsetof(SrSwavCrossEntropyParams, num_crops), "2", 2, 1024,
     .help = "Number of crops per image."},
    {"crops_for_assign", SR_OPT_INTS, offsetof(SrSwavCrossEntropyParams, crops_for_assign),
     "[0, 1]", 0, 1023, .help = "Crops whose codes are targets."},
    {"temperature", SR_OPT_FLOAT, offsetof(SrSwavCrossEntropyParams, temperature), "0.1", 1e-10,
     1e10, .help = "Temperature that divides the scores."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrSwavCrossEntropyParams *p = params;
    const char *op = "swav_cross_entropy";
    SR_TRY(sr__expect_rank(op, x, n_in, 2, 2));
    if (p->num_crops < 2 || p->crops_for_assign.n < 1 || !(p->temperature > 0))
        SR_FAIL(SR_ERR_CONFIG,
                "%s: %d crops, %d crops to assign, temperature %g: expected at least 2 crops, at "
                "least 1 to assign, and a positive temperature",
                op, p->num_crops, p->crops_for_assign.n, p->temperature);
    for (int a = 0; a < p->crops_for_assign.n; a++)
        if (p->crops_for_assign.v[a] < 0 || p->crops_for_assign.v[a] >= p->num_crops)
            SR_FAIL(SR_ERR_CONFIG, "%s: crops_for_assign holds %d: expected crops 0 .. %d", op,
                    p->crops_for_assign.v[a], p->num_crops - 1);
    int n = x[0].d[0] / p->num_crops;
    if (x[0].d[0] % p->num_crops || x[1].rank != 2 || x[1].d[0] != n * p->crops_for_assign.n ||
        x[1].d[1] != x[0].d[1])
        return sr__shape_fail(op, x, n_in, "scores of %d crops and codes of %d for the same images",
                              p->num_crops, p->crops_for_assign.n);
    *y = SR_SCALAR;
    return SR_OK;
}

// The backward recomputes softmax(s / t) from the scores, which costs less than storing it.
static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1);
}

// Saved: per row of scores its maximum, the sum of exp((s - maximum) / t) and the mass of its
// targets, float (3, C n).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return 3 * (size_t)x[0].d[0] * sizeof(float);
}

// Scratch: the loss of each row, double (C n).
static size_t scratch_bytes(const SrOpSite *site) {
    return (size_t)site->x[0].d[0] * sizeof(double);
}

typedef struct {
    const SrMachine *machine;
    const SrSwavCrossEntropyParams *p;
    int rows, n, P;              // rows = C n
    const float *scores, *codes; // (rows, P), (A n, P)
    float *most, *sum, *mass;    // each (rows)
    double weight;               // weight of one row and one target: 1 / (A (C - 1) n)
} Work;

static Work work_of(const SrOpCall *call) {
    const SrSwavCrossEntropyParams *p = call->params;
    Work w = {.machine = call->machine,
              .p = p,
              .rows = call->x[0].shape.d[0],
              .P = call->x[0].shape.d[1]};
    w.n = w.rows / p->num_crops;
    w.scores = call->x[0].data;
    w.codes = call->x[1].data;
    w.most = call->saved;
    w.sum = w.most + w.rows;
    w.mass = w.sum + w.rows;
    w.weight = 1.0 / p->crops_for_assign.n / (p->num_crops - 1) / w.n;
    return w;
}

// Returns the a-th target of a row of scores; NULL where the target is the row's own crop.
static const float *target(const Work *w, int row, int a) {
    if (row / w->n == w->p->crops_for_assign.v[a])
        return NULL;
    return w->codes + ((int64_t)a * w->n + row % w->n) * w->P;
}

// Returns the sum over targets of q . (most - s) / t + |q| log(sum), which subtracts no two large
// numbers.
static double row_loss(const Work *w, int row) {
    const SrRows *k = sr__rows(w->machine);
    const float *s = w->scores + (int64_t)row * w->P;
    float most = k->max(s, w->P), per_t = (float)(1 / w->p->temperature);
    double sum = k->exp_sum(NULL, s, most, per_t, w->P), distance = 0, mass = 0;
    for (int a = 0; a < w->p->crops_for_assign.n; a++) {
        const float *q = target(w, row, a);
        if (!q)
            continue;
        distance += k->distance(q, s, most, w->P);
        mass += k->sum(q, w->P);
    }
    w->most[row] = most;
    w->sum[row] = (float)sum;
    w->mass[row] = (float)mass;
    return distance / w->p->temperature + mass * log(sum);
}

// Takes rows in parallel, then adds their losses in order in double: the same bits for any number
// of threads.
static void forward(const SrOpCall *call) {
    Work w = work_of(call);
    double *losses = call->scratch, total = 0;
#pragma omp parallel for schedule(static) if ((int64_t)w.rows * w.P > SR_CHUNK)
    for (int row = 0; row < w.rows; row++)
        losses[row] = row_loss(&w, row);
    for (int row = 0; row < w.rows; row++)
        total += losses[row];
    *(float *)call->y.data = (float)(total * w.weight);
}

// Computes ds = weight / t (mass softmax(s / t) - sum of targets), times the gradient of L.
static void scores_gradient(const Work *w, double dy, float *dx) {
    const SrRows *k = sr__rows(w->machine);
    double factor = dy * w->weight / w->p->temperature;
#pragma omp parallel for schedule(static) if ((int64_t)w->rows * w->P > SR_CHUNK)
    for (int row = 0; row < w->rows; row++) {
        float *out = dx + (int64_t)row * w->P;
        k->exp(out, w->scores + (int64_t)row * w->P, w->most[row], (float)(1 / w->p->temperature),
               w->P);
        k->scale(out, out, (float)(factor * (double)w->mass[row] / (double)w->sum[row]), w->P);
        for (int a = 0; a < w->p->crops_for_assign.n; a++)
            if (target(w, row, a))
                k->axpy(out, target(w, row, a), (float)-factor, w->P);
    }
}

// Computes dq = weight times the sum, over the crops that have the code as a target, of -log
// softmax(s / t).
static void codes_gradient(const Work *w, double dy, float *dq) {
    double factor = dy * w->weight;
    memset(dq, 0, (size_t)w->p->crops_for_assign.n * (size_t)w->n * (size_t)w->P * sizeof(float));
    for (int row = 0; row < w->rows; row++)
        for (int a = 0; a < w->p->crops_for_assign.n; a++) {
            if (!target(w, row, a))
                continue;
            const float *s = w->scores + (int64_t)row * w->P;
            float *out = dq + (target(w, row, a) - w->codes);
            double log_sum = log((double)w->sum[row]);
            for (int k = 0; k < w->P; k++)
                out[k] +=
                    (float)(factor * ((double)(w->most[row] - s[k]) / w->p->temperature + log_sum));
        }
}

static void backward(const SrOpCall *call) {
    Work w = work_of(call);
    if (call->dx[0])
        scores_gradient(&w, (double)call->dy[0], call->dx[0]);
    if (call->dx[1])
        codes_gradient(&w, (double)call->dy[0], call->dx[1]);
}

// Returns -q . log softmax(s / t) for rows of P.
static double reference_pair(const double *q, const double *s, int P, double temperature) {
    double most = s[0], sum = 0, loss = 0;
    for (int k = 1; k < P; k++)
        most = fmax(most, s[k]);
    for (int k = 0; k < P; k++)
        sum += exp((s[k] - most) / temperature);
    for (int k = 0; k < P; k++)
        loss -= q[k] * ((s[k] - most) / temperature - log(sum));
    return loss;
}

static void reference(const SrRefCall *call) {
    const SrSwavCrossEntropyParams *p = call->params;
    int P = call->x_shape[0].d[1], n = call->x_shape[0].d[0] / p->num_crops,
        A = p->crops_for_assign.n;
    double total = 0;
    for (int a = 0; a < A; a++)
        for (int crop = 0; crop < p->num_crops; crop++)
            for (int i = 0; i < n && crop != p->crops_for_assign.v[a]; i++)
                total +=
                    reference_pair(call->x[1] + ((int64_t)a * n + i) * P,
                                   call->x[0] + ((int64_t)crop * n + i) * P, P, p->temperature);
    call->y[0] = total / A / (p->num_crops - 1) / n;
}

// clang-format off
static const SrOpCase cases[] = {
    {"{num_crops: 2, temperature: 0.7}", 2, {SR_SHAPE(6, 5), SR_SHAPE(6, 5)}, false},
    {"{num_crops: 4, crops_for_assign: [2, 0], temperature: 0.5}",
     2, {SR_SHAPE(8, 33), SR_SHAPE(4, 33)}, false},
    {"{num_crops: 3, crops_for_assign: [1], temperature: 2}",
     2, {SR_SHAPE(9, 4), SR_SHAPE(3, 4)}, false},
};
// clang-format on

const SrOp sr_op_swav_cross_entropy = {
    .name = "swav_cross_entropy",
    .help = "Swapped prediction loss of SwAV.",
    .options = options,
    .params_bytes = sizeof(SrSwavCrossEntropyParams),
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
