// sliced_wasserstein: how far the shape of embeddings is from an isotropic Gaussian (Wu,
// Balestriero and Levine, "VISReg", arXiv:2606.02572: the term of shape).  Inputs are x (V N, D),
// view-major, rows of the same shape that give the scale, and directions (D, S), columns of
// length 1.  With z = (x - mean of the view) / deviation of the scale's view and, for each view and
// direction a, the sorted projections p_1 <= ... <= p_N of z a:
//
//   y = mean over views, directions and k of (p_k - q_k)^2
//
// q_k is the quantile k / (N + 1) of the normal distribution.  The method takes x itself, without
// gradient, as the scale.  Where x[2] repeats the directions below each other, the first (D, S) is
// used.
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/mem.h"
#include "kernels/core/gemm.h"
#include "kernels/core/op_util.h"
#include "kernels/losses/columns.h"
#include "kernels/losses/views/views.h"

static const SrOption options[] = {
    SR_VIEWS_ROW(SrViewsParams),
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrViewsParams *p = params;
    SR_TRY(sr__expect_rank("sliced_wasserstein", x, n_in, 2, 2));
    if (!sr_shape_equal(x[0], x[1]) || x[2].rank != 2 || x[2].d[0] % x[0].d[1] != 0 ||
        x[0].d[0] % p->num_views != 0)
        return sr__shape_fail("sliced_wasserstein", x, n_in,
                              "rows of %d views, twice, and directions (D, S)", p->num_views);
    *y = SR_SCALAR;
    return SR_OK;
}

static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0) | SR_READS_X(1) | SR_READS_X(2);
}

typedef struct {
    float value;
    int row; // within its view
} Place;

typedef struct {
    int V, N, D, S;
    double *quantile; // (N)
    double *distance; // (V S): sum of squares of a view and direction
    Place *place;     // (V S, N): projections of a view and direction, sorted
    float *z;         // (V N, D)
    float *dz;        // (V N, D)
    float *u;         // (V N, S): projections; in the backward their gradients
    float *mean, *deviation, *factor, *mean_of_scale; // (V, D) each
} Work;

// Places the parts of the scratch; base NULL only measures them.
static size_t place_parts(Work *w, char *base) {
    size_t at = 0, rows = (size_t)w->V * (size_t)w->N, columns = (size_t)w->V * (size_t)w->D;
    size_t slices = (size_t)w->V * (size_t)w->S;
#define PART(p, count) ((p) = (void *)(base ? base + at : NULL), at += (count) * sizeof *(p))
    PART(w->quantile, (size_t)w->N);
    PART(w->distance, slices);
    PART(w->place, slices * (size_t)w->N);
    PART(w->z, rows * (size_t)w->D);
    PART(w->dz, rows * (size_t)w->D);
    PART(w->u, rows * (size_t)w->S);
    PART(w->mean, columns);
    PART(w->deviation, columns);
    PART(w->factor, columns);
    PART(w->mean_of_scale, columns);
#undef PART
    return at;
}

static Work sizes(const void *params, SrShape x, SrShape directions) {
    const SrViewsParams *p = params;
    return (Work){.V = p->num_views, .N = x.d[0] / p->num_views, .D = x.d[1], .S = directions.d[1]};
}

static size_t scratch_bytes(const SrOpSite *site) {
    Work w = sizes(site->params, site->x[0], site->x[2]);
    return place_parts(&w, NULL);
}

// Returns the number below which a share p of the normal distribution lies, by halving.
static double normal_quantile(double p) {
    double low = -9, high = 9;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        *(erfc(-middle / sqrt(2)) / 2 < p ? &low : &high) = middle;
    }
    return (low + high) / 2;
}

static int by_value(const void *a, const void *b) {
    const Place *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->row - y->row;
}

// Sorts the projections of one view and direction.
static void sort_slice(const Work *w, int j) {
    Place *place = w->place + (int64_t)j * w->N;
    const float *u = w->u + (int64_t)(j / w->S) * w->N * w->S + j % w->S;
    double sum = 0;
    for (int n = 0; n < w->N; n++)
        place[n] = (Place){u[(int64_t)n * w->S], n};
    qsort(place, (size_t)w->N, sizeof *place, by_value);
    for (int k = 0; k < w->N; k++) {
        double away = (double)place[k].value - w->quantile[k];
        sum += away * away;
    }
    w->distance[j] = sum;
}

// Standardises, projects and sorts.
static Work work_of(const SrOpCall *call) {
    Work w = sizes(call->params, call->x[0].shape, call->x[2].shape);
    place_parts(&w, call->scratch);
    for (int k = 0; k < w.N; k++)
        w.quantile[k] = normal_quantile((k + 1) / (w.N + 1.0));
    sr__views_moments(call->x[0], w.V, w.mean, w.deviation);
    sr__views_moments(call->x[1], w.V, w.mean_of_scale, w.deviation);
    for (int j = 0; j < w.V * w.D; j++)
        w.factor[j] = 1 / w.deviation[j];
    for (int v = 0; v < w.V; v++) {
        int64_t rows = (int64_t)v * w.N * w.D, columns = (int64_t)v * w.D;
        sr__columns_center(w.z + rows, (const float *)call->x[0].data + rows, w.N, w.D,
                           w.mean + columns, w.factor + columns);
    }
    sr_gemm(false, false, w.V * w.N, w.S, w.D, 1, w.z, w.D, call->x[2].data, w.S, 0, w.u, w.S);
#pragma omp parallel for schedule(static) if ((int64_t)w.V * w.S * w.N > SR_CHUNK / 16)
    for (int j = 0; j < w.V * w.S; j++)
        sort_slice(&w, j);
    return w;
}

