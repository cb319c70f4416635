// Nearest other rows: blocks of queries for sr_knn_nearest, and one scan that keeps short lists.
#include "measure/neighbours/nearest_rows.h"

#include <math.h>
#include <string.h>

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

SrStatus sr_nearest_rows(const SrRowView *rows, int k, int64_t *row, float *distance) {
    if (k < 1 || k >= rows->n)
        SR_FAIL(SR_ERR_CONFIG,
                "%d neighbours are asked for, but there are %lld images; expected a number below "
                "that",
                k, (long long)rows->n);
    size_t places = (size_t)QUERIES * ((size_t)k + 1);
    SrRowView bank = *rows;
    bank.label = NULL; // rows without a label are neighbours too
    int64_t *found = sr_alloc(places * sizeof *found);
    float *similarity = sr_alloc(places * sizeof *similarity), *space = NULL;
    SrStatus status = found && similarity
                          ? sr_row_view_space(rows, SR_MIN(rows->n, QUERIES), &space)
                          : sr_out_of_memory("neighbours");
    SrBar bar;
    sr_bar_begin(&bar, "neighbours of images", rows->n);
    for (int64_t first = 0; status == SR_OK && first < rows->n; first += QUERIES) {
        int64_t n = SR_MIN(rows->n - first, QUERIES);
        sr_bar_at(&bar, first);
        const float *query = sr_row_view_at_once(rows, first, n, space); // (n, d)
        status = sr_knn_nearest(&bank, query, n, k + 1, found, similarity);
        for (int64_t i = 0; status == SR_OK && i < n; i++)
            leave_out_self(first + i, k, found + i * (k + 1), similarity + i * (k + 1),
                           row ? row + (first + i) * k : NULL, distance + (first + i) * k);
    }
    sr_bar_end(&bar);
    sr_free(found);
    sr_free(similarity);
    sr_free(space);
    return status;
}

// ---- two short lists for each row ---------------------------------------------------------------

// Distances to the nearest rows of one kind, the nearest first.
typedef struct {
    float distance[SR_NEAREST_BY_CLASS];
    int n; // known ones
} Nearest;

typedef struct {
    const SrRowView *rows;
    const float *product; // (ROW_BLOCK, COLUMN_BLOCK)
    int64_t row, column;  // first row and column of the block
    int columns, k;
    Nearest *same, *other; // (ROW_BLOCK)
} Scan;

static void keep(Nearest *to, int k, float distance) {
    if (to->n == k && !(distance < to->distance[k - 1]))
        return;
    int at = to->n < k ? to->n++ : k - 1;
    for (; at > 0 && distance < to->distance[at - 1]; at--)
        to->distance[at] = to->distance[at - 1];
    to->distance[at] = distance;
}

static void scan_row(void *arg, int64_t i, int thread) {
    (void)thread;
    const Scan *s = arg;
    const float *product = s->product + i * COLUMN_BLOCK; // (columns)
    int64_t me = s->row + i, mine = sr_row_view_label(s->rows, me);
    SR_ASSERT(me < s->rows->n && s->column + s->columns <= s->rows->n);
    for (int j = 0; mine >= 0 && j < s->columns; j++) {
        int64_t you = s->column + j, label = sr_row_view_label(s->rows, you);
        if (you == me || label < 0 || isnan(product[j]))
            continue;
        keep(label == mine ? &s->same[i] : &s->other[i], s->k, fmaxf(1 - product[j], 0));
    }
}

// Returns the mean of the first n distances of a list, or of all that it has.  NaN: it is empty.
static float mean_of(const Nearest *list, int n) {
    float sum = 0;
    n = SR_MIN(list->n, n);
    for (int j = 0; j < n; j++)
        sum += list->distance[j];
    return n > 0 ? sum / (float)n : NAN;
}

// Both means are over equally many rows, so that a small class is not nearer by its size.
static void write_means(const Nearest *same, const Nearest *other, float *to_same,
                        float *to_other) {
    int least = SR_MIN(same->n, other->n);
    *to_same = mean_of(same, SR_MAX(least, 1));
    *to_other = mean_of(other, SR_MAX(least, 1));
}

// Work space of one call.
typedef struct {
    float *product;        // (ROW_BLOCK, COLUMN_BLOCK)
    float *rows, *columns; // ROW_BLOCK and COLUMN_BLOCK rows; NULL: they lie in memory
    Nearest *same, *other; // (ROW_BLOCK)
} Blocks;

static SrStatus blocks_init(const SrRowView *rows, Blocks *b) {
    *b = (Blocks){.product = sr_alloc(sizeof(float) * ROW_BLOCK * COLUMN_BLOCK),
                  .same = sr_alloc(ROW_BLOCK * sizeof *b->same),
                  .other = sr_alloc(ROW_BLOCK * sizeof *b->other)};
    SR_TRY_MEMORY(b->product && b->same && b->other, "neighbours of each class");
    SR_TRY(sr_row_view_space(rows, SR_MIN(rows->n, ROW_BLOCK), &b->rows));
    return sr_row_view_space(rows, SR_MIN(rows->n, COLUMN_BLOCK), &b->columns);
}

static void blocks_deinit(Blocks *b) {
    sr_free(b->product);
    sr_free(b->rows);
    sr_free(b->columns);
    sr_free(b->same);
    sr_free(b->other);
}

static void scan_all(const SrRowView *rows, int k, const Blocks *b, float *same, float *other) {
    int d = rows->d;
    SrBar bar;
    sr_bar_begin(&bar, "neighbours of each class", rows->n);
    for (int64_t row = 0; row < rows->n; row += ROW_BLOCK) {
        int n = (int)SR_MIN(rows->n - row, ROW_BLOCK);
        const float *x = sr_row_view_at_once(rows, row, n, b->rows); // (n, d)
        sr_bar_at(&bar, row);
        memset(b->same, 0, ROW_BLOCK * sizeof *b->same);
        memset(b->other, 0, ROW_BLOCK * sizeof *b->other);
        for (int64_t column = 0; column < rows->n; column += COLUMN_BLOCK) {
            int columns = (int)SR_MIN(rows->n - column, COLUMN_BLOCK);
            const float *y = sr_row_view_at_once(rows, column, columns, b->columns); // (columns, d)
            sr_gemm(false, true, n, columns, d, 1.0f, x, d, y, d, 0.0f, b->product, COLUMN_BLOCK);
            Scan scan = {rows, b->product, row, column, columns, k, b->same, b->other};
            sr_parallel_for(n, scan_row, &scan);
        }
        for (int i = 0; i < n; i++)
            write_means(&b->same[i], &b->other[i], same + row + i, other + row + i);
    }
    sr_bar_end(&bar);
}

SrStatus sr_nearest_by_class(const SrRowView *rows, int k, float *same, float *other) {
    Blocks b;
    SR_ASSERT(k >= 1 && k <= SR_NEAREST_BY_CLASS);
    SrStatus status = blocks_init(rows, &b);
    if (status == SR_OK)
        scan_all(rows, k, &b, same, other);
    blocks_deinit(&b);
    return status;
}
