// Tests searches of an index against all pairs: nearest rows, one query, copies and their groups.
#include "folder/near_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "folder/copies.h"
#include "folder/index/index_writer.h"
#include "folder/nearest.h"
#include "folder/picture_match.h"
#include "kernels/core/half.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/temp_dir.h"

enum { N = 700, D = 24, K = 5 };

// Makes an index of n rows from noise.  Rows of one `of` are equal but for small noise.
static SrIndex *make_index(const char *dir, const char *name, int n, int d, int of) {
    char path[160], file[64];
    SrIndexWriter *w;
    SrIndexFile *present;
    SrIndex *index;
    uint32_t *record = sr_alloc((size_t)n * sizeof *record);
    int32_t *label = sr_alloc((size_t)n * sizeof *label);
    uint8_t *noise = sr_alloc((size_t)d);
    float *x = sr_alloc((size_t)d * sizeof *x);
    uint16_t *half = sr_alloc((size_t)d * sizeof *half);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    CHECK_OK(sr_index_writer_open(path, &(SrIndexKind){1, d, "{}"}, &w, &present));
    for (int i = 0; i < n; i++) {
        double length = 0;
        fixture_noise(noise, (size_t)d, (uint64_t)(i % of));
        for (int k = 0; k < d; k++) {
            x[k] = (float)noise[k] - 128 + (float)(i / of * (k % 3));
            length += (double)x[k] * (double)x[k];
        }
        for (int k = 0; k < d; k++)
            x[k] = (float)((double)x[k] / sqrt(length));
        sr__half()->from_float(half, x, d);
        snprintf(file, sizeof file, "%05d.png", i);
        const SrIndexRecord r = {.name = file, .hash = (uint64_t)i, .length = 1};
        CHECK_OK(sr_index_writer_add(w, &r, half, 1));
        record[i] = (uint32_t)i;
        label[i] = -1;
    }
    CHECK_OK(sr_index_writer_list(w, &(SrIndexList){n, record, label, 0, NULL, 0}));
    CHECK_OK(sr_index_writer_close(w));
    sr_free(record);
    sr_free(label);
    sr_free(noise);
    sr_free(x);
    sr_free(half);
    CHECK_OK(sr_index_open(path, &index));
    return index;
}

static double product(const float *a, const float *b, int d) {
    double sum = 0;
    for (int k = 0; k < d; k++)
        sum += (double)a[k] * (double)b[k];
    return sum;
}

// No other row is nearer than the last one of a list, and lists are sorted.
static void check_nearest(const SrMatrix *m, int64_t i, bool self, const SrNear *near, int k) {
    double last = 2;
    int nearer = 0;
    for (int j = 0; j < k; j++) {
        double cosine = product(m->x + i * D, m->x + near[j].row * D, D);
        CHECK_NEAR(near[j].similarity, cosine, 1e-5);
        CHECK(near[j].similarity <= last && !(self && near[j].row == i));
        last = near[j].similarity;
    }
    for (int64_t j = 0; j < m->n; j++)
        nearer += !(self && j == i) && product(m->x + i * D, m->x + j * D, D) > last + 1e-5;
    CHECK(nearer < k);
}

TEST(test_all_pairs) {
    char dir[64];
    SrMatrix m;
    temp_dir_make(dir);
    SrIndex *index = make_index(dir, "x.index", N, D, N);
    SrNear *near = sr_alloc(N * K * sizeof *near), *again = sr_alloc(N * K * sizeof *again);
    SrNearOptions o = {.from = index, .to = index, .self = true, .k = K, .memory = 1 << 30};
    CHECK_OK(sr_index_matrix(index, &m));
    CHECK_OK(sr_near_rows(&o, near));
    for (int64_t i = 0; i < N; i++)
        check_nearest(&m, i, true, near + i * K, K);
    o.memory = 0; // the smallest blocks, and another number of threads
    int threads = sr_parallel_threads();
    sr_parallel_set_threads(threads == 1 ? 2 : 1);
    CHECK_OK(sr_near_rows(&o, again));
    sr_parallel_set_threads(threads);
    for (int i = 0; i < N * K; i++) {
        CHECK_INT(near[i].row, again[i].row);
        CHECK(near[i].similarity == again[i].similarity);
    }
    SrNear one[K];
    for (int64_t i = 0; i < N; i += 100) {
        CHECK_OK(sr_nearest(&(SrNearestOptions){.index = index, .k = K}, m.x + i * D, one));
        CHECK_INT(one[0].row, i);
        check_nearest(&m, i, false, one, K);
    }
    sr_free(near);
    sr_free(again);
    sr_matrix_deinit(&m);
    sr_index_close(index);
    temp_dir_remove(dir);
}

static void cells_equal(const SrCells *a, const SrCells *b) {
    CHECK_INT(a->k, b->k);
    CHECK(memcmp(a->centre, b->centre, (size_t)a->k * D * sizeof *a->centre) == 0);
    CHECK(memcmp(a->start, b->start, ((size_t)a->k + 1) * sizeof *a->start) == 0);
    CHECK(memcmp(a->row, b->row, (size_t)a->n * sizeof *a->row) == 0);
    CHECK(memcmp(a->rank, b->rank, (size_t)a->k * sizeof *a->rank) == 0);
    CHECK_INT(a->sampled, b->sampled);
    CHECK_INT(a->expected, b->expected);
}

