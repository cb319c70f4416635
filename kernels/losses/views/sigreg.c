// sigreg: how far embeddings are from an isotropic Gaussian (Balestriero and LeCun, "LeJEPA",
// arXiv:2511.08544, section 4: the Epps-Pulley statistic of projections).  x (V N, D), view-major;
// directions (D, S), columns of length 1.  With u = x a for each view and direction a:
//
//   T = N integral over t of |phi(t) - e(t)|^2 e(t)
//   phi(t) = mean over rows of exp(i t u),  e(t) = exp(-t^2 / 2)
//
// by the trapezoid rule over `knots` points of [-t_max, t_max]; y is the mean of T over views and
// directions.  Where x[1] repeats the directions below each other, the first (D, S) is used.
#include "kernels/losses/views/sigreg.h"

#include <math.h>
#include <stddef.h>

#include "kernels/core/gemm.h"
#include "kernels/core/op_util.h"
#include "kernels/losses/views/views.h"

#define FIELD(f) offsetof(SrSigregParams, f)
static const SrOption options[] = {
    SR_VIEWS_ROW(SrSigregParams),
    {"knots", SR_OPT_INT, FIELD(knots), "17", 2, 256,
     .help = "Number of points of the numerical integral."},
    {"t_max", SR_OPT_FLOAT, FIELD(t_max), "5", 1e-3, 1e3, .help = "Upper limit of the integral."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrSigregParams *p = params;
    SR_TRY(sr__expect_rank("sigreg", x, n_in, 2, 2));
    if (x[1].rank != 2 || x[1].d[0] % x[0].d[1] != 0 || x[0].d[0] % p->num_views != 0)
        return sr__shape_fail("sigreg", x, n_in, "rows of %d views, and directions (D, S)",
                              p->num_views);
    *y = SR_SCALAR;
    return SR_OK;
}

static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1);
}

typedef struct {
    int V, N, D, S, knots;
    double step, t0;
    float *u;          // (V N, S): projections; in the backward their gradients
    double *statistic; // (V, S)
} Work;

static size_t scratch_bytes(const SrOpSite *site) {
    const SrSigregParams *p = site->params;
    size_t S = (size_t)site->x[1].d[1];
    return (size_t)p->num_views * S * sizeof(double) + (size_t)site->x[0].d[0] * S * sizeof(float);
}

static Work work_of(const SrOpCall *call) {
    const SrSigregParams *p = call->params;
    Work w = {.V = p->num_views, .D = call->x[0].shape.d[1], .S = call->x[1].shape.d[1]};
    w.N = call->x[0].shape.d[0] / w.V;
    w.knots = p->knots;
    w.t0 = -p->t_max;
    w.step = 2 * p->t_max / (p->knots - 1);
    w.statistic = call->scratch;
    w.u = (float *)(w.statistic + (size_t)w.V * (size_t)w.S);
    sr_gemm(false, false, w.V * w.N, w.S, w.D, 1, call->x[0].data, w.D, call->x[1].data, w.S, 0,
            w.u, w.S);
    return w;
}

// Returns the weight of knot k in the integral, which includes e(t).
static double weight(const Work *w, int k, double *e) {
    double t = w->t0 + k * w->step;
    *e = exp(-t * t / 2);
    return (k == 0 || k == w->knots - 1 ? 0.5 : 1) * w->step * *e;
}

enum { MAX_KNOTS = 256 };

// Computes phi at all knots of one view and direction: angles grow by step u from knot to knot.
static void characteristic(const Work *w, const float *u, double *re, double *im) {
    for (int k = 0; k < w->knots; k++)
        re[k] = im[k] = 0;
    for (int n = 0; n < w->N; n++) {
        double x = (double)u[(int64_t)n * w->S], turn_re = cos(w->step * x),
               turn_im = sin(w->step * x), a = cos(w->t0 * x), b = sin(w->t0 * x);
        for (int k = 0; k < w->knots; k++) {
            re[k] += a;
            im[k] += b;
            double next = a * turn_re - b * turn_im;
            b = a * turn_im + b * turn_re;
            a = next;
        }
    }
    for (int k = 0; k < w->knots; k++) {
        re[k] /= w->N;
        im[k] /= w->N;
    }
}

static double one_statistic(const Work *w, const float *u) {
    double re[MAX_KNOTS], im[MAX_KNOTS], sum = 0, e;
    characteristic(w, u, re, im);
    for (int k = 0; k < w->knots; k++) {
        double f = weight(w, k, &e);
        sum += f * ((re[k] - e) * (re[k] - e) + im[k] * im[k]);
    }
    return w->N * sum;
}

