// align_uniform: how near the two views of an image are, and how evenly the images of a view are
// spread (Wang and Isola, "Understanding contrastive representation learning through alignment and
// uniformity on the hypersphere", ICML 2020, arXiv:2005.10242, section 4.1).  x (2 N, D) holds the
// rows of view 0 before those of view 1:
//
//   mean_i |x_i - x'_i|^alpha
//   + lambda / 2 sum over views of log mean_{i != j} exp(-t |x_i - x_j|^2)
//
// The op does not require rows of length 1; the loss normalises them before.
#include "kernels/losses/align_uniform.h"

#include <math.h>
#include <stddef.h>

#include "kernels/core/gemm.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"
#include "kernels/losses/columns.h"
#include "kernels/losses/others.h"

#define FIELD(f) offsetof(SrAlignUniformParams, f)
static const SrOption options[] = {
    {"alpha", SR_OPT_FLOAT, FIELD(alpha), "2", 1, 64,
     .help = "Power of the distance between views."},
    {"t", SR_OPT_FLOAT, FIELD(t), "2", 1e-6, 1e6, .help = "Factor of the squared distances."},
    {"lambda", SR_OPT_FLOAT, FIELD(lambda), "1", 0, 1e6, .help = "Weight of the uniformity term."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    return sr__two_views_infer("align_uniform", x, n_in, y);
}

// ---- reference

static double square_distance(const double *a, const double *b, int D) {
    double sum = 0;
    for (int d = 0; d < D; d++)
        sum += (a[d] - b[d]) * (a[d] - b[d]);
    return sum;
}

static void reference(const SrRefCall *call) {
    const SrAlignUniformParams *p = call->params;
    int N = call->x_shape[0].d[0] / 2, D = call->x_shape[0].d[1];
    double align = 0, uniform = 0;
    for (int i = 0; i < N; i++)
        align +=
            pow(square_distance(call->x[0] + i * D, call->x[0] + (N + i) * D, D), p->alpha / 2);
    for (int v = 0; v < 2; v++) {
        const double *x = call->x[0] + v * N * D;
        double sum = 0;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < i; j++)
                sum += exp(-p->t * square_distance(x + i * D, x + j * D, D));
        uniform += log(2 * sum / N / (N - 1));
    }
    call->y[0] = align / N + p->lambda / 2 * uniform;
}

// ---- one view

// |x_i - x_j|^2 = q_i - 2 s_ij with q_i = |x_i|^2 and s_ij = x_i x_j - q_j / 2, so a row of s holds
// everything that depends on j.
typedef struct {
    const SrMachine *machine;
    int N, D;
    double t;
    double *rows; // (N): logarithm of each row's share of the sum over pairs
    float *q;     // (N)
    float *s;     // (N, N)
} View;

// Saved: logarithms of both views' sums over pairs i != j, double (2).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)x, (void)n_in;
    return 2 * sizeof(double);
}

static size_t scratch_bytes(const SrOpSite *site) {
    size_t N = (size_t)site->x[0].d[0] / 2;
    return N * sizeof(double) + (N + N * N) * sizeof(float);
}

static View view_of(const SrOpCall *call) {
    const SrAlignUniformParams *p = call->params;
    View v = {.machine = call->machine,
              .N = call->x[0].shape.d[0] / 2,
              .D = call->x[0].shape.d[1],
              .t = p->t};
    v.rows = call->scratch;
    v.q = (float *)(v.rows + v.N);
    v.s = v.q + v.N;
    return v;
}

static void fill(const View *v, const float *x) {
    for (int i = 0; i < v->N; i++) {
        const float *row = x + (int64_t)i * v->D;
        v->q[i] = (float)sr__rows(v->machine)->dot(row, row, v->D);
    }
    sr_gemm(false, true, v->N, v->N, v->D, 1, x, v->D, x, v->D, 0, v->s, v->N);
}

// Returns log sum_{j != i} exp(-t |x_i - x_j|^2).
static double row_log(const View *v, int i) {
    float *s = v->s + (int64_t)i * v->N, factor = (float)(2 * v->t);
    sr__rows(v->machine)->axpy(s, v->q, -0.5f, v->N);
    float most = sr__others_max(v->machine, s, v->N, 1, i);
    return v->t * (2 * (double)most - (double)v->q[i]) +
           log(sr__others_exp(v->machine, NULL, s, most, factor, v->N, 1, i));
}

