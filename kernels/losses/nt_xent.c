// nt_xent: the normalised-temperature cross entropy of SimCLR, a scalar, of embeddings (C n, D),
// view-major and of length 1.
//
//   L = mean over rows i and the other views p of i's image of
//       -log( exp(s_ip / t) / (exp(s_ip / t) + sum over rows j of other images exp(s_ij / t)) )
//
// with s = x x^T: Chen et al., "A simple framework for contrastive learning" (ICML 2020), eq. 1 for
// C = 2.  With more views each positive stands alone against the negatives, as in VISSL's
// multi-crop loss.  decoupled leaves exp(s_ip / t) out of the denominator: Yeh et al., "Decoupled
// contrastive learning" (ECCV 2022, arXiv:2110.06848), eq. 6.
//
// A single image has no negatives: the loss and its gradient are 0.  Decoupled, the loss would be
// -infinity, so the op refuses it.
#include "kernels/losses/nt_xent.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/core/gemm.h"
#include "kernels/core/op_util.h"
#include "kernels/losses/others.h"

static const SrOption options[] = {
    {"num_crops", SR_OPT_INT, offsetof(SrNtXentParams, num_crops), "2", 2, 1 << 16,
     .help = "Number of views per image."},
    {"temperature", SR_OPT_FLOAT, offsetof(SrNtXentParams, temperature), "0.1", 1e-6, 1e6,
     .help = "Temperature that divides the scores."},
    {"decoupled", SR_OPT_BOOL, offsetof(SrNtXentParams, decoupled), "False",
     .help = "Leave the positive out of the denominator."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrNtXentParams *p = params;
    SR_TRY(sr__expect_rank("nt_xent", x, n_in, 2, 2));
    if (x[0].d[0] % p->num_crops != 0)
        SR_FAIL(SR_ERR_CONFIG, "nt_xent: %d rows; expected %d views of each image", x[0].d[0],
                p->num_crops);
    if (p->decoupled && x[0].d[0] < 2 * p->num_crops)
        SR_FAIL(SR_ERR_CONFIG,
                "nt_xent: %d rows; expected %d views of at least two images each: a decoupled loss "
                "has only other images in its denominator",
                x[0].d[0], p->num_crops);
    *y = SR_SCALAR;
    return SR_OK;
}

// Row i = crop * n + image; the rows of the same image are k n + image.
typedef struct {
    const SrMachine *machine; // NULL in the reference, which needs none
    int rows, n, C, D;
    bool decoupled;
    float per_t;   // 1 / temperature
    double weight; // weight of one positive: 1 / (rows (C - 1))
} Problem;

static Problem problem(const SrMachine *machine, const SrNtXentParams *p, SrShape x) {
    int rows = x.d[0], C = p->num_crops;
    return (Problem){.machine = machine,
                     .rows = rows,
                     .n = rows / C,
                     .C = C,
                     .D = x.d[1],
                     .decoupled = p->decoupled,
                     .per_t = (float)(1 / p->temperature),
                     .weight = 1.0 / ((double)rows * (C - 1))};
}

// ---- reference

static double dot(const double *a, const double *b, int n) {
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[k] * b[k];
    return sum;
}

static void reference(const SrRefCall *call) {
    const SrNtXentParams *p = call->params;
    Problem w = problem(NULL, p, call->x_shape[0]);
    double total = 0;
    for (int i = 0; i < w.rows; i++) {
        const double *xi = call->x[0] + (int64_t)i * w.D;
        double negatives = 0;
        for (int j = 0; j < w.rows; j++)
            if (j % w.n != i % w.n)
                negatives += exp(dot(xi, call->x[0] + (int64_t)j * w.D, w.D) / p->temperature);
        for (int j = i % w.n; j < w.rows; j += w.n)
            if (j != i) {
                double s = dot(xi, call->x[0] + (int64_t)j * w.D, w.D) / p->temperature;
                total += p->decoupled ? log(negatives) - s : log1p(negatives * exp(-s));
            }
    }
    call->y[0] = total * w.weight;
}

// ---- forward

// Saved: per row its largest score of a negative and the sum of exp((s - largest) / t) over
// negatives, float (2, rows).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return 2 * (size_t)x[0].d[0] * sizeof(float);
}

// Scratch: scores (rows, rows), and the loss of each row in double.
static size_t scratch_bytes(const SrOpSite *site) {
    size_t rows = (size_t)site->x[0].d[0];
    return rows * sizeof(double) + rows * rows * sizeof(float);
}

static void scores(const Problem *w, const float *x, float *s) {
    sr_gemm(false, true, w->rows, w->rows, w->D, 1, x, w->D, x, w->D, 0, s, w->rows);
}

