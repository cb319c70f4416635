// k-means: Lloyd's iterations assign rows and average clusters until no row changes its cluster.
#include "measure/clusters/kmeans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bar.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "kernels/core/gemm.h"

// Rows and centres of a product.  The sizes affect the last bits of the result, so they do not
// depend on the machine.
#define ROW_BLOCK 1024
#define CENTRE_BLOCK 4096
#define DRAW_BLOCK 64 // rows that a thread reads at a time

static SrStatus out_of_memory(int k) { return sr_out_of_memory("%d clusters", k); }

// Computes the squared lengths of n rows of d numbers.
static void squares(const float *x, int64_t n, int d, double *out) {
    for (int64_t i = 0; i < n; i++) {
        out[i] = 0;
        for (int j = 0; j < d; j++)
            out[i] += (double)x[i * d + j] * (double)x[i * d + j];
    }
}

// ---- assignment ---------------------------------------------------------------------------------

typedef struct {
    const SrKmeans *km;
    const float *dot;     // (rows, CENTRE_BLOCK)
    const double *square; // (k) squared lengths of the centres
    int first, columns;   // first centre in dot, and their number
    double *best;         // (rows) score of the nearest so far: product - half the square
    int64_t *label;       // (rows) the nearest so far, -1: none
} Scan;

static void scan_row(void *arg, int64_t i, int thread) {
    (void)thread;
    const Scan *s = arg;
    const float *dot = s->dot + i * CENTRE_BLOCK; // (columns)
    for (int c = 0; c < s->columns; c++) {
        double score = (double)dot[c] - (s->km->spherical ? 0 : 0.5 * s->square[s->first + c]);
        if (s->label[i] < 0 || score > s->best[i]) {
            s->best[i] = score;
            s->label[i] = s->first + c;
        }
    }
}

// Memory of an assignment, shared by all iterations.
typedef struct {
    float *dot;     // (ROW_BLOCK, CENTRE_BLOCK)
    float *space;   // ROW_BLOCK rows; NULL: the rows lie in memory
    double *square; // (k)
    double best[ROW_BLOCK];
} Work;

static SrStatus work_init(Work *w, const SrRowView *f, int k) {
    *w = (Work){.dot = sr_alloc(sizeof(float) * ROW_BLOCK * CENTRE_BLOCK),
                .square = sr_calloc((size_t)k, sizeof(double))};
    SR_TRY(sr_row_view_space(f, ROW_BLOCK, &w->space));
    return w->dot && w->square ? SR_OK : out_of_memory(k);
}

static void work_deinit(Work *w) {
    sr_free(w->dot);
    sr_free(w->space);
    sr_free(w->square);
}

static void assign(const SrKmeans *km, const SrRowView *f, Work *w, int64_t *label,
                   float *distance) {
    squares(km->centre, km->k, km->d, w->square);
    SR_ASSERT(f->d == km->d && km->k > 0);
    for (int64_t at = 0; at < f->n; at += ROW_BLOCK) {
        int rows = (int)SR_MIN(f->n - at, ROW_BLOCK);
        const float *x = sr_row_view_at_once(f, at, rows, w->space); // (rows, d)
        for (int i = 0; i < rows; i++)
            label[at + i] = -1;
        for (int first = 0; first < km->k; first += CENTRE_BLOCK) {
            int columns = SR_MIN(km->k - first, CENTRE_BLOCK);
            sr_gemm(false, true, rows, columns, f->d, 1.0f, x, f->d,
                    km->centre + (int64_t)first * f->d, f->d, 0.0f, w->dot, CENTRE_BLOCK);
            Scan s = {km, w->dot, w->square, first, columns, w->best, label + at};
            sr_parallel_for(rows, scan_row, &s);
        }
        for (int i = 0; distance && i < rows; i++) {
            double square;
            squares(x + (int64_t)i * f->d, 1, f->d, &square);
            distance[at + i] =
                (float)(km->spherical ? 1 - w->best[i] : fmax(square - 2 * w->best[i], 0));
        }
    }
}

SrStatus sr_kmeans_assign(const SrKmeans *km, const SrRowView *f, int64_t *label, float *distance) {
    Work *w = sr_alloc(sizeof *w);
    if (!w)
        return out_of_memory(km->k);
    SrStatus status =
        f->d == km->d ? work_init(w, f, km->k)
                      : sr_fail(SR_ERR_CONFIG, "the rows have %d numbers, but the centres have %d",
                                f->d, km->d);
    if (status == SR_OK)
        assign(km, f, w, label, distance);
    if (f->d == km->d)
        work_deinit(w);
    sr_free(w);
    return status;
}

// ---- first centres ------------------------------------------------------------------------------

typedef struct {
    const SrRowView *f;
    const float *centre; // (d) the newest centre
    double *nearest;     // (n) squared distance to the nearest centre so far
    float *space;        // DRAW_BLOCK rows per thread; NULL: the rows lie in memory
    bool first;          // `centre` is the first one
} Nearest;

static double square_between(const float *x, const float *y, int d) {
    double sum = 0;
    for (int j = 0; j < d; j++) {
        double diff = (double)x[j] - (double)y[j];
        sum += diff * diff;
    }
    return sum;
}