static double view_log(const View *v, const float *x) {
    double most = -INFINITY, sum = 0;
    fill(v, x);
#pragma omp parallel for schedule(static) if ((int64_t)v->N * v->N > SR_CHUNK)
    for (int i = 0; i < v->N; i++)
        v->rows[i] = row_log(v, i);
    for (int i = 0; i < v->N; i++)
        most = fmax(most, v->rows[i]);
    for (int i = 0; i < v->N; i++)
        sum += exp(v->rows[i] - most);
    return most + log(sum);
}

// Adds d log sum / dx = 4 t (P - diag(P 1)) x, where P (symmetric) holds the pairs' shares of the
// sum.
static void row_shares(const View *v, int i, double log_sum, double factor) {
    float *s = v->s + (int64_t)i * v->N;
    float shift = (float)((log_sum / v->t + (double)v->q[i]) / 2);
    sr__rows(v->machine)->axpy(s, v->q, -0.5f, v->N);
    s[i] = (float)-sr__others_exp(v->machine, s, s, shift, (float)(2 * v->t), v->N, 1, i);
    sr__rows(v->machine)->scale(s, s, (float)factor, v->N);
}

static void add_view_gradient(const View *v, const float *x, double log_sum, double factor,
                              float *dx) {
    fill(v, x);
#pragma omp parallel for schedule(static) if ((int64_t)v->N * v->N > SR_CHUNK)
    for (int i = 0; i < v->N; i++)
        row_shares(v, i, log_sum, factor);
    sr_gemm(false, false, v->N, v->D, v->N, 1, v->s, v->N, x, v->D, 1, dx, v->D);
}

// ---- both

// Returns |a - b|^2 of float rows (D).
static double apart(const float *a, const float *b, int D) {
    double sum = 0;
    for (int d = 0; d < D; d++)
        sum += ((double)a[d] - (double)b[d]) * ((double)a[d] - (double)b[d]);
    return sum;
}

static void forward(const SrOpCall *call) {
    const SrAlignUniformParams *p = call->params;
    View v = view_of(call);
    const float *x = call->x[0].data, *y = x + (int64_t)v.N * v.D; // (N, D) each
    double *log_sum = call->saved, align = 0, pairs = (double)v.N * (v.N - 1);
    for (int64_t i = 0; i < v.N; i++)
        align += pow(apart(x + i * v.D, y + i * v.D, v.D), p->alpha / 2);
    log_sum[0] = view_log(&v, x);
    log_sum[1] = view_log(&v, y);
    *(float *)call->y.data =
        (float)(align / v.N + p->lambda / 2 * (log_sum[0] + log_sum[1] - 2 * log(pairs)));
}

// Views that coincide have gradient 0, as in PyTorch, also where alpha is below 2.
static void align_gradient(const View *v, double alpha, const float *x, double dy, float *dx) {
    int64_t half = (int64_t)v->N * v->D;
    for (int64_t i = 0; i < v->N; i++) {
        const float *a = x + i * v->D, *b = a + half;
        double square = apart(a, b, v->D),
               factor = square > 0 ? alpha * pow(square, alpha / 2 - 1) * dy / v->N : 0;
        for (int64_t d = 0; d < v->D; d++) {
            float g = (float)(factor * ((double)a[d] - (double)b[d]));
            dx[i * v->D + d] = g;
            dx[half + i * v->D + d] = -g;
        }
    }
}

static void backward(const SrOpCall *call) {
    const SrAlignUniformParams *p = call->params;
    View v = view_of(call);
    const float *x = call->x[0].data; // (2 N, D)
    const double *log_sum = call->saved;
    float *dx = call->dx[0];
    double dy = (double)*call->dy;
    int64_t half = (int64_t)v.N * v.D;
    if (!dx)
        return;
    align_gradient(&v, p->alpha, x, dy, dx);
    for (int k = 0; k < 2; k++)
        add_view_gradient(&v, x + k * half, log_sum[k], 2 * p->lambda * p->t * dy, dx + k * half);
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    (void)params, (void)n_in, (void)y;
    return (int64_t)x[0].d[0] * x[0].d[0] * x[0].d[1];
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(12, 5)}, false},
    {"{alpha: 1, t: 0.5}", 1, {SR_SHAPE(10, 3)}, false},
    {"{alpha: 3.5, lambda: 0.3, t: 4}", 1, {SR_SHAPE(8, 4)}, false},
    {"{t: 16}", 1, {SR_SHAPE(6, 16)}, false}, // every term of the sum is below a float's range
    {"{t: 0.1}", 1, {SR_SHAPE(130, 16)}, false},
    {"{}", 1, {SR_SHAPE(4, 2)}, false},
};

const SrOp sr_op_align_uniform = {
    .name = "align_uniform",
    .help = "Distance between two views, and how evenly the images of each view are spread.",
    .options = options,
    .params_bytes = sizeof(SrAlignUniformParams),
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
