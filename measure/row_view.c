// Views of rows: a pointer into memory, or a copy of the rows that a caller asks for, scaled if it
// wants them so.
#include "measure/row_view.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"

enum { CHUNK = 256 }; // rows that one thread reads at a time

SrRowView sr_row_view(const SrMatrix *m) {
    return (SrRowView){.n = m->n, .d = m->d, .label = m->label, .x = m->x};
}

SrRowView sr_row_view_pick(const SrRowView *rows, const int64_t *pick, int64_t n) {
    SrRowView out = *rows;
    out.pick = pick;
    out.n = n;
    return out;
}

static bool in_place(const SrRowView *rows) { return rows->x && !rows->pick && !rows->mean; }

SrStatus sr_row_view_space(const SrRowView *rows, int64_t n, float **out) {
    *out = NULL;
    if (in_place(rows))
        return SR_OK;
    *out = sr_alloc((size_t)n * (size_t)rows->d * sizeof **out);
    if (!*out)
        return sr_out_of_memory("a block of %lld rows", (long long)n);
    return SR_OK;
}

static void fetch(const SrRowView *rows, int64_t first, int64_t n, float *out) {
    const int64_t *pick = rows->pick ? rows->pick + first : NULL;
    SR_ASSERT(first >= 0 && n >= 0 && first + n <= rows->n);
    size_t d = (size_t)rows->d;
    if (!rows->x)
        rows->read(rows->source, pick, first, n, out);
    for (int64_t i = 0; rows->x && i < n; i++)
        memcpy(out + (size_t)i * d, rows->x + (size_t)(pick ? pick[i] : first + i) * d,
               d * sizeof *out);
    if (rows->mean)
        sr_rows_standardize(out, n, rows->d, rows->mean, rows->scale);
}

const float *sr_row_view_at(const SrRowView *rows, int64_t first, int64_t n, float *space) {
    SR_ASSERT(first >= 0 && n >= 0 && first + n <= rows->n && (in_place(rows) || space));
    if (in_place(rows))
        return rows->x + first * rows->d;
    fetch(rows, first, n, space);
    return space;
}

typedef struct {
    const SrRowView *rows;
    int64_t first, n;
    float *out; // (n, d)
} Fetch;

static void fetch_chunk(void *arg, int64_t c, int thread) {
    (void)thread;
    const Fetch *f = arg;
    int64_t at = c * CHUNK;
    fetch(f->rows, f->first + at, SR_MIN(f->n - at, CHUNK), f->out + at * f->rows->d);
}

const float *sr_row_view_at_once(const SrRowView *rows, int64_t first, int64_t n, float *space) {
    SR_ASSERT(first >= 0 && n >= 0 && first + n <= rows->n && (in_place(rows) || space));
    if (in_place(rows))
        return rows->x + first * rows->d;
    sr_parallel_for((n + CHUNK - 1) / CHUNK, fetch_chunk, &(Fetch){rows, first, n, space});
    return space;
}

SrStatus sr_row_view_take(const SrRowView *rows, const int64_t *row, int64_t n, SrMatrix *out) {
    const SrRowView picked = sr_row_view_pick(rows, row, n);
    SR_TRY(sr_matrix_init(out, n, rows->d));
    sr_row_view_at_once(&picked, 0, n, out->x);
    for (int64_t i = 0; i < n; i++)
        out->label[i] = sr_row_view_label(&picked, i);
    return SR_OK;
}

SrStatus sr_row_view_middle(const SrRowView *rows, float *mean) {
    enum { SAMPLE = 1024 };
    int64_t picks = SR_MIN(rows->n, SAMPLE);
    float *space;
    SR_TRY(sr_row_view_space(rows, 1, &space));
    memset(mean, 0, (size_t)rows->d * sizeof *mean);
    for (int64_t i = 0; i < picks; i++) {
        const float *x = sr_row_view_at(rows, i * rows->n / picks, 1, space);
        for (int k = 0; k < rows->d; k++)
            mean[k] += isfinite(x[k]) ? x[k] / (float)picks : 0;
    }
    sr_free(space);
    return SR_OK;
}

void sr_rows_standardize(float *x, int64_t n, int d, const double *mean, const double *scale) {
    for (int64_t i = 0; i < n; i++, x += d)
        for (int j = 0; j < d; j++)
            x[j] = (float)(((double)x[j] - mean[j]) * scale[j]);
}

// One pass would lose the variance of features that are far from zero, so there are two.
static void add_moments(const SrRowView *rows, float *space, bool second, double *mean,
                        double *scale) {
    double n = (double)rows->n;
    for (int64_t first = 0; first < rows->n; first += CHUNK) {
        int64_t m = SR_MIN(rows->n - first, CHUNK);
        const float *x = sr_row_view_at(rows, first, m, space); // (m, d)
        for (int64_t i = 0; i < m; i++, x += rows->d)
            for (int j = 0; j < rows->d; j++)
                if (second)
                    scale[j] += pow((double)x[j] - mean[j], 2) / n;
                else
                    mean[j] += (double)x[j] / n;
    }
}

SrStatus sr_row_view_moments(const SrRowView *rows, double *mean, double *scale) {
    float *space;
    SR_TRY(sr_row_view_space(rows, CHUNK, &space));
    memset(mean, 0, (size_t)rows->d * sizeof *mean);
    memset(scale, 0, (size_t)rows->d * sizeof *scale);
    add_moments(rows, space, false, mean, scale);
    add_moments(rows, space, true, mean, scale);
    sr_free(space);
    for (int j = 0; j < rows->d; j++)
        scale[j] = scale[j] > 1e-20 * mean[j] * mean[j] && scale[j] > 0 ? 1 / sqrt(scale[j]) : 1;
    return SR_OK;
}

SrStatus sr_matrix_standardize(SrMatrix *fit, SrMatrix *other) {
    int d = fit->d;
    const SrRowView rows = sr_row_view(fit);
    double *mean = sr_alloc((size_t)d * 2 * sizeof *mean);
    SR_TRY_MEMORY(mean, "the means of %d columns", d);
    SrStatus status = sr_row_view_moments(&rows, mean, mean + d);
    if (status == SR_OK)
        sr_rows_standardize(fit->x, fit->n, d, mean, mean + d);
    if (status == SR_OK && other)
        sr_rows_standardize(other->x, other->n, d, mean, mean + d);
    sr_free(mean);
    return status;
}

int sr_row_view_classes(const SrRowView *rows) {
    int64_t most = -1;
    for (int64_t i = 0; rows->label && i < rows->n; i++)
        most = SR_MAX(most, sr_row_view_label(rows, i));
    return (int)most + 1;
}
