// Measures an index of many rows: writing it, opening it, one query, copies among all rows within a
// bound of memory, agreement with brute force, and searches whose rows are held in memory or read
// from the file.  `make bench-index` runs the first four.
//
//     index-bench make FILE ROWS MODEL LAYER     rows of the length that MODEL gives at LAYER
//     index-bench query FILE                     opens the file and searches for one row
//     index-bench exact FILE QUERIES             8 nearest of so many rows among all, and brute force
//     index-bench duplicates FILE PROBES         copies among all rows by cells; 0: exactly
//     index-bench outliers|centres|typical FILE held|file
//
// A row is the direction of its cluster plus noise of the same length; clusters have 500 rows.
// Every 100th row is a copy of an earlier one with a fiftieth of noise, which `duplicates` has to
// find.  `sslrun search IMAGE --index FILE` reads the file as that of MODEL.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "folder/copies.h"
#include "folder/index/index_writer.h"
#include "folder/near_rows.h"
#include "folder/nearest.h"
#include "folder/outliers.h"
#include "folder/selection.h"
#include "kernels/core/half.h"

enum {
    BLOCK = 4096,
    CLUSTER = 500,
    COPY_EVERY = 100,
    COPY_OF = 57, // rows before the copy
    NEAR = 8,
    BRUTE = 200 // queries that are checked by brute force
};
#define MEMORY ((size_t)1 << 30)
#define COPY_NOISE 0.02
#define COPY_COSINE 0.99f

static void check(SrStatus status) {
    if (status != SR_OK) {
        fprintf(stderr, "%s\n", sr_status_message());
        exit(1);
    }
}

static long peak_mb(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return use.ru_maxrss / 1024;
}

// ---- rows ---------------------------------------------------------------------------------------

// Adds a random direction of length `size` that `stream` and i determine.
static void add_direction(uint32_t stream, int64_t i, double size, float *x, int d) {
    SrRng rng = sr_rng(0, SR_RNG_TEST, stream, (uint64_t)i, 0, 0);
    float y[4096];
    double sum = 0;
    sr_rng_fill_range(&rng, -1, 1, y, d);
    for (int j = 0; j < d; j++)
        sum += (double)y[j] * (double)y[j];
    for (int j = 0; j < d; j++)
        x[j] += (float)(size * (double)y[j] / sqrt(sum));
}

static bool is_copy(int64_t i) { return i % COPY_EVERY == COPY_EVERY - 1; }

static void make_row(int64_t i, int64_t n, float *x, int d) {
    int64_t of = is_copy(i) ? i - COPY_OF : i, clusters = (n + CLUSTER - 1) / CLUSTER;
    double sum = 0;
    memset(x, 0, (size_t)d * sizeof *x);
    add_direction(0, (int64_t)(sr_hash_bytes(&of, sizeof of) % (uint64_t)clusters), 1, x, d);
    add_direction(1, of, 1, x, d);
    if (is_copy(i))
        add_direction(2, i, COPY_NOISE, x, d);
    for (int j = 0; j < d; j++)
        sum += (double)x[j] * (double)x[j];
    for (int j = 0; j < d; j++)
        x[j] = (float)((double)x[j] / sqrt(sum));
}

static void add_rows(SrIndexWriter *w, const float *x, int64_t first, int n, int d) {
    static SrIndexRecord record[BLOCK];
    static char name[BLOCK][32];
    uint16_t *half = sr_alloc((size_t)n * (size_t)d * sizeof *half);
    for (int k = 0; k < n; k++) {
        snprintf(name[k], sizeof name[k], "images/%08lld.jpg", (long long)(first + k));
        record[k] = (SrIndexRecord){
            .name = name[k], .hash = (uint64_t)(first + k), .length = 1, .bytes = 1};
    }
    sr__half()->from_float(half, x, (int64_t)n * d);
    check(sr_index_writer_add(w, record, half, n));
    sr_free(half);
}

static void finish(SrIndexWriter *w, int64_t n) {
    uint32_t *number = sr_alloc((size_t)n * sizeof *number);
    int32_t *label = sr_alloc((size_t)n * sizeof *label);
    for (int64_t i = 0; i < n; i++) {
        number[i] = (uint32_t)i;
        label[i] = -1;
    }
    check(sr_index_writer_list(w, &(SrIndexList){n, number, label, 0, NULL, 0}));
    check(sr_index_writer_close(w));
    sr_free(number);
    sr_free(label);
}

