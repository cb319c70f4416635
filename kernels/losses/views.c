// Shapes and means of rows of views.
#include "kernels/losses/views.h"

#include "kernels/core/op_util.h"

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