static void forward(const SrOpCall *call) {
    Work w = work_of(call);
    double total = 0;
    for (int j = 0; j < w.V * w.S; j++)
        total += w.distance[j];
    *(float *)call->y.data = (float)(total / ((double)w.V * w.S * w.N));
}

// Writes the gradient of x, dx = (dz - mean of dz) / sigma, and of the scale's rows s,
// ds = dsigma (s - mean) / (N sigma) with dsigma = -(sum of dz z) / sigma, for one column.
static void column_gradients(const Work *w, const SrOpCall *call, int j) {
    int64_t at = (int64_t)(j / w->D) * w->N * w->D + j % w->D;
    double sum = 0, product = 0, sigma = (double)w->deviation[j];
    for (int n = 0; n < w->N; n++) {
        double dz = (double)w->dz[at + (int64_t)n * w->D];
        sum += dz;
        product += dz * (double)w->z[at + (int64_t)n * w->D];
    }
    double slope = sigma > SR_VIEWS_MIN_DEVIATION ? -product / (sigma * sigma * w->N) : 0;
    const float *s = call->x[1].data;
    for (int64_t n = 0, i = at; n < w->N; n++, i += w->D) {
        if (call->dx[0])
            call->dx[0][i] = (float)(((double)w->dz[i] - sum / w->N) / sigma);
        if (call->dx[1])
            call->dx[1][i] = (float)(slope * ((double)s[i] - (double)w->mean_of_scale[j]));
    }
}

static void backward(const SrOpCall *call) {
    Work w = work_of(call);
    int rows = w.V * w.N;
    double factor = 2 * (double)call->dy[0] / ((double)w.V * w.S * w.N);
#pragma omp parallel for schedule(static) if ((int64_t)w.V * w.S * w.N > SR_CHUNK / 16)
    for (int j = 0; j < w.V * w.S; j++) {
        const Place *place = w.place + (int64_t)j * w.N;
        float *du = w.u + (int64_t)(j / w.S) * w.N * w.S + j % w.S;
        for (int k = 0; k < w.N; k++)
            du[(int64_t)place[k].row * w.S] =
                (float)(factor * ((double)place[k].value - w.quantile[k]));
    }
    sr_gemm(false, true, rows, w.D, w.S, 1, w.u, w.S, call->x[2].data, w.S, 0, w.dz, w.D);
#pragma omp parallel for schedule(static) if ((int64_t)rows * w.D > SR_CHUNK)
    for (int j = 0; j < w.V * w.D; j++)
        column_gradients(&w, call, j);
    if (call->dx[2]) {
        sr__zero(call->dx[2], sr_shape_count(call->x[2].shape));
        sr_gemm(true, false, w.D, w.S, rows, 1, w.z, w.D, w.u, w.S, 0, call->dx[2], w.S);
    }
}

static int by_double(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Projects view v, standardised, onto direction s.
static void project(const SrRefCall *call, int v, int s, int N, double *out) {
    int D = call->x_shape[0].d[1], S = call->x_shape[2].d[1];
    for (int n = 0; n < N; n++)
        out[n] = 0;
    for (int d = 0; d < D; d++) {
        const double *x = call->x[0] + (int64_t)v * N * D + d,
                     *scale = call->x[1] + (int64_t)v * N * D + d;
        double mean = 0, middle = 0, square = 0;
        for (int n = 0; n < N; n++) {
            mean += x[(int64_t)n * D] / N;
            middle += scale[(int64_t)n * D] / N;
        }
        for (int n = 0; n < N; n++)
            square += (scale[(int64_t)n * D] - middle) * (scale[(int64_t)n * D] - middle) / N;
        for (int n = 0; n < N; n++)
            out[n] += (x[(int64_t)n * D] - mean) / fmax(sqrt(square), SR_VIEWS_MIN_DEVIATION) *
                      call->x[2][(int64_t)d * S + s];
    }
}

static void reference(const SrRefCall *call) {
    const SrViewsParams *p = call->params;
    int V = p->num_views, N = call->x_shape[0].d[0] / V, S = call->x_shape[2].d[1];
    double *u = sr_alloc((size_t)N * sizeof *u), total = 0;
    for (int j = 0; u && j < V * S; j++) {
        project(call, j / S, j % S, N, u);
        qsort(u, (size_t)N, sizeof *u, by_double);
        for (int k = 0; k < N; k++) {
            double away = u[k] - normal_quantile((k + 1) / (N + 1.0));
            total += away * away;
        }
    }
    call->y[0] = total / ((double)V * S * N);
    sr_free(u);
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    (void)params, (void)n_in, (void)y;
    return 2 * (int64_t)x[0].d[0] * x[0].d[1] * x[2].d[1];
}

static const SrOpCase cases[] = {
    {"{num_views: 2}", 3, {SR_SHAPE(10, 3), SR_SHAPE(10, 3), SR_SHAPE(3, 4)}, false},
    {"{num_views: 1}", 3, {SR_SHAPE(21, 5), SR_SHAPE(21, 5), SR_SHAPE(10, 7)}, false},
    {"{num_views: 3}", 3, {SR_SHAPE(27, 40), SR_SHAPE(27, 40), SR_SHAPE(40, 9)}, false},
};

const SrOp sr_op_sliced_wasserstein = {
    .name = "sliced_wasserstein",
    .help = "Distance of sorted random projections from normal quantiles: VISReg.",
    .options = options,
    .params_bytes = sizeof(SrViewsParams),
    .min_in = 3,
    .max_in = 3,
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
