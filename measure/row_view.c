// Views of rows: a pointer into memory, or a copy of the rows that a caller asks for.
#include "measure/row_view.h"

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

static bool in_place(const SrRowView *rows) { return rows->x && !rows->pick; }

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
    size_t d = (size_t)rows->d;
    if (!rows->x)
        rows->read(rows->source, pick, first, n, out);
    for (int64_t i = 0; rows->x && i < n; i++)
        memcpy(out + (size_t)i * d, rows->x + (size_t)pick[i] * d, d * sizeof *out);
}

const float *sr_row_view_at(const SrRowView *rows, int64_t first, int64_t n, float *space) {
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
    if (in_place(rows))
        return rows->x + first * rows->d;
    sr_parallel_for((n + CHUNK - 1) / CHUNK, fetch_chunk, &(Fetch){rows, first, n, space});
    return space;
}

int sr_row_view_classes(const SrRowView *rows) {
    int64_t most = -1;
    for (int64_t i = 0; rows->label && i < rows->n; i++)
        most = SR_MAX(most, sr_row_view_label(rows, i));
    return (int)most + 1;
}
