// Squared distances of all rows to one: a product per block of rows, then |x|^2 + |q|^2 - 2 x . q.
#include "measure/clusters/row_distances.h"

#include <float.h>
#include <math.h>

#include "base/compiler.h"
#include "base/parallel.h"
#include "kernels/core/gemm.h"

enum { BLOCK = 512 }; // rows of a product; affects the last bits, so it is fixed

typedef struct {
    const SrMatrix *rows;
    double *square;      // (n)
    const double *known; // (n)
    const float *query;  // (d)
    double query_square; // squared length of the query
    float *out;          // (n)
} Job;

static double square_of(const float *x, int d) {
    double sum = 0;
    for (int j = 0; j < d; j++)
        sum += (double)x[j] * (double)x[j];
    return sum;
}

static void square_block(void *arg, int64_t block, int thread) {
    (void)thread;
    const Job *p = arg;
    for (int64_t i = block * BLOCK; i < SR_MIN((block + 1) * BLOCK, p->rows->n); i++)
        p->square[i] = square_of(p->rows->x + i * p->rows->d, p->rows->d);
}

void sr_row_squares(const SrMatrix *rows, double *square) {
    Job p = {.rows = rows, .square = square};
    sr_parallel_for((rows->n + BLOCK - 1) / BLOCK, square_block, &p);
}

static void distance_block(void *arg, int64_t block, int thread) {
    (void)thread;
    const Job *p = arg;
    int d = p->rows->d;
    int64_t first = block * BLOCK;
    int n = (int)SR_MIN(p->rows->n - first, BLOCK);
    float *out = p->out + first; // (n)
    sr_gemm_here(false, true, n, 1, d, 1.0f, p->rows->x + first * d, d, p->query, d, 0.0f, out, 1);
    for (int i = 0; i < n; i++) {
        double square = p->known[first + i] + p->query_square - 2 * (double)out[i];
        out[i] = isfinite(square) ? (float)fmin(fmax(square, 0), (double)FLT_MAX) : FLT_MAX;
    }
}

void sr_row_distances(const SrMatrix *rows, const double *square, const float *query, float *out) {
    Job p = {.rows = rows,
             .known = square,
             .query = query,
             .query_square = square_of(query, rows->d),
             .out = out};
    sr_parallel_for((rows->n + BLOCK - 1) / BLOCK, distance_block, &p);
}
