// coding_rate: the bits (in nats) that code the rows of a view up to a precision, which grow with
// the directions that the rows fill (Yu et al., "Learning diverse and discriminative
// representations via the principle of maximal coding rate reduction", NeurIPS 2020,
// arXiv:2006.08558, eq. 2).  x (V N, D), view-major, Z_v (N, D) the rows of view v:
//
//   y = mean over v of 1/2 logdet(I + a Z_v^T Z_v),  a = D / (N eps)
//
// The determinant is that of the smaller of I + a Z^T Z and I + a Z Z^T, whose factor is in double.
#include "kernels/losses/views/coding_rate.h"

#include <math.h>
#include <stddef.h>

#include "base/mem.h"
#include "kernels/core/cholesky.h"
#include "kernels/core/gemm.h"
#include "kernels/core/op_util.h"
#include "kernels/losses/views/views.h"

#define FIELD(f) offsetof(SrCodingRateParams, f)
static const SrOption options[] = {
    SR_VIEWS_ROW(SrCodingRateParams),
    {"eps", SR_OPT_FLOAT, FIELD(eps), "0.2", 1e-9, 1e9, .help = "Squared precision of the code."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrCodingRateParams *p = params;
    return sr__views_infer("coding_rate", x, n_in, p->num_views, y);
}

// Scratch: the rates of all views, the factor and the inverse of each in double, and after all
// doubles the product of these two in float.
static size_t scratch_bytes(const SrOpSite *site) {
    const SrCodingRateParams *p = site->params;
    size_t m = (size_t)SR_MIN(site->x[0].d[0] / p->num_views, site->x[0].d[1]);
    return (size_t)p->num_views * (sizeof(double) + m * m * (2 * sizeof(double) + sizeof(float)));
}

typedef struct {
    int V, N, D, m;
    bool rows; // the m x m matrix is Z Z^T
    double a, *L, *W;
    float *G;
    const float *z; // (N, D)
} View;

static View view_of(const SrOpCall *call, int v) {
    const SrCodingRateParams *p = call->params;
    View w = {.V = p->num_views, .D = call->x[0].shape.d[1]};
    w.N = call->x[0].shape.d[0] / w.V;
    w.m = SR_MIN(w.N, w.D);
    w.rows = w.N <= w.D;
    w.a = w.D / (w.N * p->eps);
    int64_t square = (int64_t)w.m * w.m;
    double *matrices = (double *)call->scratch + w.V;
    w.L = matrices + v * 2 * square;
    w.W = w.L + square;
    w.G = (float *)(matrices + w.V * 2 * square) + v * square;
    w.z = (const float *)call->x[0].data + (int64_t)v * w.N * w.D;
    return w;
}

// Factors I + a Z Z^T, or I + a Z^T Z, and returns half the logarithm of its determinant.
static double factor(const View *w) {
    int m = w->m;
    double rate = 0;
    sr_gemm_here(!w->rows, w->rows, m, m, w->rows ? w->D : w->N, 1, w->z, w->D, w->z, w->D, 0, w->G,
                 m);
    for (int64_t k = 0; k < (int64_t)m * m; k++)
        w->L[k] = w->a * (double)w->G[k] + (k % (m + 1) == 0 ? 1 : 0);
    sr__cholesky(w->L, m);
    for (int i = 0; i < m; i++)
        rate += log(w->L[(int64_t)i * m + i]);
    return rate;
}

static void forward(const SrOpCall *call) {
    const SrCodingRateParams *p = call->params;
    double *rate = call->scratch, sum = 0;
#pragma omp parallel for schedule(static) if (p->num_views > 1)
    for (int v = 0; v < p->num_views; v++) {
        View w = view_of(call, v);
        rate[v] = factor(&w);
    }
    for (int v = 0; v < p->num_views; v++)
        sum += rate[v];
    *(float *)call->y.data = (float)(sum / p->num_views);
}

// dy / dZ = a (I + a Z Z^T)^-1 Z = a Z (I + a Z^T Z)^-1, and the inverse is W^T W with W = L^-1.
static void backward_view(const View *w, double dy, float *dz) {
    int m = w->m;
    (void)factor(w);
    sr__lower_inverse(w->L, w->W, m);
    for (int64_t r = 0; r < m; r++)
        for (int64_t c = 0; c <= r; c++) {
            double s = 0;
            for (int64_t k = r; k < m; k++)
                s += w->W[k * m + r] * w->W[k * m + c];
            w->G[r * m + c] = w->G[c * m + r] = (float)s;
        }
    float factor_of_z = (float)(dy * w->a / w->V);
    if (w->rows)
        sr_gemm_here(false, false, m, w->D, m, factor_of_z, w->G, m, w->z, w->D, 0, dz, w->D);
    else
        sr_gemm_here(false, false, w->N, m, m, factor_of_z, w->z, w->D, w->G, m, 0, dz, w->D);
}

static void backward(const SrOpCall *call) {
    const SrCodingRateParams *p = call->params;
    double dy = (double)call->dy[0];
    float *dx = call->dx[0];
#pragma omp parallel for schedule(static) if (p->num_views > 1)
    for (int v = 0; v < (dx ? p->num_views : 0); v++) {
        View w = view_of(call, v);
        backward_view(&w, dy, dx + (int64_t)v * w.N * w.D);
    }
}

// The determinant by Gauss's elimination of I + a Z^T Z, whatever N and D are.
static void reference(const SrRefCall *call) {
    const SrCodingRateParams *p = call->params;
    int V = p->num_views, N = call->x_shape[0].d[0] / V, D = call->x_shape[0].d[1];
    double *A = sr_alloc((size_t)D * (size_t)D * sizeof *A), total = 0;
    for (int v = 0; v < V; v++) {
        const double *z = call->x[0] + (int64_t)v * N * D;
        for (int r = 0; r < D; r++)
            for (int c = 0; c < D; c++) {
                A[r * D + c] = r == c;
                for (int n = 0; n < N; n++)
                    A[r * D + c] += D / (N * p->eps) * z[n * D + r] * z[n * D + c];
            }
        for (int k = 0; k < D; k++) {
            total += log(A[k * D + k]) / (2 * V);
            for (int r = k + 1; r < D; r++)
                for (int c = D - 1; c >= k; c--)
                    A[r * D + c] -= A[r * D + k] / A[k * D + k] * A[k * D + c];
        }
    }
    sr_free(A);
    call->y[0] = total;
}

static const SrOpCase cases[] = {
    {"{num_views: 2, eps: 0.5}", 1, {SR_SHAPE(6, 5)}, false},
    {"{num_views: 1}", 1, {SR_SHAPE(9, 4)}, false},
    {"{num_views: 3, eps: 2}", 1, {SR_SHAPE(12, 4)}, false},
};

const SrOp sr_op_coding_rate = {
    .name = "coding_rate",
    .help = "Coding rate of a view's rows: EMP-SSL, SimDINO.",
    .options = options,
    .params_bytes = sizeof(SrCodingRateParams),
    .min_in = 1,
    .max_in = 1,
    .infer = infer,
    .reads = sr__reads_x,
    .scratch_bytes = scratch_bytes,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
