// frobenius_log: how unevenly the rows of a view fill their directions: the negative Renyi entropy
// of order 2 of the spectrum (Skean et al., "FroSSL: Frobenius norm minimization for efficient
// multiview self-supervised learning", ECCV 2024, arXiv:2310.02903, eq. 3).  x (V N, D) is
// view-major, Z_v (N, D) the rows of view v:
//
//   y = sum over v of log( |K_v|_F^2 / trace(K_v)^2 ),  K_v = Z_v Z_v^T
//
// Z^T Z has the same norm and trace; the smaller of the two is formed.
#include "kernels/losses/views/views.h"

#include <math.h>
#include <stddef.h>

#include "kernels/core/gemm.h"
#include "kernels/core/op_util.h"

static const SrOption options[] = {
    SR_VIEWS_ROW(SrViewsParams),
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrViewsParams *p = params;
    return sr__views_infer("frobenius_log", x, n_in, p->num_views, y);
}

static size_t scratch_bytes(const SrOpSite *site) {
    const SrViewsParams *p = site->params;
    size_t m = (size_t)SR_MIN(site->x[0].d[0] / p->num_views, site->x[0].d[1]);
    return m * m * sizeof(float);
}

typedef struct {
    int N, D, m;
    bool rows; // K is Z Z^T, and not Z^T Z
    float *K;  // (m, m)
    double square, trace;
} Spectrum;

// One view after the other: their products run on all threads.
static Spectrum spectrum_of(const SrOpCall *call, int v) {
    const SrViewsParams *p = call->params;
    Spectrum s = {.N = call->x[0].shape.d[0] / p->num_views, .D = call->x[0].shape.d[1]};
    const float *z = (const float *)call->x[0].data + (int64_t)v * s.N * s.D;
    s.rows = s.N <= s.D;
    s.m = SR_MIN(s.N, s.D);
    s.K = call->scratch;
    sr_gemm(!s.rows, s.rows, s.m, s.m, s.rows ? s.D : s.N, 1, z, s.D, z, s.D, 0, s.K, s.m);
    for (int64_t k = 0; k < (int64_t)s.m * s.m; k++)
        s.square += (double)s.K[k] * (double)s.K[k];
    for (int64_t i = 0; i < s.m; i++)
        s.trace += (double)s.K[i * s.m + i];
    // Rows of zeros have no directions, and no gradient.
    s.square = fmax(s.square, 1e-30);
    s.trace = fmax(s.trace, 1e-15);
    return s;
}

static void forward(const SrOpCall *call) {
    const SrViewsParams *p = call->params;
    double sum = 0;
    for (int v = 0; v < p->num_views; v++) {
        Spectrum s = spectrum_of(call, v);
        sum += log(s.square) - 2 * log(s.trace);
    }
    *(float *)call->y.data = (float)sum;
}

// d log |K|^2 / dZ = 4 K Z / |K|^2 and d log trace(K) / dZ = 2 Z / trace(K).
static void backward(const SrOpCall *call) {
    const SrViewsParams *p = call->params;
    for (int v = 0; v < (call->dx[0] ? p->num_views : 0); v++) {
        Spectrum s = spectrum_of(call, v);
        int64_t n = (int64_t)s.N * s.D;
        const float *z = (const float *)call->x[0].data + v * n;
        float *dz = call->dx[0] + v * n, a = (float)(4 * (double)call->dy[0] / s.square),
              b = (float)(4 * (double)call->dy[0] / s.trace);
        if (s.rows)
            sr_gemm(false, false, s.m, s.D, s.m, a, s.K, s.m, z, s.D, 0, dz, s.D);
        else
            sr_gemm(false, false, s.N, s.m, s.m, a, z, s.D, s.K, s.m, 0, dz, s.D);
        for (int64_t k = 0; k < n; k++)
            dz[k] -= b * z[k];
    }
}

static void reference(const SrRefCall *call) {
    const SrViewsParams *p = call->params;
    int V = p->num_views, N = call->x_shape[0].d[0] / V, D = call->x_shape[0].d[1];
    call->y[0] = 0;
    for (int v = 0; v < V; v++) {
        const double *z = call->x[0] + (int64_t)v * N * D;
        double square = 0, trace = 0;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                double k = 0;
                for (int d = 0; d < D; d++)
                    k += z[i * D + d] * z[j * D + d];
                square += k * k;
                trace += i == j ? k : 0;
            }
        call->y[0] += log(square) - 2 * log(trace);
    }
}

static const SrOpCase cases[] = {
    {"{num_views: 2}", 1, {SR_SHAPE(6, 5)}, false},
    {"{num_views: 1}", 1, {SR_SHAPE(9, 4)}, false},
    {"{num_views: 3}", 1, {SR_SHAPE(12, 4)}, false},
};

const SrOp sr_op_frobenius_log = {
    .name = "frobenius_log",
    .help = "Negative entropy of the spectrum of a view's rows: FroSSL.",
    .options = options,
    .params_bytes = sizeof(SrViewsParams),
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
