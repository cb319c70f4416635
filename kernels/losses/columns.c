// Statistics of columns, and hooks of the losses that use them (columns.h).  A strip of columns is
// one task, so each sum is made by one thread in one order.
#include "kernels/losses/columns.h"

#include "base/compiler.h"
#include "base/parallel.h"
#include "kernels/core/op_util.h"

enum { STRIP = 32 };

typedef struct {
    float *out, *out2;
    const float *x, *z, *a, *b;
    int64_t rows;
    int D, correction;
} Job;

static int width_of(const Job *j, int64_t strip) {
    return (int)SR_MIN(STRIP, j->D - strip * STRIP);
}

static void moments(void *arg, int64_t strip, int thread) {
    const Job *j = arg;
    int w = width_of(j, strip);
    int64_t c0 = strip * STRIP;
    double sum[STRIP] = {0}, square[STRIP] = {0};
    (void)thread;
    for (int64_t r = 0; r < j->rows; r++)
        for (int c = 0; c < w; c++)
            sum[c] += (double)j->x[r * j->D + c0 + c];
    for (int c = 0; c < w; c++)
        sum[c] /= (double)j->rows;
    for (int64_t r = 0; r < j->rows; r++)
        for (int c = 0; c < w; c++) {
            double away = (double)j->x[r * j->D + c0 + c] - sum[c];
            square[c] += away * away;
        }
    for (int c = 0; c < w; c++) {
        j->out[c0 + c] = (float)sum[c];
        j->out2[c0 + c] = (float)(square[c] / (double)(j->rows - j->correction));
    }
}

void sr__column_moments(const float *x, int64_t rows, int D, int correction, float *mean,
                        float *var) {
    Job job = {.out = mean, .out2 = var, .x = x, .rows = rows, .D = D, .correction = correction};
    sr_parallel_for((D + STRIP - 1) / STRIP, moments, &job);
}

static void center(void *arg, int64_t r, int thread) {
    const Job *j = arg;
    (void)thread;
    for (int c = 0; c < j->D; c++)
        j->out[r * j->D + c] = (j->x[r * j->D + c] - j->a[c]) * (j->b ? j->b[c] : 1);
}

void sr__columns_center(float *z, const float *x, int64_t rows, int D, const float *mean,
                        const float *factor) {
    Job job = {.out = z, .x = x, .a = mean, .b = factor, .rows = rows, .D = D};
    sr_parallel_for(rows, center, &job);
}

static void normalize_grad(void *arg, int64_t strip, int thread) {
    const Job *j = arg;
    int w = width_of(j, strip);
    int64_t c0 = strip * STRIP;
    double sum[STRIP] = {0}, with_z[STRIP] = {0};
    (void)thread;
    for (int64_t r = 0; r < j->rows; r++)
        for (int c = 0; c < w; c++) {
            double g = (double)j->x[r * j->D + c0 + c];
            sum[c] += g;
            with_z[c] += g * (double)j->z[r * j->D + c0 + c];
        }
    for (int64_t r = 0; r < j->rows; r++)
        for (int c = 0; c < w; c++) {
            int64_t at = r * j->D + c0 + c;
            double n = (double)j->rows;
            j->out[at] = (float)((double)j->a[c0 + c] * ((double)j->x[at] - sum[c] / n -
                                                         (double)j->z[at] * with_z[c] / n));
        }
}

void sr__columns_normalize_grad(float *dx, const float *dz, const float *z, int64_t rows, int D,
                                const float *invstd) {
    Job job = {.out = dx, .x = dz, .z = z, .a = invstd, .rows = rows, .D = D};
    sr_parallel_for((D + STRIP - 1) / STRIP, normalize_grad, &job);
}

SrStatus sr__two_views_infer(const char *op, const SrShape *x, int n_in, SrShape *y) {
    if (x[0].rank != 2 || x[0].d[0] % 2 || x[0].d[0] < 4)
        return sr__shape_fail(op, x, n_in, "(2 N, D), two rows a view at least");
    *y = SR_SCALAR;
    return SR_OK;
}
