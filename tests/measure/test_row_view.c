// Tests views of rows: every algorithm gives the same bits for rows in memory, for rows that are
// read by blocks, and for picked ones, with any number of threads.
#include "measure/row_view.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "folder/mislabeled.h"
#include "folder/outliers.h"
#include "folder/selection.h"
#include "measure/clusters/kmeans_tree.h"
#include "tests/check.h"
#include "tests/measure/feature_rows.h"

enum { N = 1100, D = 20, CLASSES = 5, CHOSEN = 40, HAVE = 3 };

// Reads rows of a matrix that lies in memory all the same.
static void read_rows(const void *source, const int64_t *row, int64_t first, int64_t n,
                      float *out) {
    const SrMatrix *m = source;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = row ? row[i] : first + i;
        CHECK(at >= 0 && at < m->n);
        memcpy(out + i * m->d, m->x + at * m->d, (size_t)m->d * sizeof *out);
    }
}

static SrRowView read_view(const SrMatrix *m) {
    return (SrRowView){.n = m->n, .d = m->d, .label = m->label, .read = read_rows, .source = m};
}

// Results that the verbs compute from rows.
typedef struct {
    float distance[2][N], leaf[2][N];
    double of_class[2][CLASSES];
    int64_t chosen[3][CHOSEN];
    int64_t cluster[N];
    double doubt[N];
    int suggested[N];
} Answers;

static void find_outliers(const SrRowView *rows, bool per_class, Answers *a) {
    const SrOutlierOptions o = {.per_class = per_class, .share = 0.1};
    SrOutlierReport r;
    CHECK_OK(sr_outliers(&o, rows, &r));
    for (int64_t i = 0; i < r.n; i++) {
        a->distance[per_class][r.v[i].row] = r.v[i].distance;
        a->leaf[per_class][r.v[i].row] = r.v[i].leaf;
    }
    CHECK_INT(r.n_classes, CLASSES);
    for (int c = 0; c < r.n_classes; c++)
        a->of_class[per_class][r.of_class[c].label] = r.of_class[c].distance;
    sr_outliers_deinit(&r);
}

static void find_mislabeled(const SrRowView *rows, Answers *a) {
    SrMislabelReport r;
    CHECK_OK(sr_mislabeled(&(SrMislabelOptions){.share = 0.1}, rows, &r));
    for (int64_t i = 0; i < r.n; i++) {
        a->doubt[r.v[i].row] = r.v[i].doubt;
        a->suggested[r.v[i].row] = r.v[i].suggested;
    }
    sr_mislabeled_deinit(&r);
}

static void answer(const SrRowView *rows, Answers *a) {
    static const int64_t have[HAVE] = {7, 300, 301};
    const int k[2] = {30, 4};
    SrKmeansTree tree;
    memset(a, 0, sizeof *a);
    find_outliers(rows, false, a);
    find_outliers(rows, true, a);
    if (!rows->pick)
        find_mislabeled(rows, a);
    for (int m = 0; m < 3; m++) {
        const SrSelectOptions o = {(SrSelectMethod)m, m == 1 ? NULL : have, m == 1 ? 0 : HAVE, 3};
        CHECK_OK(sr_select_rows(&o, rows, CHOSEN, a->chosen[m]));
    }
    CHECK_OK(sr_kmeans_tree(rows, k, 2, 1, &tree));
    memcpy(a->cluster, tree.label[0], (size_t)rows->n * sizeof *a->cluster);
    sr_kmeans_tree_deinit(&tree);
}

static void make(SrMatrix *m) {
    test_rows_planted(m, N, D, CLASSES, 2, 5);
    sr_matrix_normalize(m, 0);
}

TEST(test_same_bits) {
    int threads = sr_parallel_threads();
    SrMatrix m;
    static Answers memory, read;
    make(&m);
    const SrRowView view = read_view(&m);
    answer(ROWS(m), &memory);
    for (int t = 1; t <= 3; t += 2) {
        sr_parallel_set_threads(t);
        answer(&view, &read);
        CHECK(memcmp(&memory, &read, sizeof memory) == 0);
    }
    sr_parallel_set_threads(threads);
    sr_matrix_deinit(&m);
}