static void nearer(void *arg, int64_t block, int thread) {
    const Nearest *p = arg;
    int d = p->f->d;
    int64_t first = block * DRAW_BLOCK, n = SR_MIN(p->f->n - first, DRAW_BLOCK);
    float *space = p->space ? p->space + (int64_t)thread * DRAW_BLOCK * d : NULL;
    const float *x = sr_row_view_at(p->f, first, n, space); // (n, d)
    for (int64_t i = 0; i < n; i++) {
        double square = square_between(x + i * d, p->centre, d);
        p->nearest[first + i] = p->first ? square : fmin(p->nearest[first + i], square);
    }
}

// Draws a row with probability proportional to its squared distance; evenly if all distances are 0.
static int64_t draw_row(const double *nearest, int64_t n, SrRng *rng) {
    double total = 0, at = 0;
    for (int64_t i = 0; i < n; i++)
        total += nearest[i];
    double u = sr_rng_uniform(rng) * total;
    for (int64_t i = 0; i < n; i++) {
        at += nearest[i];
        if (nearest[i] > 0 && at > u)
            return i;
    }
    return (int64_t)sr_rng_below(rng, (uint32_t)n);
}

// Makes a row the centre c.
static void copy_row(const SrRowView *f, int64_t row, int64_t c, SrKmeans *km) {
    float *centre = km->centre + c * f->d;
    const float *x = sr_row_view_at(f, row, 1, centre);
    if (x != centre)
        memcpy(centre, x, (size_t)f->d * sizeof *centre);
}

static SrStatus given_centres(const SrKmeansOptions *o, const SrRowView *f, SrKmeans *km) {
    for (int c = 0; c < o->k; c++)
        copy_row(f, o->first[c], c, km);
    return SR_OK;
}

static SrStatus drawn_centres(const SrKmeansOptions *o, const SrRowView *f, SrKmeans *km) {
    SrRng rng = sr_rng(o->seed, SR_RNG_CLUSTER, 0, 0, 0, 0);
    Nearest p = {.f = f, .nearest = sr_alloc((size_t)f->n * sizeof *p.nearest)};
    SrStatus status =
        p.nearest ? sr_row_view_space(f, (int64_t)sr_parallel_threads() * DRAW_BLOCK, &p.space)
                  : out_of_memory(o->k);
    for (int c = 0; status == SR_OK && c < o->k; c++) {
        int64_t row =
            c ? draw_row(p.nearest, f->n, &rng) : (int64_t)sr_rng_below(&rng, (uint32_t)f->n);
        copy_row(f, row, c, km);
        p.centre = km->centre + (int64_t)c * f->d;
        p.first = c == 0;
        sr_parallel_for((f->n + DRAW_BLOCK - 1) / DRAW_BLOCK, nearer, &p);
    }
    sr_free(p.nearest);
    sr_free(p.space);
    return status;
}

// ---- averages -----------------------------------------------------------------------------------

typedef struct {
    SrKmeans *km;
    const SrRowView *f;
    const int64_t *start,
        *order;   // (k + 1), (n): rows of cluster c are order[start[c] .. start[c + 1])
    double *sum;  // (threads, d)
    float *space; // (threads, d)
} Average;

// Computes centre c, the mean of its rows in double, in the rows' order.  Spherical: scales it to
// length 1.
static void average(void *arg, int64_t c, int thread) {
    const Average *p = arg;
    int d = p->f->d;
    float *centre = p->km->centre + c * d;
    double *sum = p->sum + (int64_t)thread * d, length = 0;
    int64_t n = p->start[c + 1] - p->start[c];
    if (n == 0)
        return;
    memset(sum, 0, (size_t)d * sizeof *sum);
    for (int64_t i = p->start[c]; i < p->start[c + 1]; i++) {
        const float *x = sr_row_view_at(p->f, p->order[i], 1, p->space + (int64_t)thread * d);
        for (int j = 0; j < d; j++)
            sum[j] += (double)x[j];
    }
    for (int j = 0; j < d; j++) {
        centre[j] = (float)(sum[j] / (double)n);
        length += (double)centre[j] * (double)centre[j];
    }
    for (int j = 0; p->km->spherical && length > 0 && j < d; j++)
        centre[j] = (float)((double)centre[j] / sqrt(length));
}

// Sorts the rows by cluster and keeps their order within a cluster.  start: (k + 2).
static void sort_rows(const int64_t *label, int64_t n, int k, int64_t *start, int64_t *order) {
    memset(start, 0, (size_t)(k + 2) * sizeof *start);
    for (int64_t i = 0; i < n; i++)
        start[label[i] + 2]++;
    for (int c = 0; c < k; c++)
        start[c + 2] += start[c + 1];
    for (int64_t i = 0; i < n; i++)
        order[start[label[i] + 1]++] = i;
}