// Returns log(1 + negatives / exp(positive)), decoupled without the 1; the negatives' sum has
// `most` taken out.
static double term(const Problem *w, float positive, float most, double sum) {
    double a = ((double)most - (double)positive) * (double)w->per_t + log(sum);
    if (w->decoupled)
        return a;
    return a > 0 ? a + log1p(exp(-a)) : log1p(exp(a));
}

static double row_loss(const Problem *w, const float *s, int row, float *most, float *sum) {
    int image = row % w->n;
    double loss = 0;
    *most = sr__others_max(w->machine, s, w->n, w->C, image);
    *sum = (float)sr__others_exp(w->machine, NULL, s, *most, w->per_t, w->n, w->C, image);
    for (int j = image; j < w->rows; j += w->n)
        loss += j == row ? 0 : term(w, s[j], *most, (double)*sum);
    return loss;
}

static void forward(const SrOpCall *call) {
    Problem w = problem(call->machine, call->params, call->x[0].shape);
    float *most = call->saved, *sum = most + w.rows;
    double *losses = call->scratch, total = 0;
    float *s = (float *)(losses + w.rows);
    scores(&w, call->x[0].data, s);
#pragma omp parallel for schedule(static) if ((int64_t)w.rows * w.rows > SR_CHUNK)
    for (int i = 0; i < w.rows; i++)
        losses[i] = row_loss(&w, s + (int64_t)i * w.rows, i, &most[i], &sum[i]);
    for (int i = 0; i < w.rows; i++)
        total += losses[i];
    *(float *)call->y.data = (float)(total * w.weight);
}

// ---- backward

// Replaces a row's scores by ds: -(1 - p) at each positive, and the sum of these spread over the
// negatives by their shares.
static void row_gradient(const Problem *w, float *s, int row, float most, double sum,
                         double factor) {
    int image = row % w->n;
    double missed = 0;
    for (int j = image; j < w->rows; j += w->n) {
        double a = ((double)most - (double)s[j]) * (double)w->per_t + log(sum);
        // share of the negatives in the denominator
        double share = w->decoupled ? 1 : 1 / (1 + exp(-a));
        s[j] = j == row ? 0 : (float)(-factor * share);
        missed += j == row ? 0 : share;
    }
    sr__others_exp(w->machine, s, s, most, w->per_t, w->n, w->C, image);
    sr__others_scale(w->machine, s, (float)(factor * missed / sum), w->n, w->C, image);
}

// The backward recomputes the scores, so that (rows, rows) need not be kept from forward to
// backward.
static void backward(const SrOpCall *call) {
    Problem w = problem(call->machine, call->params, call->x[0].shape);
    const float *x = call->x[0].data, *most = call->saved, *sum = most + w.rows;
    float *s = (float *)((double *)call->scratch + w.rows), *dx = call->dx[0];
    double factor = (double)call->dy[0] * w.weight * (double)w.per_t;
    if (!dx)
        return;
    scores(&w, x, s);
#pragma omp parallel for schedule(static) if ((int64_t)w.rows * w.rows > SR_CHUNK)
    for (int i = 0; i < w.rows; i++)
        row_gradient(&w, s + (int64_t)i * w.rows, i, most[i], (double)sum[i], factor);
    // Row i is the query of its own terms and a key of the others' terms: ds x + ds^T x.
    sr_gemm(false, false, w.rows, w.D, w.rows, 1, s, w.rows, x, w.D, 0, dx, w.D);
    sr_gemm(true, false, w.rows, w.D, w.rows, 1, s, w.rows, x, w.D, 1, dx, w.D);
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    (void)params, (void)n_in, (void)y;
    return 2 * (int64_t)x[0].d[0] * x[0].d[0] * x[0].d[1];
}

static const SrOpCase cases[] = {
    {"{num_crops: 2, temperature: 0.5}", 1, {SR_SHAPE(8, 3)}, false},
    {"{num_crops: 3, temperature: 0.2}", 1, {SR_SHAPE(6, 4)}, false},
    {"{num_crops: 2, temperature: 0.1}", 1, {SR_SHAPE(130, 16)}, false},
    {"{num_crops: 3, temperature: 0.2}", 1, {SR_SHAPE(3, 4)}, false},
    {"{num_crops: 2, temperature: 0.3, decoupled: True}", 1, {SR_SHAPE(8, 5)}, false},
    {"{num_crops: 4, temperature: 0.4, decoupled: True}", 1, {SR_SHAPE(12, 5)}, false},
};

const SrOp sr_op_nt_xent = {
    .name = "nt_xent",
    .help = "SimCLR's contrastive loss of the views of images against all other images.",
    .options = options,
    .params_bytes = sizeof(SrNtXentParams),
    .min_in = 1,
    .max_in = 1,
    .infer = infer,
    .reads = sr__reads_x,
    .saved_bytes = saved_bytes,
    .scratch_bytes = scratch_bytes,
    .flops = flops,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
