// barlow_twins: the loss of "Barlow Twins" (Zbontar et al., ICML 2021, arXiv:2103.03230, eq. 1 and
// 2), of embeddings x (2 N, D), the rows of view 0 before those of view 1:
//
//   C = za^T zb / N,   loss = scale (sum_i (1 - C_ii)^2 + lambda sum_{i != j} C_ij^2)
//
// za and zb are the views' rows with mean 0 and variance 1 per feature (biased, 1e-5 added).  The
// paper takes statistics of each view, VISSL takes them of both views together.
#include "kernels/losses/barlow_twins.h"

#include <math.h>
#include <stddef.h>

#include "base/mem.h"
#include "kernels/core/gemm.h"
#include "kernels/core/op_util.h"
#include "kernels/losses/columns.h"

#define EPS 1e-5

#define FIELD(f) offsetof(SrBarlowTwinsParams, f)
static const SrOption options[] = {
    {"lambda", SR_OPT_FLOAT, FIELD(lambda), "0.0051", 0, 1e6,
     .help = "Weight of the entries off the diagonal."},
    {"scale", SR_OPT_FLOAT, FIELD(scale), "0.024", 0, 1e6, .help = "Factor of the whole loss."},
    {"per_view", SR_OPT_BOOL, FIELD(per_view), "False", .help = "Use the statistics of each view."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    return sr__two_views_infer("barlow_twins", x, n_in, y);
}

typedef struct {
    int N, D, parts;          // images; features; 2 where each view has its own statistics, else 1
    float *mean, *invstd, *C; // saved: (parts, D), (parts, D), (D, D)
    float *z, *dC;            // scratch: (2 N, D), (D, D)
} Call;

static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    size_t D = (size_t)x[0].d[1];
    return sizeof(float) * (4 * D + D * D);
}

static size_t scratch_bytes(const SrOpSite *site) {
    size_t rows = (size_t)site->x[0].d[0], D = (size_t)site->x[0].d[1];
    return sizeof(float) * (rows * D + D * D);
}

static Call call_of(const SrOpCall *call) {
    const SrBarlowTwinsParams *p = call->params;
    Call c = {.N = call->x[0].shape.d[0] / 2, .D = call->x[0].shape.d[1]};
    c.parts = p->per_view ? 2 : 1;
    c.mean = call->saved;
    c.invstd = c.mean + 2 * (int64_t)c.D;
    c.C = c.invstd + 2 * (int64_t)c.D;
    c.z = call->scratch;
    c.dC = c.z + 2 * (int64_t)c.N * c.D;
    return c;
}

static void normalize(const Call *c, const float *x, bool again) {
    int64_t rows = 2 * (int64_t)c->N / c->parts;
    for (int v = 0; v < c->parts; v++) {
        float *mean = c->mean + (int64_t)v * c->D, *invstd = c->invstd + (int64_t)v * c->D;
        const float *from = x + v * rows * c->D;
        if (!again) {
            sr__column_moments(from, rows, c->D, 0, mean, invstd);
            for (int d = 0; d < c->D; d++)
                invstd[d] = (float)(1 / sqrt((double)invstd[d] + EPS));
        }
        sr__columns_center(c->z + v * rows * c->D, from, rows, c->D, mean, invstd);
    }
}

static double loss_of(const SrBarlowTwinsParams *p, const float *C, int D) {
    double on = 0, off = 0;
    for (int64_t i = 0; i < D; i++)
        for (int64_t j = 0; j < D; j++) {
            double c = (double)C[i * D + j];
            if (i == j)
                on += (1 - c) * (1 - c);
            else
                off += c * c;
        }
    return p->scale * (on + p->lambda * off);
}

static void forward(const SrOpCall *call) {
    Call c = call_of(call);
    normalize(&c, call->x[0].data, call->again);
    sr_gemm(true, false, c.D, c.D, c.N, 1.0f / (float)c.N, c.z, c.D, c.z + (int64_t)c.N * c.D, c.D,
            0, c.C, c.D);
    *(float *)call->y.data = (float)loss_of(call->params, c.C, c.D);
}

// dza = zb dC^T / N, dzb = za dC / N, then back through the statistics.
static void backward(const SrOpCall *call) {
    const SrBarlowTwinsParams *p = call->params;
    Call c = call_of(call);
    float *dx = call->dx[0], scale = (float)(2 * p->scale * (double)*call->dy);
    int64_t half = (int64_t)c.N * c.D, rows = 2 * (int64_t)c.N / c.parts;
    if (!dx)
        return;
    normalize(&c, call->x[0].data, true);
    for (int64_t i = 0; i < c.D; i++)
        for (int64_t j = 0; j < c.D; j++) {
            float k = c.C[i * c.D + j];
            c.dC[i * c.D + j] = scale * (i == j ? k - 1 : (float)p->lambda * k);
        }
    sr_gemm(false, true, c.N, c.D, c.D, 1.0f / (float)c.N, c.z + half, c.D, c.dC, c.D, 0, dx, c.D);
    sr_gemm(false, false, c.N, c.D, c.D, 1.0f / (float)c.N, c.z, c.D, c.dC, c.D, 0, dx + half, c.D);
    for (int v = 0; v < c.parts; v++) {
        int64_t at = v * rows * c.D;
        sr__columns_normalize_grad(dx + at, dx + at, c.z + at, rows, c.D,
                                   c.invstd + (int64_t)v * c.D);
    }
}

// Computes z of one column of rows [first, first + rows).
static void reference_column(const double *x, double *z, int64_t first, int64_t rows, int D,
                             int d) {
    double mean = 0, var = 0;
    for (int64_t r = first; r < first + rows; r++)
        mean += x[r * D + d] / (double)rows;
    for (int64_t r = first; r < first + rows; r++)
        var += (x[r * D + d] - mean) * (x[r * D + d] - mean) / (double)rows;
    for (int64_t r = first; r < first + rows; r++)
        z[r * D + d] = (x[r * D + d] - mean) / sqrt(var + EPS);
}

static void reference(const SrRefCall *call) {
    const SrBarlowTwinsParams *p = call->params;
    int N = call->x_shape[0].d[0] / 2, D = call->x_shape[0].d[1], parts = p->per_view ? 2 : 1;
    double *z = sr_calloc((size_t)(2 * N) * (size_t)D, sizeof *z), loss = 0;
    for (int v = 0; z && v < parts; v++)
        for (int d = 0; d < D; d++)
            reference_column(call->x[0], z, v * 2 * N / parts, 2 * N / parts, D, d);
    for (int i = 0; z && i < D; i++)
        for (int j = 0; j < D; j++) {
            double c = 0;
            for (int n = 0; n < N; n++)
                c += z[(int64_t)n * D + i] * z[(int64_t)(N + n) * D + j] / N;
            loss += i == j ? (1 - c) * (1 - c) : p->lambda * c * c;
        }
    call->y[0] = p->scale * loss;
    sr_free(z);
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(12, 5)}, false},
    {"{lambda: 0.1, scale: 1, per_view: True}", 1, {SR_SHAPE(20, 7)}, false},
};

const SrOp sr_op_barlow_twins = {
    .name = "barlow_twins",
    .help = "Distance of the cross-correlation of two views from the identity.",
    .options = options,
    .params_bytes = sizeof(SrBarlowTwinsParams),
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
