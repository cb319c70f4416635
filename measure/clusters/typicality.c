// Typical rows: clusters, typicality inside each, then one pick at a time.
#include "measure/clusters/typicality.h"

#include <math.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "measure/clusters/kmeans.h"
#include "measure/neighbours/nearest_rows.h"

enum { LEAST_ROWS = 5, ITERATIONS = 50 };

SrStatus sr_typicality(const SrRowView *rows, float *typicality) {
    int k = (int)SR_MIN(rows->n - 1, (int64_t)SR_TYPICALITY_NEIGHBOURS);
    for (int64_t i = 0; i < rows->n; i++)
        typicality[i] = 0;
    if (k < 1)
        return SR_OK;
    float *distance = sr_alloc((size_t)rows->n * (size_t)k * sizeof *distance);
    SR_TRY_MEMORY(distance, "neighbours of %lld rows", (long long)rows->n);
    SrStatus status = sr_nearest_rows(rows, k, NULL, distance);
    for (int64_t i = 0; status == SR_OK && i < rows->n; i++) {
        double sum = 0;
        for (int j = 0; j < k; j++)
            sum += sqrt(2 * (double)distance[i * k + j]);
        // A row that is not finite has no distances.  Rows that are all equal are as typical as
        // can be.
        typicality[i] = isnan(sum) ? 0 : (float)(k / fmax(sum, 1e-6 * k));
    }
    sr_free(distance);
    return status;
}

typedef struct {
    SrKmeans km;
    int64_t *label;  // (n) cluster of each row
    int64_t *size;   // (clusters) rows
    int64_t *taken;  // (clusters) rows that were chosen
    int64_t *open;   // (clusters) rows that may be chosen
    int8_t *used;    // (n) 1: chosen
    int64_t *member; // (n) work space
    float *typical;  // (n) of each row
    float *part;     // (n) work space
} Work;

static SrStatus work_init(Work *w, int64_t n, int clusters) {
    size_t rows = (size_t)n, k = (size_t)clusters;
    w->label = sr_alloc(rows * sizeof *w->label);
    w->size = sr_calloc(k, sizeof *w->size);
    w->taken = sr_calloc(k, sizeof *w->taken);
    w->open = sr_calloc(k, sizeof *w->open);
    w->used = sr_calloc(rows, 1);
    w->member = sr_alloc(rows * sizeof *w->member);
    w->typical = sr_alloc(rows * sizeof *w->typical);
    w->part = sr_alloc(rows * sizeof *w->part);
    if (!w->label || !w->size || !w->taken || !w->open || !w->used || !w->member || !w->typical ||
        !w->part)
        return sr_out_of_memory("a choice among %lld rows", (long long)n);
    return SR_OK;
}

static void work_deinit(Work *w) {
    sr_kmeans_deinit(&w->km);
    sr_free(w->label);
    sr_free(w->size);
    sr_free(w->taken);
    sr_free(w->open);
    sr_free(w->used);
    sr_free(w->member);
    sr_free(w->typical);
    sr_free(w->part);
}

// Computes the typicality of the rows of one cluster among themselves.
static SrStatus judge_cluster(const SrRowView *rows, int64_t cluster, Work *w) {
    int64_t n = 0;
    for (int64_t i = 0; i < rows->n; i++)
        if (w->label[i] == cluster)
            w->member[n++] = i;
    if (n == 0)
        return SR_OK;
    SrRowView part = sr_row_view_pick(rows, w->member, n);
    SR_TRY(sr_typicality(&part, w->part));
    for (int64_t i = 0; i < n; i++)
        w->typical[w->member[i]] = w->part[i];
    return SR_OK;
}

// Returns true if cluster a is asked before cluster b.
static bool comes_before(const Work *w, int a, int b) {
    bool small_a = w->size[a] < LEAST_ROWS, small_b = w->size[b] < LEAST_ROWS;
    if (small_a != small_b)
        return small_b;
    if (w->taken[a] != w->taken[b])
        return w->taken[a] < w->taken[b];
    return w->size[a] > w->size[b];
}

static int64_t pick(const Work *w, int64_t n) {
    int cluster = -1;
    int64_t best = -1;
    for (int c = 0; c < w->km.k; c++)
        if (w->open[c] > 0 && (cluster < 0 || comes_before(w, c, cluster)))
            cluster = c;
    for (int64_t i = 0; i < n; i++)
        if (w->label[i] == cluster && !w->used[i] && (best < 0 || w->typical[i] > w->typical[best]))
            best = i;
    return best;
}

static void use(Work *w, int64_t row) {
    w->used[row] = 1;
    w->taken[w->label[row]]++;
    w->open[w->label[row]]--;
}

static SrStatus cluster_rows(const SrTypicalityOptions *o, const SrRowView *rows, int clusters,
                             Work *w) {
    SrKmeansOptions km = {.k = clusters, .iterations = ITERATIONS, .seed = o->seed};
    SR_TRY(work_init(w, rows->n, clusters));
    SR_TRY(sr_kmeans(&km, rows, &w->km));
    SR_TRY(sr_kmeans_assign(&w->km, rows, w->label, NULL));
    for (int64_t i = 0; i < rows->n; i++) {
        w->size[w->label[i]]++;
        w->open[w->label[i]]++;
    }
    for (int c = 0; c < clusters; c++)
        SR_TRY(judge_cluster(rows, c, w));
    for (int64_t i = 0; i < o->n_have; i++)
        if (!w->used[o->have[i]])
            use(w, o->have[i]);
    return SR_OK;
}

SrStatus sr_typical_rows(const SrTypicalityOptions *options, const SrRowView *rows, int64_t k,
                         int64_t *chosen, float *typicality) {
    Work w = {0};
    int64_t wanted = k + options->n_have;
    if (wanted > rows->n)
        SR_FAIL(SR_ERR_CONFIG, "%lld rows are to be chosen, but only %lld are free", (long long)k,
                (long long)(rows->n - options->n_have));
    SrStatus status =
        cluster_rows(options, rows, (int)SR_MIN(wanted, (int64_t)SR_TYPICALITY_CLUSTERS), &w);
    for (int64_t i = 0; status == SR_OK && i < k; i++) {
        chosen[i] = pick(&w, rows->n);
        use(&w, chosen[i]);
    }
    for (int64_t i = 0; status == SR_OK && typicality && i < rows->n; i++)
        typicality[i] = w.typical[i];
    work_deinit(&w);
    return status;
}
