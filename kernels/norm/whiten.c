// whiten: rows of x (G n, D) in groups of n, each centred and whitened by its own covariance
// (Ermolov et al., "Whitening for self-supervised representation learning", ICML 2021,
// arXiv:2007.06346, eq. 6 and 7):
//
//   y = W (x - mean),  W = L^-1,  L L^T = (1 - eps) Cov + eps I,  Cov over n - 1
//
// Everything is in double: L is close to singular where features go together, and D is small.
#include "kernels/norm/whiten.h"

#include <math.h>
#include <stddef.h>

#include "base/mem.h"
#include "kernels/core/cholesky.h"
#include "kernels/core/op_util.h"

#define FIELD(f) offsetof(SrWhitenParams, f)
static const SrOption options[] = {
    {"rows", SR_OPT_INT, FIELD(rows), "128", 2, 1 << 20, .help = "Number of rows in a group."},
    {"eps", SR_OPT_FLOAT, FIELD(eps), "0.0", 0, 1,
     .help = "Share of the identity matrix that is mixed into the covariance."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrWhitenParams *p = params;
    SR_TRY(sr__expect_rank("whiten", x, n_in, 2, 2));
    if (x[0].d[0] % p->rows != 0)
        return sr__shape_fail("whiten", x, n_in, "groups of %d rows", p->rows);
    if (p->rows <= x[0].d[1] && p->eps <= 0)
        return sr__shape_fail("whiten", x, n_in,
                              "more rows per group than the %d features, or eps above 0: the "
                              "covariance of %d rows has no inverse",
                              x[0].d[1], p->rows);
    *y = x[0];
    return SR_OK;
}

// Scratch of a group: centred rows and their gradient (n, D), then four matrices (D, D).
static size_t group_doubles(const SrWhitenParams *p, int D) {
    return 2 * (size_t)p->rows * (size_t)D + 4 * (size_t)D * (size_t)D;
}

static size_t scratch_bytes(const SrOpSite *site) {
    const SrWhitenParams *p = site->params;
    return group_doubles(p, site->x[0].d[1]) * (size_t)(site->x[0].d[0] / p->rows) * sizeof(double);
}

typedef struct {
    int n, D;
    double eps;
    double *z, *dz;        // (n, D): x - mean, and the gradient by it
    double *L, *W, *a, *b; // (D, D)
} Group;

static Group group_of(const SrWhitenParams *p, int D, double *scratch, int g) {
    Group w = {.n = p->rows, .D = D, .eps = p->eps};
    w.z = scratch + (size_t)g * group_doubles(p, D);
    w.dz = w.z + (int64_t)w.n * D;
    w.L = w.dz + (int64_t)w.n * D;
    w.W = w.L + (int64_t)D * D;
    w.a = w.W + (int64_t)D * D;
    w.b = w.a + (int64_t)D * D;
    return w;
}

static void center(double *z, int n, int D) {
    for (int d = 0; d < D; d++) {
        double sum = 0;
        for (int i = 0; i < n; i++)
            sum += z[(int64_t)i * D + d];
        for (int i = 0; i < n; i++)
            z[(int64_t)i * D + d] -= sum / n;
    }
}

// Computes L of (1 - eps) Cov + eps I; above the diagonal it is 0.
static void factor(const Group *w) {
    int D = w->D;
    for (int64_t k = 0; k < (int64_t)D * D; k++)
        w->L[k] = k % (D + 1) == 0 ? w->eps : 0;
    for (int i = 0; i < w->n; i++)
        for (int r = 0; r < D; r++)
            for (int c = 0; c <= r; c++)
                w->L[r * D + c] +=
                    (1 - w->eps) / (w->n - 1) * w->z[(int64_t)i * D + r] * w->z[(int64_t)i * D + c];
    sr__cholesky(w->L, D);
}

static void whitening_of(const Group *w, const float *x) {
    for (int64_t k = 0; k < (int64_t)w->n * w->D; k++)
        w->z[k] = (double)x[k];
    center(w->z, w->n, w->D);
    factor(w);
    sr__lower_inverse(w->L, w->W, w->D);
}

static void forward_group(const Group *w, const float *x, float *y) {
    whitening_of(w, x);
    for (int i = 0; i < w->n; i++)
        for (int r = 0; r < w->D; r++) {
            double s = 0;
            for (int c = 0; c <= r; c++)
                s += w->W[r * w->D + c] * w->z[(int64_t)i * w->D + c];
            y[(int64_t)i * w->D + r] = (float)s;
        }
}

static void forward(const SrOpCall *call) {
    const SrWhitenParams *p = call->params;
    int D = call->x[0].shape.d[1], groups = call->x[0].shape.d[0] / p->rows;
    int64_t part = (int64_t)p->rows * D;
#pragma omp parallel for schedule(static) if (groups > 1 && part > SR_CHUNK)
    for (int g = 0; g < groups; g++) {
        Group w = group_of(p, D, call->scratch, g);
        forward_group(&w, (const float *)call->x[0].data + g * part,
                      (float *)call->y.data + g * part);
    }
}

// Computes out = op(A) B of square matrices.
static void multiply(double *out, const double *A, bool ta, const double *B, int D) {
    for (int r = 0; r < D; r++)
        for (int c = 0; c < D; c++) {
            double s = 0;
            for (int k = 0; k < D; k++)
                s += (ta ? A[k * D + r] : A[r * D + k]) * B[k * D + c];
            out[r * D + c] = s;
        }
}

// Computes dC of W = L^-1: dL = -tril(W^T dW W^T), dC = W^T Phi(L^T dL) W made symmetric.  Phi
// keeps the lower triangle and half of the diagonal (Murray, "Differentiation of the Cholesky
// decomposition", arXiv:1602.07527, eq. 10).  a: dW in, dC out.
static void covariance_gradient(const Group *w) {
    int D = w->D;
    multiply(w->b, w->W, true, w->a, D);
    for (int r = 0; r < D; r++)
        for (int c = 0; c < D; c++) {
            double s = 0;
            for (int k = 0; c <= r && k <= c; k++)
                s += w->b[r * D + k] * w->W[c * D + k];
            w->a[r * D + c] = -s;
        }
    multiply(w->b, w->L, true, w->a, D);
    for (int r = 0; r < D; r++)
        for (int c = r; c < D; c++)
            w->b[r * D + c] = r == c ? 0.5 * w->b[r * D + c] : 0;
    multiply(w->a, w->W, true, w->b, D);
    multiply(w->b, w->a, false, w->W, D);
    for (int r = 0; r < D; r++)
        for (int c = 0; c < D; c++)
            w->a[r * D + c] = 0.5 * (w->b[r * D + c] + w->b[c * D + r]);
}

static void backward_group(const Group *w, const float *x, const float *dy, float *dx) {
    int D = w->D;
    whitening_of(w, x);
    for (int r = 0; r < D; r++)
        for (int c = 0; c < D; c++) {
            double s = 0;
            for (int i = 0; i < w->n; i++)
                s += (double)dy[(int64_t)i * D + r] * w->z[(int64_t)i * D + c];
            w->a[r * D + c] = s;
        }
    covariance_gradient(w);
    for (int i = 0; i < w->n; i++)
        for (int c = 0; c < D; c++) {
            double s = 0, t = 0;
            for (int k = 0; k < D; k++) {
                s += (double)dy[(int64_t)i * D + k] * w->W[k * D + c];
                t += w->z[(int64_t)i * D + k] * w->a[k * D + c];
            }
            w->dz[(int64_t)i * D + c] = s + 2 * (1 - w->eps) / (w->n - 1) * t;
        }
    center(w->dz, w->n, D);
    for (int64_t k = 0; k < (int64_t)w->n * D; k++)
        dx[k] = (float)w->dz[k];
}

static void backward(const SrOpCall *call) {
    const SrWhitenParams *p = call->params;
    int D = call->x[0].shape.d[1], groups = call->x[0].shape.d[0] / p->rows;
    int64_t part = (int64_t)p->rows * D;
#pragma omp parallel for schedule(static) if (groups > 1 && part > SR_CHUNK)
    for (int g = 0; g < (call->dx[0] ? groups : 0); g++) {
        Group w = group_of(p, D, call->scratch, g);
        backward_group(&w, (const float *)call->x[0].data + g * part, call->dy + g * part,
                       call->dx[0] + g * part);
    }
}

// Solves by forward substitution, row by row.
static void reference_group(const SrWhitenParams *p, const double *x, double *y, int D) {
    Group w;
    double *scratch = sr_alloc(group_doubles(p, D) * sizeof(double));
    if (!scratch)
        return;
    w = group_of(p, D, scratch, 0);
    for (int64_t k = 0; k < (int64_t)w.n * D; k++)
        w.z[k] = x[k];
    center(w.z, w.n, D);
    factor(&w);
    for (int i = 0; i < w.n; i++)
        for (int r = 0; r < D; r++) {
            double s = w.z[(int64_t)i * D + r];
            for (int c = 0; c < r; c++)
                s -= w.L[r * D + c] * y[(int64_t)i * D + c];
            y[(int64_t)i * D + r] = s / w.L[r * D + r];
        }
    sr_free(scratch);
}

static void reference(const SrRefCall *call) {
    const SrWhitenParams *p = call->params;
    int D = call->x_shape[0].d[1];
    for (int g = 0; g < call->x_shape[0].d[0] / p->rows; g++)
        reference_group(p, call->x[0] + (int64_t)g * p->rows * D,
                        call->y + (int64_t)g * p->rows * D, D);
}

static const SrOpCase cases[] = {
    {"{rows: 8}", 1, {SR_SHAPE(8, 3)}, false},
    {"{rows: 12, eps: 0.25}", 1, {SR_SHAPE(24, 5)}, false},
};

const SrOp sr_op_whiten = {
    .name = "whiten",
    .help = "Whitens groups of rows, each by its own covariance: W-MSE.",
    .options = options,
    .params_bytes = sizeof(SrWhitenParams),
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
