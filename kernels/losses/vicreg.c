// vicreg: variance, invariance and covariance of embeddings x (2 N, D), the rows of view 0 before
// those of view 1 (Bardes, Ponce and LeCun, "VICReg", ICLR 2022, arXiv:2105.04906, eq. 1 to 6):
//
//   sim_coeff s(Z, Z') + std_coeff (v(Z) + v(Z')) + cov_coeff (c(Z) + c(Z'))
//   v = mean_j max(0, gamma - sqrt(Var(z_j) + eps)),  c = sum_{i != j} C_ij^2 / D
//   variances over N - 1
//
// s is the mean over images of |z - z'|^2.  The authors' program also takes the mean over features,
// and halves v.
#include "kernels/losses/vicreg.h"

#include <math.h>
#include <stddef.h>

#include "base/mem.h"
#include "kernels/core/gemm.h"
#include "kernels/core/op_util.h"
#include "kernels/losses/columns.h"

#define FIELD(f) offsetof(SrVicregParams, f)
static const SrOption options[] = {
    {"sim_coeff", SR_OPT_FLOAT, FIELD(sim_coeff), "25", 0, 1e6,
     .help = "Weight of the invariance term."},
    {"std_coeff", SR_OPT_FLOAT, FIELD(std_coeff), "25", 0, 1e6,
     .help = "Weight of the variance term."},
    {"cov_coeff", SR_OPT_FLOAT, FIELD(cov_coeff), "1", 0, 1e6,
     .help = "Weight of the covariance term."},
    {"gamma", SR_OPT_FLOAT, FIELD(gamma), "1", 0, 1e6,
     .help = "Standard deviation that each feature is kept above."},
    {"eps", SR_OPT_FLOAT, FIELD(eps), "1e-4", 1e-12, 1, .help = "Number added to variances."},
    {"paper", SR_OPT_BOOL, FIELD(paper), "False", .help = "Use the sums of the paper."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    return sr__two_views_infer("vicreg", x, n_in, y);
}

// Saved: means and variances, float (2, 2, D).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return 4 * sizeof(float) * (size_t)x[0].d[1];
}

// Scratch: one view's centred rows (N, D) and covariance (D, D).
static size_t scratch_bytes(const SrOpSite *site) {
    size_t N = (size_t)site->x[0].d[0] / 2, D = (size_t)site->x[0].d[1];
    return sizeof(float) * (N * D + D * D);
}

// Return the factor on |z - z'|^2 summed over everything, and on one view's v.
static double sim_factor(const SrVicregParams *p, int N, int D) {
    return p->sim_coeff / N / (p->paper ? 1 : D);
}
static double std_factor(const SrVicregParams *p) { return p->std_coeff * (p->paper ? 1 : 0.5); }

// Computes the covariance of one view into C, and the view's centred rows into z.
static void covariance(const float *x, int N, int D, const float *mean, float *z, float *C) {
    sr__columns_center(z, x, N, D, mean, NULL);
    sr_gemm(true, false, D, D, N, 1.0f / (float)(N - 1), z, D, z, D, 0, C, D);
}

static double off_diagonal(const float *C, int D) {
    double sum = 0;
    for (int64_t i = 0; i < D; i++)
        for (int64_t j = 0; j < D; j++)
            sum += i == j ? 0 : (double)C[i * D + j] * (double)C[i * D + j];
    return sum;
}

static void forward(const SrOpCall *call) {
    const SrVicregParams *p = call->params;
    int N = call->x[0].shape.d[0] / 2, D = call->x[0].shape.d[1];
    const float *x = call->x[0].data; // (2 N, D)
    float *z = call->scratch, *C = z + (int64_t)N * D;
    double loss = 0, sim = 0;
    for (int v = 0; v < 2; v++) {
        float *mean = (float *)call->saved + (int64_t)v * 2 * D, *var = mean + D;
        const float *view = x + (int64_t)v * N * D;
        sr__column_moments(view, N, D, 1, mean, var);
        for (int d = 0; d < D; d++)
            loss += std_factor(p) / D * fmax(0, p->gamma - sqrt((double)var[d] + p->eps));
        covariance(view, N, D, mean, z, C);
        loss += p->cov_coeff / D * off_diagonal(C, D);
    }
    for (int64_t i = 0; i < (int64_t)N * D; i++) {
        double away = (double)x[i] - (double)x[(int64_t)N * D + i];
        sim += away * away;
    }
    *(float *)call->y.data = (float)(loss + sim_factor(p, N, D) * sim);
}