// A search of all cells is the exact one, and cells and searches have the same bits for one thread
// and for two.
TEST(test_cells) {
    enum { PROBES = 3 };
    char dir[64], file[160];
    SrCells *cells, *once_more;
    temp_dir_make(dir);
    SrIndex *index = make_index(dir, "x.index", N, D, N);
    SrNear *exact = sr_alloc(N * K * sizeof *exact), *near = sr_alloc(N * K * sizeof *near),
           *again = sr_alloc(N * K * sizeof *again);
    CHECK_OK(sr_cells_open(index, &cells));
    CHECK_INT(cells->k, 26);
    SrNearOptions o = {.from = index, .to = index, .self = true, .k = K, .memory = 1 << 30};
    CHECK_OK(sr_near_rows(&o, exact));
    o.cells = cells;
    o.probes = cells->k;
    CHECK_OK(sr_near_rows(&o, near));
    for (int i = 0; i < N * K; i++) {
        CHECK_INT(near[i].row, exact[i].row);
        CHECK_NEAR(near[i].similarity, exact[i].similarity, 1e-6);
    }
    o.probes = PROBES;
    CHECK_OK(sr_near_rows(&o, near));
    int threads = sr_parallel_threads();
    sr_parallel_set_threads(threads == 1 ? 2 : 1);
    CHECK_OK(sr_near_rows(&o, again));
    CHECK(memcmp(near, again, N * K * sizeof *near) == 0);
    snprintf(file, sizeof file, "%s/x.index.cells", dir);
    CHECK_INT(remove(file), 0);
    CHECK_OK(sr_cells_open(index, &once_more));
    sr_parallel_set_threads(threads);
    cells_equal(cells, once_more);
    sr_cells_close(once_more);
    sr_cells_close(cells);
    sr_free(exact);
    sr_free(near);
    sr_free(again);
    sr_index_close(index);
    temp_dir_remove(dir);
}

// Returns the share of the nearest other rows of all rows that a search of `probes` cells finds.
static double true_recall(const SrIndex *index, const SrMatrix *m, const SrCells *c, int probes) {
    enum { NEAR = SR_CELLS_NEAR + 1 };
    SrNear exact[NEAR], near[NEAR];
    int found = 0;
    for (int64_t i = 0; i < m->n; i++) {
        const float *q = m->x + i * D;
        CHECK_OK(sr_nearest(&(SrNearestOptions){.index = index, .k = NEAR}, q, exact));
        CHECK_OK(sr_nearest(&(SrNearestOptions){index, NEAR, c, probes}, q, near));
        for (int a = 0; a < NEAR; a++)
            for (int b = 0; b < NEAR; b++)
                found += exact[a].row != i && exact[a].row == near[b].row;
    }
    return (double)found / (double)(m->n * SR_CELLS_NEAR);
}

// The recall that is printed is that of searches, for every number of cells.  All rows are sampled.
TEST(test_recall) {
    enum { ROWS = 200 };
    char dir[64];
    SrCells *c;
    SrMatrix m;
    temp_dir_make(dir);
    SrIndex *index = make_index(dir, "x.index", ROWS, D, ROWS / 4);
    CHECK_OK(sr_index_matrix(index, &m));
    CHECK_OK(sr_cells_open(index, &c));
    CHECK_INT(c->sampled, ROWS);
    for (int probes = 1; probes <= c->k; probes++)
        CHECK_NEAR(sr_cells_recall(c, probes), true_recall(index, &m, c, probes), 1e-12);
    CHECK(sr_cells_recall(c, 1) > 0.3 && sr_cells_recall(c, 1) < 0.99);
    CHECK_NEAR(sr_cells_recall(c, c->k), 1, 0);
    CHECK_NEAR(sr_cells_recall(c, 1 << 30), 1, 0);
    sr_cells_close(c);
    sr_matrix_deinit(&m);
    sr_index_close(index);
    temp_dir_remove(dir);
}

// A file of cells is read if it belongs to the rows; a damaged or old one is made once more.
TEST(test_cells_file) {
    char dir[64], file[160];
    SrCells *made, *read;
    temp_dir_make(dir);
    snprintf(file, sizeof file, "%s/x.index.cells", dir);
    SrIndex *index = make_index(dir, "x.index", 100, D, 100);
    CHECK_OK(sr_cells_open(index, &made));
    CHECK_OK(sr_cells_open(index, &read));
    cells_equal(made, read);
    sr_cells_close(read);
    FILE *f = fopen(file, "r+b");
    CHECK(f && fseek(f, -6, SEEK_END) == 0 && fwrite("\xff\xff\xff\xff\xff\xff", 6, 1, f) == 1);
    CHECK_INT(fclose(f), 0); // the last numbers are below 0 now
    CHECK_OK(sr_cells_open(index, &read));
    cells_equal(made, read);
    sr_cells_close(read);
    sr_index_close(index);
    snprintf(file, sizeof file, "%s/x.index", dir);
    CHECK_INT(remove(file), 0);
    index = make_index(dir, "x.index", 100, D, 50);
    CHECK_OK(sr_cells_open(index, &read));
    CHECK(memcmp(made->centre, read->centre, (size_t)made->k * D * sizeof(float)) != 0);
    sr_cells_close(read);
    sr_cells_close(made);
    sr_index_close(index);
    temp_dir_remove(dir);
}

