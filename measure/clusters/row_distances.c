// Squared distances of all rows to one: a product per block of rows, then |x|^2 + |q|^2 - 2 x . q.
#include "measure/clusters/row_distances.h"

#include <float.h>
#include <math.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/core/gemm.h"

enum { BLOCK = 128 }; // rows of a product; affects the last bits, so it is fixed

typedef struct {
    const SrRowDistances *distances;
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

// Returns the block's rows, in the thread's own space if they must be read.
static const float *rows_of(const SrRowDistances *p, int64_t block, int thread, int *n) {
    *n = (int)SR_MIN(p->rows->n - block * BLOCK, BLOCK);
    float *space = p->space ? p->space + (int64_t)thread * BLOCK * p->rows->d : NULL;
    return sr_row_view_at(p->rows, block * BLOCK, *n, space);
}

static void square_block(void *arg, int64_t block, int thread) {
    const SrRowDistances *p = arg;
    int n;
    const float *x = rows_of(p, block, thread, &n);
    for (int64_t i = 0; i < n; i++)
        p->square[block * BLOCK + i] = square_of(x + i * p->rows->d, p->rows->d);
}

static int64_t blocks_of(const SrRowView *rows) { return (rows->n + BLOCK - 1) / BLOCK; }

SrStatus sr_row_distances_init(const SrRowView *rows, SrRowDistances *out) {
    *out =
        (SrRowDistances){.rows = rows, .square = sr_alloc((size_t)rows->n * sizeof *out->square)};
    SR_TRY_MEMORY(out->square, "the lengths of %lld rows", (long long)rows->n);
    SR_TRY(sr_row_view_space(rows, (int64_t)sr_parallel_threads() * BLOCK, &out->space));
    sr_parallel_for(blocks_of(rows), square_block, out);
    return SR_OK;
}

void sr_row_distances_deinit(SrRowDistances *distances) {
    sr_free(distances->square);
    sr_free(distances->space);
    *distances = (SrRowDistances){.rows = NULL};
}

static void distance_block(void *arg, int64_t block, int thread) {
    const Job *p = arg;
    int n, d = p->distances->rows->d;
    const float *x = rows_of(p->distances, block, thread, &n);
    const double *square = p->distances->square + block * BLOCK; // (n)
    float *out = p->out + block * BLOCK;                         // (n)
    sr_gemm_here(false, true, n, 1, d, 1.0f, x, d, p->query, d, 0.0f, out, 1);
    for (int i = 0; i < n; i++) {
        double sum = square[i] + p->query_square - 2 * (double)out[i];
        out[i] = isfinite(sum) ? (float)fmin(fmax(sum, 0), (double)FLT_MAX) : FLT_MAX;
    }
}

void sr_row_distances(const SrRowDistances *distances, const float *query, float *out) {
    Job p = {distances, query, square_of(query, distances->rows->d), out};
    sr_parallel_for(blocks_of(distances->rows), distance_block, &p);
}
