// Looks at tiles of products and keeps the largest of each row.
//
//     in parallel, for each chunk of `from` rows
//         for each block of `to` rows: all of them, or cell by cell
//             for each tile of the chunk's rows that want them: a look, exact products, lists
//
// A thread works through its chunk alone.  Lists hold exact products (kernels/core/row_glance.h),
// so that the bits depend neither on threads nor on memory nor on how the look is multiplied.
#include "folder/near_rows.h"

#include <math.h>
#include <string.h>

#include "base/bar.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "kernels/core/gemm.h"
#include "kernels/core/row_glance.h"

enum {
    TILE = 256,       // rows of `from` in a product
    OTHERS = 512,     // rows of `to` in a product
    MOST_CHUNK = 1024 // rows of `from` per thread
};
enum { MOST_CHUNK_OF_CELLS = 8192 }; // more, because each cell is read for few of them

// A thread's part of a search.
typedef struct {
    const SrNearOptions *o;
    SrNear *out;
    int d;              // numbers per row
    float *a;           // (chunk, d) present rows of `from`
    float *b;           // (OTHERS, d) present rows of `to`
    SrGlance glance;    // of a and b
    float *product;     // (TILE, cells); without cells none
    int64_t a_first;    // number of the first row of a
    int n_a, n_b;       // present rows
    int64_t *b_row;     // (OTHERS) numbers of the rows in b
    int32_t *cell;      // (chunk, probes) the cells that each row of a probes
    int32_t *query;     // (chunk * probes) rows of a by cell
    int32_t *cell_from; // (cells + 2) first of `query` for each cell
} Worker;

typedef struct {
    int chunk;
    int64_t rows, done; // rows of `from`, and those that are finished
    float *centre;      // (d) near the mean of the rows of `to`
    Worker *worker;     // (threads)
} Search;

static bool before(float similarity, uint32_t row, SrNear than) {
    return similarity > than.similarity || (similarity == than.similarity && row < than.row);
}

void sr_near_clear(SrNear *list, int64_t k) {
    for (int64_t i = 0; i < k; i++)
        list[i] = (SrNear){UINT32_MAX, -INFINITY};
}

void sr_near_insert(SrNear *list, int k, uint32_t row, float similarity) {
    int at = k - 1;
    if (!before(similarity, row, list[at]))
        return;
    for (; at > 0 && before(similarity, row, list[at - 1]); at--)
        list[at] = list[at - 1];
    list[at] = (SrNear){row, similarity};
}

// ---- tiles --------------------------------------------------------------------------------------

// Row i of the last multiplication is row `from` of its index.
static void scan_row(const Worker *w, int i, int64_t from) {
    const SrNearOptions *o = w->o;
    SrNear *list = w->out + from * o->k, *last = list + o->k - 1;
    if (o->skip_from && o->skip_from[from])
        return;
    int j = sr_glance_next(&w->glance, i, last->similarity, 0);
    for (; j < w->n_b; j = sr_glance_next(&w->glance, i, last->similarity, j + 1)) {
        int64_t to = w->b_row[j];
        if (!(o->self && to == from) && !(o->skip_to && o->skip_to[to]))
            sr_near_insert(list, o->k, (uint32_t)to, sr_glance_exact(&w->glance, i, j));
    }
}

// Multiplies n rows of a with b.  query: (n) their numbers; NULL: the first n.
static void multiply(Worker *w, const int32_t *query, int n) {
    sr_glance_right(&w->glance, w->b, w->n_b);
    for (int first = 0; first < n; first += TILE) {
        int rows = SR_MIN(n - first, TILE);
        sr_glance_multiply(&w->glance, query ? query + first : NULL, first, rows);
        for (int i = 0; i < rows; i++)
            scan_row(w, i, w->a_first + (query ? query[first + i] : first + i));
    }
}

static void search_all(Worker *w) {
    int64_t others = sr_index_rows(w->o->to);
    for (int64_t b = 0; b < others; b += OTHERS) {
        w->n_b = (int)SR_MIN(others - b, OTHERS);
        for (int j = 0; j < w->n_b; j++)
            w->b_row[j] = b + j;
        sr_index_read(w->o->to, b, w->n_b, w->b);
        multiply(w, NULL, w->n_a);
    }
}

// ---- cells --------------------------------------------------------------------------------------

static void choose_cells(Worker *w) {
    const SrCells *cells = w->o->cells;
    for (int first = 0; first < w->n_a; first += TILE) {
        int rows = SR_MIN(w->n_a - first, TILE);
        sr_gemm_here(false, true, rows, cells->k, w->d, 1.0f, w->a + (int64_t)first * w->d, w->d,
                     cells->centre, w->d, 0.0f, w->product, cells->k);
        for (int i = 0; i < rows; i++)
            sr_cells_choose(cells, w->product + (int64_t)i * cells->k, w->o->probes,
                            w->cell + (int64_t)(first + i) * w->o->probes);
    }
}

// Sorts the rows of a by the cells that they probe.
static void sort_queries(Worker *w) {
    int n = w->n_a * w->o->probes;
    int32_t *from = w->cell_from;
    memset(from, 0, ((size_t)w->o->cells->k + 2) * sizeof *from);
    for (int i = 0; i < n; i++)
        from[w->cell[i] + 2]++;
    for (int c = 0; c < w->o->cells->k; c++)
        from[c + 2] += from[c + 1];
    for (int i = 0; i < n; i++)
        w->query[from[w->cell[i] + 1]++] = i / w->o->probes;
}