static void make(const char *path, int64_t n, const char *model, const char *layer) {
    SrEmbedder *e;
    SrIndexWriter *w;
    SrIndexFile *present;
    check(sr_embedder_open(&(SrEmbedOptions){.model = model, .layer = layer}, &e));
    int d = sr_embedder_dim(e);
    float *x = sr_alloc((size_t)BLOCK * (size_t)d * sizeof *x);
    remove(path);
    check(sr_index_writer_open(
        path, &(SrIndexKind){sr_embedder_key(e), d, sr_embedder_description(e)}, &w, &present));
    for (int64_t i = 0; i < n; i += BLOCK) {
        int rows = (int)SR_MIN(n - i, BLOCK);
        for (int k = 0; k < rows; k++)
            make_row(i + k, n, x + (int64_t)k * d, d);
        add_rows(w, x, i, rows, d);
    }
    finish(w, n);
    sr_free(x);
    sr_embedder_close(e);
    printf("%s: %lld rows of %d numbers\n", path, (long long)n, d);
}

// ---- searches -----------------------------------------------------------------------------------

static void query(const char *path) {
    SrIndex *index;
    SrNear near[NEAR];
    double began = sr_clock();
    check(sr_index_open(path, &index));
    double opened = sr_clock();
    int64_t n = sr_index_rows(index);
    float *q = sr_alloc((size_t)sr_index_dim(index) * sizeof *q);
    sr_index_read(index, n / 2, 1, q);
    check(sr_nearest(&(SrNearestOptions){.index = index, .k = NEAR}, q, near));
    printf("open %.1f ms, first query among %lld rows %.1f ms\n", 1e3 * (opened - began),
           (long long)n, 1e3 * (sr_clock() - opened));
    sr_free(q);
    sr_index_close(index);
}

// Returns how many of the k nearest rows of q by products in double are in `near`.
static int brute_force(const SrMatrix *m, const float *q, const SrNear *near) {
    SrNear best[NEAR];
    int found = 0;
    sr_near_clear(best, NEAR);
    for (int64_t i = 0; i < m->n; i++) {
        double sum = 0;
        for (int j = 0; j < m->d; j++)
            sum += (double)q[j] * (double)m->x[i * m->d + j];
        sr_near_insert(best, NEAR, (uint32_t)i, (float)sum);
    }
    for (int a = 0; a < NEAR; a++)
        for (int b = 0; b < NEAR; b++)
            found += near[a].row == best[b].row;
    return found;
}

// The queries are rows at even distances, in an index of their own.
static void exact(const char *path, int64_t queries) {
    SrIndex *all, *some;
    SrIndexWriter *w;
    SrIndexFile *present;
    SrMatrix m;
    char part[4096];
    check(sr_index_open(path, &all));
    int d = sr_index_dim(all), found = 0;
    float *x = sr_alloc((size_t)queries * (size_t)d * sizeof *x);
    int64_t *row = sr_alloc((size_t)queries * sizeof *row);
    for (int64_t i = 0; i < queries; i++)
        row[i] = i * sr_index_rows(all) / queries;
    sr_index_take(all, row, queries, x);
    snprintf(part, sizeof part, "%s.part", path);
    remove(part);
    check(sr_index_writer_open(part, &(SrIndexKind){1, d, "{}"}, &w, &present));
    for (int64_t i = 0; i < queries; i += BLOCK)
        add_rows(w, x + i * d, i, (int)SR_MIN(queries - i, BLOCK), d);
    finish(w, queries);
    check(sr_index_open(part, &some));
    SrNear *near = sr_alloc((size_t)queries * NEAR * sizeof *near);
    double began = sr_clock();
    check(sr_near_rows(
        &(SrNearOptions){.from = some, .to = all, .k = NEAR, .memory = MEMORY / 2, .what = "rows"},
        near));
    printf("%d nearest of %lld rows among %lld, exactly: %.1f s, peak memory %ld MB\n", NEAR,
           (long long)queries, (long long)sr_index_rows(all), sr_clock() - began, peak_mb());
    check(sr_index_matrix(all, &m));
    int64_t checked = SR_MIN(queries, BRUTE);
    for (int64_t c = 0; c < checked; c++) {
        int64_t i = c * queries / checked;
        found += brute_force(&m, x + i * d, near + i * NEAR);
    }
    printf("agreement with brute force on %lld of them: %d of %lld neighbours\n",
           (long long)checked, found, (long long)checked * NEAR);
    sr_index_close(some);
    remove(part);
    sr_index_close(all);
    sr_matrix_deinit(&m);
    sr_free(x);
    sr_free(row);
    sr_free(near);
}

