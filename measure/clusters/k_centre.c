// Greedy k-centre: one array of distances to the nearest chosen row, lowered after each choice.
#include "measure/clusters/k_centre.h"

#include <float.h>
#include <math.h>

#include "base/bar.h"
#include "base/mem.h"
#include "measure/clusters/row_distances.h"

typedef struct {
    const SrMatrix *rows;
    double *square;            // (n) squared lengths
    float *distance, *nearest; // (n) to the newest choice; to all choices, squared
    int8_t *open;              // (n) 1: may be chosen
    float *mean;               // (d)
} Work;

static SrStatus work_init(Work *w, const SrMatrix *rows) {
    size_t n = (size_t)rows->n;
    *w = (Work){.rows = rows,
                .square = sr_alloc(n * sizeof *w->square),
                .distance = sr_alloc(n * sizeof *w->distance),
                .nearest = sr_alloc(n * sizeof *w->nearest),
                .open = sr_alloc(n),
                .mean = sr_calloc((size_t)rows->d, sizeof *w->mean)};
    if (!w->square || !w->distance || !w->nearest || !w->open || !w->mean)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for a choice among %lld rows", (long long)rows->n);
    return SR_OK;
}

static void work_deinit(Work *w) {
    sr_free(w->square);
    sr_free(w->distance);
    sr_free(w->nearest);
    sr_free(w->open);
    sr_free(w->mean);
}

// Marks the rows that may be chosen and returns their number.  A row that is not finite is far
// from everything and would be chosen first, so it is left out.
static int64_t open_rows(Work *w, const SrKCentreOptions *o) {
    int64_t n = 0;
    for (int64_t i = 0; i < w->rows->n; i++)
        w->open[i] = (!o->allowed || o->allowed[i]) && isfinite(w->square[i]);
    for (int64_t i = 0; i < o->n_have; i++)
        w->open[o->have[i]] = 0;
    for (int64_t i = 0; i < w->rows->n; i++)
        n += w->open[i];
    return n;
}

// Returns the open row that is nearest to the mean of the finite rows.
static int64_t central_row(Work *w) {
    int d = w->rows->d;
    int64_t best = -1, n = 0;
    for (int64_t i = 0; i < w->rows->n; i++)
        n += isfinite(w->square[i]);
    for (int j = 0; j < d; j++) {
        double sum = 0;
        for (int64_t i = 0; i < w->rows->n; i++)
            if (isfinite(w->square[i]))
                sum += (double)w->rows->x[i * d + j];
        w->mean[j] = (float)(sum / (double)n);
    }
    sr_row_distances(w->rows, w->square, w->mean, w->distance);
    for (int64_t i = 0; i < w->rows->n; i++)
        if (w->open[i] && (best < 0 || w->distance[i] < w->distance[best]))
            best = i;
    return best;
}

// Takes a row into the choice: distances of the others can only fall.
static void take(Work *w, int64_t row) {
    w->open[row] = 0;
    sr_row_distances(w->rows, w->square, w->rows->x + row * w->rows->d, w->distance);
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

SrStatus sr_k_centre(const SrKCentreOptions *options, const SrMatrix *rows, int64_t k,
                     int64_t *chosen, float *radius) {
    Work w;
    SrStatus status;
    SR_TRY_GOTO(work_init(&w, rows));
    sr_row_squares(rows, w.square);
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