static void forward(const SrOpCall *call) {
    Work w = work_of(call);
    double total = 0;
    int n = w.V * w.S;
#pragma omp parallel for schedule(static) if ((int64_t)n * w.N > SR_CHUNK / 16)
    for (int j = 0; j < n; j++)
        w.statistic[j] = one_statistic(&w, w.u + (int64_t)(j / w.S) * w.N * w.S + j % w.S);
    for (int j = 0; j < n; j++)
        total += w.statistic[j];
    *(float *)call->y.data = (float)(total / n);
}

// Replaces u by dT/du_n = sum_k 2 f_k t_k ( im cos(t u) - (re - e) sin(t u) ).
static void one_gradient(const Work *w, float *u, double factor) {
    double re[MAX_KNOTS], im[MAX_KNOTS], e;
    characteristic(w, u, re, im);
    for (int k = 0; k < w->knots; k++) {
        double f = 2 * factor * weight(w, k, &e) * (w->t0 + k * w->step);
        re[k] = f * (re[k] - e);
        im[k] *= f;
    }
    for (int n = 0; n < w->N; n++) {
        double x = (double)u[(int64_t)n * w->S], turn_re = cos(w->step * x),
               turn_im = sin(w->step * x), a = cos(w->t0 * x), b = sin(w->t0 * x), sum = 0;
        for (int k = 0; k < w->knots; k++) {
            sum += im[k] * a - re[k] * b;
            double next = a * turn_re - b * turn_im;
            b = a * turn_im + b * turn_re;
            a = next;
        }
        u[(int64_t)n * w->S] = (float)sum;
    }
}

static void backward(const SrOpCall *call) {
    Work w = work_of(call);
    int n = w.V * w.S, rows = w.V * w.N;
    double factor = (double)call->dy[0] / n;
#pragma omp parallel for schedule(static) if ((int64_t)n * w.N > SR_CHUNK / 16)
    for (int j = 0; j < n; j++)
        one_gradient(&w, w.u + (int64_t)(j / w.S) * w.N * w.S + j % w.S, factor);
    if (call->dx[0])
        sr_gemm(false, true, rows, w.D, w.S, 1, w.u, w.S, call->x[1].data, w.S, 0, call->dx[0],
                w.D);
    if (call->dx[1]) {
        sr__zero(call->dx[1], sr_shape_count(call->x[1].shape));
        sr_gemm(true, false, w.D, w.S, rows, 1, call->x[0].data, w.D, w.u, w.S, 0, call->dx[1],
                w.S);
    }
}

static void reference(const SrRefCall *call) {
    const SrSigregParams *p = call->params;
    int V = p->num_views, N = call->x_shape[0].d[0] / V, D = call->x_shape[0].d[1],
        S = call->x_shape[1].d[1];
    double total = 0, step = 2 * p->t_max / (p->knots - 1);
    for (int j = 0; j < V * S * p->knots; j++) {
        int k = j % p->knots, s = j / p->knots % S, v = j / p->knots / S;
        double t = -p->t_max + k * step, e = exp(-t * t / 2), re = 0, im = 0;
        for (int n = 0; n < N; n++) {
            double u = 0;
            for (int d = 0; d < D; d++)
                u += call->x[0][((int64_t)v * N + n) * D + d] * call->x[1][(int64_t)d * S + s];
            re += cos(t * u) / N;
            im += sin(t * u) / N;
        }
        total += (k == 0 || k == p->knots - 1 ? 0.5 : 1) * step * e * N *
                 ((re - e) * (re - e) + im * im);
    }
    call->y[0] = total / (V * S);
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    const SrSigregParams *p = params;
    (void)n_in, (void)y;
    return (int64_t)x[0].d[0] * x[1].d[1] * (2 * (int64_t)x[0].d[1] + 8 * (int64_t)p->knots);
}

static const SrOpCase cases[] = {
    {"{num_views: 2, knots: 5, t_max: 2}", 2, {SR_SHAPE(6, 3), SR_SHAPE(3, 4)}, false},
    {"{num_views: 1}", 2, {SR_SHAPE(20, 5), SR_SHAPE(5, 7)}, false},
};

const SrOp sr_op_sigreg = {
    .name = "sigreg",
    .help = "Distance of embeddings from an isotropic Gaussian, by random projections: LeJEPA.",
    .options = options,
    .params_bytes = sizeof(SrSigregParams),
    .min_in = 2,
    .max_in = 2,
    .infer = infer,
    .reads = reads,
    .scratch_bytes = scratch_bytes,
    .flops = flops,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