// All looks have the same rows here; they cost what three different ones do.
static void duplicates(const char *path, int probes) {
    SrIndex *index;
    SrCells *cells = NULL;
    SrCopies copies;
    double began = sr_clock();
    check(sr_index_open(path, &index));
    if (probes) {
        check(sr_cells_open(index, &cells));
        printf("cells: %.1f s, recall %.4f with %d of %d cells\n", sr_clock() - began,
               sr_cells_recall(cells, probes), probes, cells->k);
    }
    began = sr_clock();
    check(sr_copies_find(&(SrCopiesOptions){.images = index,
                                            .looks = {index, index, index},
                                            .cells = cells,
                                            .probes = probes,
                                            .threshold = (double)COPY_COSINE,
                                            .false_alarms = 0.01,
                                            .memory = MEMORY},
                         &copies));
    int64_t right = 0, planted = sr_index_rows(index) / COPY_EVERY;
    for (int64_t i = 0; i < copies.n_pairs; i++)
        right += is_copy(copies.pair[i].b) && copies.pair[i].a == copies.pair[i].b - COPY_OF;
    printf(
        "duplicates, three looks: %.1f s, peak memory %ld MB; %lld pairs, %lld of %lld planted\n",
        sr_clock() - began, peak_mb(), (long long)copies.n_pairs, (long long)right,
        (long long)planted);
    sr_copies_deinit(&copies);
    sr_cells_close(cells);
    sr_index_close(index);
}

// Runs a search and prints its time, the largest memory of the process and a hash of the answer.
static void search_all(const char *path, const char *what, bool held) {
    enum { CHOSEN = 200 };
    SrIndex *index;
    check(sr_index_open(path, &index));
    int64_t *label = sr_calloc((size_t)sr_index_rows(index), sizeof *label), chosen[CHOSEN];
    SrMatrix matrix = {0};
    SrOutlierReport report = {0};
    uint64_t hash;
    if (held)
        check(sr_index_matrix(index, &matrix));
    SrRowView rows = held ? sr_row_view(&matrix) : sr_index_view(index, label);
    double began = sr_clock();
    if (strcmp(what, "outliers") == 0) {
        check(sr_outliers(&(SrOutlierOptions){.share = 0.1}, &rows, &report));
        hash = sr_hash_bytes(report.v, (size_t)report.n * sizeof *report.v);
    } else {
        SrSelectMethod method = strcmp(what, "centres") ? SR_SELECT_TYPICAL : SR_SELECT_CENTRES;
        check(sr_select_rows(&(SrSelectOptions){.method = method}, &rows, CHOSEN, chosen));
        hash = sr_hash_bytes(chosen, sizeof chosen);
    }
    printf("%s, rows %s: %.1f s, peak memory %ld MB, answer %016llx\n", what,
           held ? "held" : "in the file", sr_clock() - began, peak_mb(), (unsigned long long)hash);
    sr_outliers_deinit(&report);
    sr_matrix_deinit(&matrix);
    sr_free(label);
    sr_index_close(index);
}

int main(int argc, char **argv) {
    const char *verb = argc > 2 ? argv[1] : "", *path = argc > 2 ? argv[2] : "";
    sr_parallel_init();
    if (strcmp(verb, "make") == 0 && argc == 6)
        make(path, atoll(argv[3]), argv[4], argv[5]);
    else if (strcmp(verb, "query") == 0 && argc == 3)
        query(path);
    else if (strcmp(verb, "exact") == 0 && argc == 4)
        exact(path, atoll(argv[3]));
    else if (strcmp(verb, "duplicates") == 0 && argc == 4)
        duplicates(path, atoi(argv[3]));
    else if (argc == 4)
        search_all(path, verb, strcmp(argv[3], "held") == 0);
    else
        return 2;
    return 0;
}