// Groups hold what all pairs hold, and every member reaches the threshold with the keeper.
TEST(test_groups) {
    enum { SETS = 40, EACH = 4 };
    char dir[64];
    SrMatrix m;
    SrCopies c;
    temp_dir_make(dir);
    SrIndex *index = make_index(dir, "x.index", SETS * EACH, D, SETS);
    CHECK_OK(sr_index_matrix(index, &m));
    const SrCopiesOptions o = {.images = index,
                               .looks = {index, index, index},
                               .threshold = 0.995,
                               .false_alarms = 0.01,
                               .memory = 1 << 28};
    CHECK_OK(sr_copies_find(&o, &c));
    int64_t pairs = 0, members = 0;
    for (int64_t i = 0; i < m.n; i++)
        for (int64_t j = i + 1; j < m.n; j++)
            pairs += product(m.x + i * D, m.x + j * D, D) >= 0.995;
    CHECK_INT(c.n_pairs, pairs);
    for (int64_t g = 0; g < c.n_groups; g++) {
        members += c.group[g].n;
        CHECK(g == 0 || c.group[g].n <= c.group[g - 1].n);
        for (int64_t k = 0; k < c.group[g].n; k++) {
            const SrCopyPair *p = &c.member[c.group[g].first + k];
            CHECK_INT(p->a, c.group[g].keeper);
            CHECK_INT(p->a % SETS, p->b % SETS);
            CHECK(product(m.x + p->a * D, m.x + p->b * D, D) >= 0.995 - 1e-5);
        }
    }
    CHECK(members + c.n_groups <= m.n && c.n_groups >= SETS / 2);
    sr_copies_deinit(&c);
    // The other folder holds the same rows: every image is its own copy there.
    SrCopiesOptions against = o;
    against.others = index;
    against.threshold = 0.9999;
    CHECK_OK(sr_copies_find(&against, &c));
    CHECK(c.n_pairs >= m.n && c.n_groups == 0);
    for (int64_t i = 0; i < c.n_pairs; i++)
        CHECK_NEAR(c.pair[i].score, 1, 1e-3);
    sr_copies_deinit(&c);
    sr_matrix_deinit(&m);
    sr_index_close(index);
    temp_dir_remove(dir);
}

// Small pictures propose copies that features keep apart, unless cells make the search approximate.
TEST(test_candidates_by_pictures) {
    enum { PAIRS = 60, PIXELS = SR_PICTURE_SIDE * SR_PICTURE_SIDE };
    char dir[64];
    SrCopies c;
    SrCells *cells;
    temp_dir_make(dir);
    SrIndex *features = make_index(dir, "f.index", 2 * PAIRS, D, 2 * PAIRS);
    SrIndex *pictures = make_index(dir, "p.index", 2 * PAIRS, PIXELS, PAIRS);
    SrCopiesOptions o = {.images = features,
                         .looks = {features, features, features},
                         .thumbnails = pictures,
                         .threshold = 0.9,
                         .false_alarms = 0.01,
                         .memory = 1 << 28};
    CHECK_OK(sr_copies_find(&o, &c));
    CHECK_INT(c.n_pairs, PAIRS);
    for (int64_t i = 0; i < c.n_pairs; i++)
        CHECK_INT(c.pair[i].b - c.pair[i].a, PAIRS);
    sr_copies_deinit(&c);
    CHECK_OK(sr_cells_open(features, &cells));
    o.cells = cells;
    o.probes = 1;
    CHECK_OK(sr_copies_find(&o, &c));
    CHECK(c.n_pairs < PAIRS / 2);
    sr_copies_deinit(&c);
    sr_cells_close(cells);
    sr_index_close(features);
    sr_index_close(pictures);
    temp_dir_remove(dir);
}

// Noise has no copies: the threshold from the data lets few pass, as its rate says.
TEST(test_threshold_from_data) {
    char dir[64];
    SrCopies c;
    temp_dir_make(dir);
    SrIndex *index = make_index(dir, "x.index", N, D, N);
    const SrCopiesOptions o = {.images = index,
                               .looks = {index, index, index},
                               .threshold = NAN,
                               .false_alarms = 0.01,
                               .memory = 1 << 28};
    CHECK_OK(sr_copies_find(&o, &c));
    CHECK(c.from_data && c.threshold > 0.6 && c.threshold < 0.9999);
    CHECK(c.n_pairs <= N / 50);
    sr_copies_deinit(&c);
    sr_index_close(index);
    temp_dir_remove(dir);
}

SR_TESTS(near_rows, unit(test_all_pairs), unit(test_cells), unit(test_recall),
         unit(test_cells_file), unit(test_groups), unit(test_candidates_by_pictures),
         unit(test_threshold_from_data))
