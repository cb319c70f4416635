// Greedy k-centre: one array of distances to the nearest chosen row, lowered after each choice.
#include "measure/clusters/k_centre.h"

#include <float.h>
#include <math.h>

#include "base/bar.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "measure/clusters/row_distances.h"

enum { BLOCK = 512 }; // rows that are read at a time for their mean

typedef struct {
    const SrRowView *rows;
    SrRowDistances to;         // distances to one row
    float *distance, *nearest; // (n) to the newest choice; to all choices, squared
    int8_t *open;              // (n) 1: may be chosen
    double *sum;               // (d)
    float *query, *space;      // (d); a block of rows
} Work;

static SrStatus work_init(Work *w, const SrRowView *rows) {
    size_t n = (size_t)rows->n, d = (size_t)rows->d;
    *w = (Work){.rows = rows,
                .distance = sr_alloc(n * sizeof *w->distance),
                .nearest = sr_alloc(n * sizeof *w->nearest),
                .open = sr_alloc(n),
                .sum = sr_calloc(d, sizeof *w->sum),
                .query = sr_alloc(d * sizeof *w->query)};
    SR_TRY_MEMORY(w->distance && w->nearest && w->open && w->sum && w->query,
                  "a choice among %lld rows", (long long)rows->n);
    SR_TRY(sr_row_view_space(rows, BLOCK, &w->space));
    return sr_row_distances_init(rows, &w->to);
}

static void work_deinit(Work *w) {
    sr_row_distances_deinit(&w->to);
    sr_free(w->distance);
    sr_free(w->nearest);
    sr_free(w->open);
    sr_free(w->sum);
    sr_free(w->query);
    sr_free(w->space);
}

// Marks the rows that may be chosen and returns their number.  A row that is not finite is far
// from everything and would be chosen first, so it is left out.
static int64_t open_rows(Work *w, const SrKCentreOptions *o) {
    int64_t n = 0;
    for (int64_t i = 0; i < w->rows->n; i++)
        w->open[i] = (!o->allowed || o->allowed[i]) && isfinite(w->to.square[i]);
    for (int64_t i = 0; i < o->n_have; i++)
        w->open[o->have[i]] = 0;
    for (int64_t i = 0; i < w->rows->n; i++)
        n += w->open[i];
    return n;
}

// Writes the mean of the finite rows to `query`.  Each number is summed in the order of the rows.
static void mean_row(Work *w) {
    int d = w->rows->d;
    int64_t n = 0;
    for (int64_t first = 0; first < w->rows->n; first += BLOCK) {
        int64_t rows = SR_MIN(w->rows->n - first, BLOCK);
        const float *x = sr_row_view_at_once(w->rows, first, rows, w->space); // (rows, d)
        for (int64_t i = 0; i < rows; i++) {
            if (!isfinite(w->to.square[first + i]))
                continue;
            n++;
            for (int j = 0; j < d; j++)
                w->sum[j] += (double)x[i * d + j];
        }
    }
    for (int j = 0; j < d; j++)
        w->query[j] = (float)(w->sum[j] / (double)n);
}

// Returns the open row that is nearest to the mean of the finite rows.
static int64_t central_row(Work *w) {
    int64_t best = -1;
    mean_row(w);
    sr_row_distances(&w->to, w->query, w->distance);
    for (int64_t i = 0; i < w->rows->n; i++)
        if (w->open[i] && (best < 0 || w->distance[i] < w->distance[best]))
            best = i;
    return best;
}

// Takes a row into the choice: distances of the others can only fall.
static void take(Work *w, int64_t row) {
    w->open[row] = 0;
    sr_row_distances(&w->to, sr_row_view_at(w->rows, row, 1, w->query), w->distance);
    for (int64_t i = 0; i < w->rows->n; i++)
        w->nearest[i] = fminf(w->nearest[i], w->distance[i]);
}

static int64_t farthest(const Work *w) {
    int64_t best = -1;
    for (int64_t i = 0; i < w->rows->n; i++)
        if (w->open[i] && (best < 0 || w->nearest[i] > w->nearest[best]))
            best = i;
    return best;
}

static void choose(Work *w, const SrKCentreOptions *o, int64_t k, int64_t *chosen, float *radius) {
    SrBar bar;
    sr_bar_begin(&bar, "choices", k);
    for (int64_t i = 0; i < w->rows->n; i++)
        w->nearest[i] = FLT_MAX;
    for (int64_t i = 0; i < o->n_have; i++)
        take(w, o->have[i]);
    for (int64_t i = 0; i < k; i++) {
        bool first = i + o->n_have == 0;
        sr_bar_at(&bar, i);
        chosen[i] = !first ? farthest(w) : o->first >= 0 ? o->first : central_row(w);
        if (radius)
            radius[i] = first ? INFINITY : sqrtf(w->nearest[chosen[i]]);
        take(w, chosen[i]);
    }
    sr_bar_end(&bar);
}

SrStatus sr_k_centre(const SrKCentreOptions *options, const SrRowView *rows, int64_t k,
                     int64_t *chosen, float *radius) {
    Work w;
    SrStatus status;
    SR_TRY_GOTO(work_init(&w, rows));
    int64_t open = open_rows(&w, options);
    if (k > open)
        status = sr_fail(SR_ERR_CONFIG, "%lld rows are to be chosen, but only %lld are free",
                         (long long)k, (long long)open);
    else
        choose(&w, options, k, chosen, radius);
done:
    work_deinit(&w);
    return status;
}
