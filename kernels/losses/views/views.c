// Shapes, means and deviations of rows of views.
#include "kernels/losses/views/views.h"

#include <math.h>

#include "kernels/core/op_util.h"
#include "kernels/losses/columns.h"

SrStatus sr__views_infer(const char *op, const SrShape *x, int n_in, int views, SrShape *y) {
    SR_TRY(sr__expect_rank(op, x, n_in, 2, 2));
    if (x[0].d[0] % views != 0)
        return sr__shape_fail(op, x, n_in, "rows of %d views", views);
    *y = SR_SCALAR;
    return SR_OK;
}

double sr__views_mean(const float *x, int views, int64_t part, int64_t at) {
    double sum = 0;
    for (int v = 0; v < views; v++)
        sum += (double)x[v * part + at];
    return sum / views;
}

void sr__views_moments(SrTensor x, int views, float *mean, float *deviation) {
    int N = x.shape.d[0] / views, D = x.shape.d[1];
    for (int v = 0; v < views; v++)
        sr__column_moments((const float *)x.data + (int64_t)v * N * D, N, D, 0,
                           mean + (int64_t)v * D, deviation + (int64_t)v * D);
    for (int j = 0; j < views * D; j++)
        deviation[j] = fmaxf(sqrtf(deviation[j]), (float)SR_VIEWS_MIN_DEVIATION);
}
