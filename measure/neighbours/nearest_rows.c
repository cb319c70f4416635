// Nearest other rows: blocks of queries for sr_knn_nearest, and one scan that keeps two minima.
#include "measure/neighbours/nearest_rows.h"

#include <math.h>

#include "base/bar.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/core/gemm.h"
#include "measure/neighbours/knn.h"

enum { QUERIES = 1024, ROW_BLOCK = 256, COLUMN_BLOCK = 4096 };

// Copies the neighbours of query i, found with k + 1 places, without the query itself.  The query
// is not among them if it has more than k exact copies.
static void leave_out_self(int64_t i, int k, const int64_t *found, const float *similarity,
                           int64_t *row, float *distance) {
    int n = 0;
    for (int j = 0; j <= k && n < k; j++) {
        if (found[j] == i)
            continue;
        if (row)
            row[n] = found[j];
        distance[n++] = found[j] < 0 ? NAN : fmaxf(1 - similarity[j], 0);
    }
}

SrStatus sr_nearest_rows(const SrMatrix *rows, int k, int64_t *row, float *distance) {
    if (k < 1 || k >= rows->n)
        SR_FAIL(SR_ERR_CONFIG,
                "%d neighbours are asked for, but there are %lld images; expected a number below "
                "that",
                k, (long long)rows->n);
    size_t places = (size_t)QUERIES * ((size_t)k + 1);
    SrMatrix bank = *rows;
    int64_t *found = sr_alloc(places * sizeof *found);
    float *similarity = sr_alloc(places * sizeof *similarity);
    bank.label = sr_calloc((size_t)rows->n, sizeof *bank.label);
    bool enough = found && similarity && bank.label;
    SrStatus status = enough ? SR_OK : sr_fail(SR_ERR_MEMORY, "out of memory for neighbours");
    SrBar bar;
    sr_bar_begin(&bar, "neighbours of images", rows->n);
    for (int64_t first = 0; status == SR_OK && first < rows->n; first += QUERIES) {
        int64_t n = SR_MIN(rows->n - first, QUERIES);
        sr_bar_at(&bar, first);
        status = sr_knn_nearest(&bank, rows->x + first * rows->d, n, k + 1, found, similarity);
        for (int64_t i = 0; status == SR_OK && i < n; i++)
            leave_out_self(first + i, k, found + i * (k + 1), similarity + i * (k + 1),
                           row ? row + (first + i) * k : NULL, distance + (first + i) * k);
    }
    sr_bar_end(&bar);
    sr_free(found);
    sr_free(similarity);
    sr_free(bank.label);
    return status;
}

// ---- two minima for each row --------------------------------------------------------------------

typedef struct {
    const SrMatrix *rows;
    const float *product; // (ROW_BLOCK, COLUMN_BLOCK)
    int64_t row, column;  // first row and column of the block
    int columns;
    float *same, *other; // (n)
} Scan;

static void nearer(float *least, float distance) {
    if (isnan(*least) || distance < *least)
        *least = distance;
}

static void scan_row(void *arg, int64_t i, int thread) {
    (void)thread;
    const Scan *s = arg;
    const float *product = s->product + i * COLUMN_BLOCK; // (columns)
    const int64_t *label = s->rows->label, me = s->row + i;
    for (int j = 0; label[me] >= 0 && j < s->columns; j++) {
        int64_t you = s->column + j;
        if (you == me || label[you] < 0 || isnan(product[j]))
            continue;
        nearer(label[you] == label[me] ? &s->same[me] : &s->other[me], fmaxf(1 - product[j], 0));
    }
}

SrStatus sr_nearest_by_class(const SrMatrix *rows, float *same, float *other) {
    int d = rows->d;
    float *product = sr_alloc(sizeof(float) * ROW_BLOCK * COLUMN_BLOCK);
    if (!product)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for neighbours of each class");
    for (int64_t i = 0; i < rows->n; i++)
        same[i] = other[i] = NAN;
    SrBar bar;
    sr_bar_begin(&bar, "neighbours of each class", rows->n);
    for (int64_t row = 0; row < rows->n; row += ROW_BLOCK) {
        int n = (int)SR_MIN(rows->n - row, ROW_BLOCK);
        sr_bar_at(&bar, row);
        for (int64_t column = 0; column < rows->n; column += COLUMN_BLOCK) {
            int columns = (int)SR_MIN(rows->n - column, COLUMN_BLOCK);
            sr_gemm(false, true, n, columns, d, 1.0f, rows->x + row * d, d, rows->x + column * d, d,
                    0.0f, product, COLUMN_BLOCK);
            Scan scan = {rows, product, row, column, columns, same, other};
            sr_parallel_for(n, scan_row, &scan);
        }
    }
    sr_bar_end(&bar);
    sr_free(product);
    return SR_OK;
}
