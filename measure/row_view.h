// Rows of features that an algorithm reads block by block.  They lie in memory (SrMatrix) or in a
// file that may be larger than memory (folder/index/index.h); results have the same bits for both.
//
//     SrRowView rows = sr_row_view(&matrix);
//     float *space;                             // only needed for rows that are not in memory
//     SR_TRY(sr_row_view_space(&rows, 512, &space));
//     for (int64_t i = 0; i < rows.n; i += 512)
//         const float *x = sr_row_view_at(&rows, i, SR_MIN(rows.n - i, 512), space); // (512, d)
#ifndef SR_MEASURE_ROW_VIEW_H
#define SR_MEASURE_ROW_VIEW_H

#include "measure/matrix.h"

// Reads n rows of a source: those numbered in `row`, or row `first` and the next ones if `row` is
// NULL.  out: (n, d).  Thread-safe.
typedef void (*SrRowReader)(const void *source, const int64_t *row, int64_t first, int64_t n,
                            float *out);

// A view: the caller keeps everything that it points to.
typedef struct {
    int64_t n;            // rows of the view
    int d;                // numbers of a row
    const int64_t *label; // of the source's rows, -1: the row is ignored; NULL: all rows count
    const int64_t *pick;  // (n) numbers of the view's rows in the source; NULL: the first n rows
    const float *x;       // (rows, d) of the source in memory; NULL: `read` fetches them
    SrRowReader read;
    const void *source;  // argument of `read`
    const double *mean;  // (d) a number x is read as (x - mean) scale; NULL: as it is
    const double *scale; // (d); NULL with `mean`
} SrRowView;

// Views all rows of a matrix with their labels.
SrRowView sr_row_view(const SrMatrix *matrix);
// Views the rows with the n numbers in `pick`, in that order.  rows: not picked itself.
SrRowView sr_row_view_pick(const SrRowView *rows, const int64_t *pick, int64_t n);

// Allocates room for n rows, which sr_row_view_at needs.  NULL: the rows lie in memory one after
// the other, so that none is needed.  Free *out with sr_free.
SrStatus sr_row_view_space(const SrRowView *rows, int64_t n, float **out);
// Copies the rows with the n numbers in `row` and their labels; free with sr_matrix_deinit.  The
// view is not picked itself.
SrStatus sr_row_view_take(const SrRowView *rows, const int64_t *row, int64_t n, SrMatrix *out);
// Returns rows [first, first + n) as (n, d): a place in memory, or `space` after reading them into
// it.  Thread-safe.
const float *sr_row_view_at(const SrRowView *rows, int64_t first, int64_t n, float *space);
// Does so with all threads; for callers outside of sr_parallel_for.
const float *sr_row_view_at_once(const SrRowView *rows, int64_t first, int64_t n, float *space);

// Computes mean and 1 / deviation of each column; scale 1 for a column that does not vary.  mean,
// scale: (d).  The bits depend on the rows and their order alone.  The view is not scaled itself.
SrStatus sr_row_view_moments(const SrRowView *rows, double *mean, double *scale);
// Computes a vector near the mean of the rows from at most 1024 of them that lie evenly among all.
// Numbers that are not finite count as 0.  mean: (d).
SrStatus sr_row_view_middle(const SrRowView *rows, float *mean);
// Scales n rows of d numbers in place, as views with a mean are read.
void sr_rows_standardize(float *x, int64_t n, int d, const double *mean, const double *scale);

// Gives each column of `fit` mean 0 and variance 1, and applies the same map to `other` (NULL:
// none). Columns that do not vary are only centred, as in sklearn's StandardScaler.
SrStatus sr_matrix_standardize(SrMatrix *fit, SrMatrix *other);

// Returns the label of row i of the view: -1: the row is ignored.
static inline int64_t sr_row_view_label(const SrRowView *rows, int64_t i) {
    return !rows->label ? 0 : rows->label[rows->pick ? rows->pick[i] : i];
}
int sr_row_view_classes(const SrRowView *rows); // largest label + 1; 0: no row is labelled

#endif