// Gives each empty cluster the row that is farthest from its centre; a row moves at most once.
static void fill_empty(int k, int64_t n, const int64_t *start, float *distance, int64_t *label) {
    for (int c = 0; c < k; c++) {
        if (start[c + 1] > start[c])
            continue;
        int64_t far = 0;
        for (int64_t i = 1; i < n; i++)
            if (distance[i] > distance[far])
                far = i;
        distance[far] = -1;
        label[far] = c;
    }
}

typedef struct {
    Work work;
    int64_t *label, *last, *start, *order;
    float *distance;
    double *sum; // (threads, d)
    float *row;  // (threads, d)
} Lloyd;

static SrStatus lloyd_init(Lloyd *l, const SrRowView *f, int k) {
    size_t rows = (size_t)f->n * sizeof(int64_t),
           numbers = (size_t)sr_parallel_threads() * (size_t)f->d;
    l->label = sr_alloc(rows);
    l->last = sr_alloc(rows);
    l->order = sr_alloc(rows);
    l->start = sr_alloc(((size_t)k + 2) * sizeof *l->start);
    l->distance = sr_alloc((size_t)f->n * sizeof *l->distance);
    l->sum = sr_alloc(numbers * sizeof *l->sum);
    l->row = sr_alloc(numbers * sizeof *l->row);
    if (!l->label || !l->last || !l->order || !l->start || !l->distance || !l->sum || !l->row)
        return out_of_memory(k);
    return work_init(&l->work, f, k);
}

static void lloyd_deinit(Lloyd *l) {
    work_deinit(&l->work);
    sr_free(l->label);
    sr_free(l->last);
    sr_free(l->order);
    sr_free(l->start);
    sr_free(l->distance);
    sr_free(l->sum);
    sr_free(l->row);
    sr_free(l);
}

// Runs one iteration.  Returns false if no row changed its cluster.
static bool turn(const SrKmeansOptions *o, const SrRowView *f, Lloyd *l, SrKmeans *km) {
    size_t bytes = (size_t)f->n * sizeof *l->label;
    assign(km, f, &l->work, l->label, l->distance);
    sort_rows(l->label, f->n, o->k, l->start, l->order);
    if (!o->keep_empty)
        fill_empty(o->k, f->n, l->start, l->distance, l->label);
    if (km->iterations > 0 && memcmp(l->label, l->last, bytes) == 0)
        return false;
    sort_rows(l->label, f->n, o->k, l->start, l->order);
    Average p = {km, f, l->start, l->order, l->sum, l->row};
    sr_parallel_for(o->k, average, &p);
    memcpy(l->last, l->label, bytes);
    return true;
}

static void iterate(const SrKmeansOptions *o, const SrRowView *f, Lloyd *l, SrKmeans *km) {
    SrBar bar;
    sr_bar_begin(&bar, "iterations of k-means", o->iterations);
    for (km->iterations = 0; km->iterations < o->iterations; km->iterations++) {
        sr_bar_at(&bar, km->iterations);
        if (!turn(o, f, l, km))
            break;
    }
    sr_bar_end(&bar);
}

SrStatus sr_kmeans(const SrKmeansOptions *o, const SrRowView *f, SrKmeans *out) {
    *out = (SrKmeans){.k = o->k, .d = f->d, .spherical = o->spherical};
    if (f->n < o->k || f->n > INT32_MAX)
        SR_FAIL(SR_ERR_CONFIG, "%lld rows cannot form %d clusters; lower CLUSTERFIT.NUM_CLUSTERS",
                (long long)f->n, o->k);
    out->centre = sr_calloc((size_t)o->k * (size_t)f->d, sizeof *out->centre);
    Lloyd *l = sr_calloc(1, sizeof *l);
    SrStatus status = out->centre && l ? lloyd_init(l, f, o->k) : out_of_memory(o->k);
    if (status == SR_OK)
        status = (o->first ? given_centres : drawn_centres)(o, f, out);
    if (status == SR_OK)
        iterate(o, f, l, out);
    else
        sr_kmeans_deinit(out);
    if (l)
        lloyd_deinit(l);
    return status;
}

void sr_kmeans_deinit(SrKmeans *km) {
    sr_free(km->centre);
    *km = (SrKmeans){0};
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

// Sorts the rows by cluster and label, and adds up the longest run of each cluster.
SrStatus sr_kmeans_purity(const SrMatrix *f, const int64_t *cluster, int k, double *out) {
    int64_t classes = sr_matrix_classes(f), n = 0, kept = 0,
            *pair = sr_alloc((size_t)f->n * sizeof *pair);
    *out = -1;
    if (!pair)
        return out_of_memory(k);
    for (int64_t i = 0; i < f->n && !f->target; i++)
        if (f->label[i] >= 0)
            pair[n++] = cluster[i] * classes + f->label[i];
    qsort(pair, (size_t)n, sizeof *pair, by_value);
    for (int64_t i = 0, best = 0; i < n;) {
        int64_t run = i;
        while (run < n && pair[run] == pair[i])
            run++;
        best = SR_MAX(best, run - i);
        if (run == n || pair[run] / classes != pair[i] / classes) {
            kept += best;
            best = 0;
        }
        i = run;
    }
    if (n > 0)
        *out = 100.0 * (double)kept / (double)n;
    sr_free(pair);
    return SR_OK;
}