static void search_cell(Worker *w, int c) {
    const SrCells *cells = w->o->cells;
    int first = w->cell_from[c], queries = w->cell_from[c + 1] - first;
    for (int b = cells->start[c]; queries > 0 && b < cells->start[c + 1]; b += OTHERS) {
        w->n_b = SR_MIN(cells->start[c + 1] - b, OTHERS);
        for (int j = 0; j < w->n_b; j++)
            w->b_row[j] = cells->row[b + j];
        sr_index_take(w->o->to, w->b_row, w->n_b, w->b);
        multiply(w, w->query + first, queries);
    }
}

static void search_cells(Worker *w) {
    choose_cells(w);
    sort_queries(w);
    for (int c = 0; c < w->o->cells->k; c++)
        search_cell(w, c);
}

// ---- the whole ----------------------------------------------------------------------------------

static void search_chunk(void *arg, int64_t c, int thread) {
    const Search *s = arg;
    Worker *w = &s->worker[thread];
    w->a_first = s->done + c * s->chunk;
    w->n_a = (int)SR_MIN(s->rows - w->a_first, s->chunk);
    sr_index_read(w->o->from, w->a_first, w->n_a, w->a);
    sr_glance_left(&w->glance, w->a, w->n_a);
    if (w->o->cells)
        search_cells(w);
    else
        search_all(w);
}

static SrStatus search(Search *s, const char *what) {
    int64_t turn = (int64_t)sr_parallel_threads() * s->chunk; // rows between two looks at the clock
    SrStatus status = SR_OK;
    SrBar bar;
    sr_bar_begin(&bar, what, s->rows);
    for (; status == SR_OK && s->done < s->rows; s->done += turn) {
        int64_t n = SR_MIN(s->rows - s->done, turn);
        sr_parallel_for((n + s->chunk - 1) / s->chunk, search_chunk, s);
        sr_bar_at(&bar, s->done + n);
        status = sr_stop_check();
    }
    sr_bar_end(&bar);
    return status;
}

// Chooses as many rows per chunk as fit next to the rest, in whole tiles.
static int chunk_of(const SrNearOptions *o, int d, int columns) {
    size_t most = o->cells ? MOST_CHUNK_OF_CELLS : MOST_CHUNK, n = (size_t)d;
    size_t rest = ((3 * OTHERS + TILE) * n + TILE * (size_t)(OTHERS + columns)) * sizeof(float);
    size_t row = 2 * n * sizeof(float) + 2 * (size_t)o->probes * sizeof(int32_t);
    size_t share = o->memory / (size_t)sr_parallel_threads();
    size_t fit = share > rest ? (share - rest) / row / TILE * TILE : 0;
    return (int)SR_MAX(SR_MIN(fit, most), TILE);
}

static bool worker_init(Worker *w, const SrNearOptions *o, SrNear *out, const float *centre,
                        int chunk, int columns) {
    size_t d = (size_t)sr_index_dim(o->from), probes = (size_t)o->probes, rows = (size_t)chunk;
    *w = (Worker){.o = o, .out = out, .d = (int)d};
    w->a = sr_alloc(rows * d * sizeof *w->a);
    w->b = sr_alloc(OTHERS * d * sizeof *w->b);
    w->product = sr_alloc(TILE * (size_t)columns * sizeof *w->product);
    w->b_row = sr_alloc(OTHERS * sizeof *w->b_row);
    w->cell = sr_alloc((rows * probes + 1) * sizeof *w->cell);
    w->query = sr_alloc((rows * probes + 1) * sizeof *w->query);
    w->cell_from = sr_alloc(((size_t)columns + 2) * sizeof *w->cell_from);
    SrStatus status =
        sr_glance_init(&w->glance, sr_machine_default(), centre, w->d, chunk, OTHERS, TILE);
    return status == SR_OK && w->a && w->b && w->product && w->b_row && w->cell && w->query &&
           w->cell_from;
}

static void worker_deinit(Worker *w) {
    sr_glance_deinit(&w->glance);
    sr_free(w->a);
    sr_free(w->b);
    sr_free(w->product);
    sr_free(w->b_row);
    sr_free(w->cell);
    sr_free(w->query);
    sr_free(w->cell_from);
}

SrStatus sr_near_rows(const SrNearOptions *options, SrNear *out) {
    SrNearOptions o = *options;
    int d = sr_index_dim(o.from), threads = sr_parallel_threads();
    int columns = o.cells ? o.cells->k : 0;
    if (sr_index_dim(o.to) != d)
        SR_FAIL(SR_ERR_CONFIG, "rows of %d and of %d numbers cannot be compared", d,
                sr_index_dim(o.to));
    o.probes = o.cells ? SR_MIN(o.probes, o.cells->k) : 0;
    const SrRowView to = sr_index_view(o.to, NULL);
    Search s = {.chunk = chunk_of(&o, d, columns),
                .rows = sr_index_rows(o.from),
                .centre = sr_alloc((size_t)d * sizeof *s.centre),
                .worker = sr_calloc((size_t)threads, sizeof(Worker))};
    bool enough = s.worker && s.centre && sr_row_view_middle(&to, s.centre) == SR_OK;
    for (int i = 0; enough && i < threads; i++)
        enough = worker_init(&s.worker[i], &o, out, s.centre, s.chunk, columns);
    sr_near_clear(out, s.rows * o.k);
    SrStatus status = enough ? SR_OK : sr_out_of_memory("blocks of rows");
    if (status == SR_OK && o.cells)
        status = sr_gemm_reserve();
    if (status == SR_OK)
        status = search(&s, o.what);
    for (int i = 0; s.worker && i < threads; i++)
        worker_deinit(&s.worker[i]);
    sr_free(s.worker);
    sr_free(s.centre);
    return status;
}
