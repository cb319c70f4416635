// koleo: the Kozachenko-Leonenko estimate of how evenly rows lie on the sphere (Sablayrolles et
// al., "Spreading vectors for similarity search", arXiv:1806.03198, eq. 2; DINOv2,
// arXiv:2304.07193, section 4):
//
//   sum over groups of  - mean over rows i of ln(|x_i - x_j| + eps)
//   where j is the row most like i, not i itself
//
// x (groups n, D) has rows of length 1.  Both rows of a pair get a gradient.
#include "kernels/losses/koleo.h"

#include <math.h>
#include <stddef.h>

#include "kernels/core/gemm.h"
#include "kernels/core/op_util.h"

static const double eps = 1e-8;

static const SrOption options[] = {
    {"groups", SR_OPT_INT, offsetof(SrKoleoParams, groups), "1", 1, 0xffff,
     .help = "Number of groups of rows; neighbours are searched inside each group."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrKoleoParams *p = params;
    SR_TRY(sr__expect_rank("koleo", x, n_in, 2, 2));
    if (p->groups < 1 || x[0].d[0] % p->groups || x[0].d[0] / p->groups < 2)
        return sr__shape_fail("koleo", x, n_in, "%d groups of at least two rows each", p->groups);
    *y = SR_SCALAR;
    return SR_OK;
}

// Saved: the row most like each row, int (rows).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return sizeof(int) * (size_t)x[0].d[0];
}

// Scratch: products of a group's rows, (n, n).
static size_t scratch_bytes(const SrOpSite *site) {
    const SrKoleoParams *p = site->params;
    size_t n = (size_t)(site->x[0].d[0] / p->groups);
    return sizeof(float) * n * n;
}

static double reference_distance(const double *a, const double *b, int D) {
    double sum = 0;
    for (int d = 0; d < D; d++)
        sum += (a[d] - b[d] + eps) * (a[d] - b[d] + eps);
    return sqrt(sum);
}

static void reference(const SrRefCall *call) {
    const SrKoleoParams *p = call->params;
    int n = call->x_shape[0].d[0] / p->groups, D = call->x_shape[0].d[1];
    *call->y = 0;
    for (int i = 0; i < n * p->groups; i++) {
        const double *x = call->x[0] + (int64_t)i * D, *best = NULL;
        double most = 0;
        for (int j = i / n * n; j < i / n * n + n; j++) {
            const double *other = call->x[0] + (int64_t)j * D;
            double s = 0;
            for (int d = 0; d < D; d++)
                s += x[d] * other[d];
            if (j != i && (!best || s > most))
                most = s, best = other;
        }
        *call->y -= log(reference_distance(x, best, D) + eps) / n;
    }
}

static void find_nearest(const SrOpCall *call, int first, int n, int *nearest) {
    int D = call->x[0].shape.d[1];
    const float *x = (const float *)call->x[0].data + (int64_t)first * D;
    float *scores = call->scratch; // (n, n)
    sr_gemm(false, true, n, n, D, 1, x, D, x, D, 0, scores, n);
    for (int i = 0; i < n; i++) {
        int best = i == 0;
        for (int j = 0; j < n; j++)
            if (j != i && scores[(int64_t)i * n + j] > scores[(int64_t)i * n + best])
                best = j;
        nearest[first + i] = first + best;
    }
}

static double distance(const float *a, const float *b, int D) {
    double sum = 0;
    for (int d = 0; d < D; d++) {
        double difference = (double)a[d] - (double)b[d] + eps;
        sum += difference * difference;
    }
    return sqrt(sum);
}

static void forward(const SrOpCall *call) {
    const SrKoleoParams *p = call->params;
    int rows = call->x[0].shape.d[0], D = call->x[0].shape.d[1], n = rows / p->groups;
    const float *x = call->x[0].data; // (rows, D)
    int *nearest = call->saved;       // (rows)
    double loss = 0;
    for (int g = 0; g < p->groups && !call->again; g++)
        find_nearest(call, g * n, n, nearest);
    for (int i = 0; i < rows; i++)
        loss -= log(distance(x + (int64_t)i * D, x + (int64_t)nearest[i] * D, D) + eps) / n;
    *(float *)call->y.data = (float)loss;
}

static void backward(const SrOpCall *call) {
    const SrKoleoParams *p = call->params;
    int rows = call->x[0].shape.d[0], D = call->x[0].shape.d[1];
    const float *x = call->x[0].data;
    const int *nearest = call->saved;
    float *dx = call->dx[0];
    if (!dx)
        return;
    sr__zero(dx, (int64_t)rows * D);
    for (int64_t i = 0; i < rows; i++) {
        int64_t j = nearest[i];
        double r = distance(x + i * D, x + j * D, D);
        double factor = -(double)call->dy[0] * p->groups / rows / ((r + eps) * r);
        for (int64_t d = 0; d < D; d++) {
            float g = (float)(factor * ((double)x[i * D + d] - (double)x[j * D + d] + eps));
            dx[i * D + d] += g;
            dx[j * D + d] -= g;
        }
    }
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(5, 4)}, false},
    {"{groups: 3}", 1, {SR_SHAPE(12, 3)}, false},
};

const SrOp sr_op_koleo = {
    .name = "koleo",
    .help = "Mean logarithm of the distance from each row to its nearest neighbour.",
    .options = options,
    .params_bytes = sizeof(SrKoleoParams),
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
