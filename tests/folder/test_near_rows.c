// Tests searches of an index against all pairs: nearest rows, one query, copies and their groups.
#include "folder/near_rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "folder/copies.h"
#include "folder/index/index_writer.h"
#include "folder/nearest.h"
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
        CHECK_NEAR(near[i].similarity, again[i].similarity, 1e-6);
    }
    SrNear one[K];
    for (int64_t i = 0; i < N; i += 100) {
        CHECK_OK(sr_nearest(index, m.x + i * D, K, one));
        CHECK_INT(one[0].row, i);
        check_nearest(&m, i, false, one, K);
    }
    sr_free(near);
    sr_free(again);
    sr_matrix_deinit(&m);
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

SR_TESTS(near_rows, unit(test_all_pairs), unit(test_groups), unit(test_threshold_from_data))