// A scaled view gives the numbers of a standardised matrix, from memory, from a reader and picked.
TEST(test_scaled) {
    enum { PICKED = 300 };
    SrMatrix m, part, plain;
    int64_t pick[PICKED];
    double mean[D], scale[D];
    float space[PICKED * D];
    make(&m);
    for (int64_t i = 0; i < PICKED; i++)
        pick[i] = 3 * i;
    CHECK_OK(sr_matrix_take(&m, pick, PICKED, &part));
    CHECK_OK(sr_matrix_take(&m, pick, PICKED, &plain));
    CHECK_OK(sr_matrix_standardize(&part, NULL));
    const SrRowView views[] = {sr_row_view(&plain), read_view(&plain), sr_row_view(&m),
                               read_view(&m)};
    for (int v = 0; v < SR_COUNT(views); v++) {
        SrRowView view = v < 2 ? views[v] : sr_row_view_pick(&views[v], pick, PICKED);
        CHECK_OK(sr_row_view_moments(&view, mean, scale));
        view.mean = mean;
        view.scale = scale;
        CHECK(sr_row_view_at(&view, 5, PICKED - 5, space) == space);
        CHECK(memcmp(space, part.x + 5 * D, (PICKED - 5) * D * sizeof *space) == 0);
    }
    sr_matrix_deinit(&m);
    sr_matrix_deinit(&part);
    sr_matrix_deinit(&plain);
}

// A picked view of either kind is the matrix of those rows.
TEST(test_picked) {
    enum { PICKED = N / 2 };
    SrMatrix m, part;
    int64_t pick[PICKED];
    static Answers expected, got;
    make(&m);
    for (int64_t i = 0; i < PICKED; i++)
        pick[i] = N - 1 - 2 * i;
    CHECK_OK(sr_matrix_take(&m, pick, PICKED, &part));
    const SrRowView whole[2] = {sr_row_view(&m), read_view(&m)};
    answer(ROWS(part), &expected);
    for (int v = 0; v < 2; v++) {
        // Judging classes picks rows of rows, which views do not do.
        const SrOutlierOptions o = {.share = 0.1};
        const SrRowView view = sr_row_view_pick(&whole[v], pick, PICKED);
        SrOutlierReport r;
        CHECK_OK(sr_outliers(&o, &view, &r));
        for (int64_t i = 0; i < r.n; i++)
            got.distance[0][r.v[i].row] = r.v[i].distance;
        CHECK(memcmp(got.distance[0], expected.distance[0], PICKED * sizeof(float)) == 0);
        CHECK_INT(sr_row_view_classes(&view), CLASSES);
        CHECK_INT(sr_row_view_label(&view, 1), m.label[pick[1]]);
        sr_outliers_deinit(&r);
    }
    sr_matrix_deinit(&m);
    sr_matrix_deinit(&part);
}

// Every allocation of a streamed search may fail.
TEST(test_no_memory) {
    SrMatrix m;
    test_rows_planted(&m, 60, 4, 3, 2, 5);
    sr_matrix_normalize(&m, 0);
    const SrRowView view = read_view(&m);
    const SrOutlierOptions o = {.per_class = true, .share = 0.1};
    int64_t chosen[6], live = sr_mem_live();
    for (int method = -1; method < 3; method++) {
        SrStatus status = SR_ERR_MEMORY;
        const SrSelectOptions select = {.method = (SrSelectMethod)SR_MAX(method, 0)};
        for (int n = 1; status != SR_OK; n++) {
            SrOutlierReport r = {0};
            sr_mem_fail_at(n);
            status =
                method < 0 ? sr_outliers(&o, &view, &r) : sr_select_rows(&select, &view, 6, chosen);
            sr_mem_fail_at(0);
            CHECK(status == SR_OK || status == SR_ERR_MEMORY);
            sr_outliers_deinit(&r);
            CHECK_INT(sr_mem_live(), live);
        }
    }
    sr_matrix_deinit(&m);
}

SR_TESTS(row_view, unit(test_same_bits), unit(test_scaled), unit(test_picked), unit(test_no_memory))