// Adds 2 z dC / (N - 1), with dC = 2 cov_coeff / D C off the diagonal, and -std_factor / D z / ((N
// - 1) sqrt(var + eps)) for features below deviation gamma.  Both have mean 0 over the rows, so
// centring adds nothing.
static void view_gradient(const SrVicregParams *p, float *dx, float *z, float *C, const float *var,
                          int N, int D, double dy) {
    double cov = 4 * p->cov_coeff / D / (N - 1) * dy;
    for (int64_t i = 0; i < D; i++)
        for (int64_t j = 0; j < D; j++)
            C[i * D + j] *= (float)cov;
    for (int64_t i = 0; i < D; i++) {
        double deviation = sqrt((double)var[i] + p->eps);
        C[i * D + i] =
            deviation < p->gamma ? (float)(-std_factor(p) / D / (N - 1) / deviation * dy) : 0;
    }
    sr_gemm(false, false, N, D, D, 1, z, D, C, D, 1, dx, D);
}

static void backward(const SrOpCall *call) {
    const SrVicregParams *p = call->params;
    int N = call->x[0].shape.d[0] / 2, D = call->x[0].shape.d[1];
    const float *x = call->x[0].data; // (2 N, D)
    float *dx = call->dx[0], *z = call->scratch, *C = z + (int64_t)N * D;
    int64_t half = (int64_t)N * D;
    double dy = (double)*call->dy;
    float sim = (float)(2 * sim_factor(p, N, D) * dy);
    if (!dx)
        return;
    for (int64_t i = 0; i < half; i++) {
        dx[i] = sim * (x[i] - x[half + i]);
        dx[half + i] = -dx[i];
    }
    for (int v = 0; v < 2; v++) {
        const float *mean = (const float *)call->saved + (int64_t)v * 2 * D;
        covariance(x + v * half, N, D, mean, z, C);
        view_gradient(p, dx + v * half, z, C, mean + D, N, D, dy);
    }
}

static double reference_view(const SrVicregParams *p, const double *x, int N, int D) {
    double loss = 0;
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) {
            double mi = 0, mj = 0, c = 0;
            for (int n = 0; n < N; n++) {
                mi += x[n * D + i] / N;
                mj += x[n * D + j] / N;
            }
            for (int n = 0; n < N; n++)
                c += (x[n * D + i] - mi) * (x[n * D + j] - mj) / (N - 1);
            loss += i == j ? std_factor(p) / D * fmax(0, p->gamma - sqrt(c + p->eps))
                           : p->cov_coeff / D * c * c;
        }
    return loss;
}

static void reference(const SrRefCall *call) {
    const SrVicregParams *p = call->params;
    int N = call->x_shape[0].d[0] / 2, D = call->x_shape[0].d[1];
    const double *a = call->x[0], *b = a + (int64_t)N * D;
    double sim = 0;
    for (int i = 0; i < N * D; i++)
        sim += (a[i] - b[i]) * (a[i] - b[i]);
    call->y[0] =
        reference_view(p, a, N, D) + reference_view(p, b, N, D) + sim_factor(p, N, D) * sim;
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(12, 5)}, false},
    {"{paper: True, cov_coeff: 3}", 1, {SR_SHAPE(16, 7)}, false},
    {"{gamma: 1.5, eps: 0.1}", 1, {SR_SHAPE(12, 4)}, false},
    {"{cov_coeff: 0}", 1, {SR_SHAPE(10, 3)}, false},
};

const SrOp sr_op_vicreg = {
    .name = "vicreg",
    .help = "Variance, invariance and covariance of two views.",
    .options = options,
    .params_bytes = sizeof(SrVicregParams),
    .min_in = 1,
    .max_in = 1,
    .infer = infer,
    .reads = sr__reads_x,
    .saved_bytes = saved_bytes,
    .scratch_bytes = scratch_bytes,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
