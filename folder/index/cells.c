// Makes, saves and reads the cells of an index.
#include "folder/index/cells.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "formats/weights/safetensors.h"
#include "kernels/core/gemm.h"
#include "measure/clusters/kmeans.h"
#include "measure/neighbours/knn.h"

enum {
    ITERATIONS = 10,
    ROWS_PER_CENTRE = 64, // sampled for k-means
    SAMPLE = 256          // rows by which recall is measured
};
#define VERSION "1"

static SrStatus out_of_memory(const SrCells *c) { return sr_out_of_memory("%d cells", c->k); }

static SrStatus cells_init(SrCells *c, int k, const SrIndex *index) {
    *c = (SrCells){.k = k, .d = sr_index_dim(index), .n = sr_index_rows(index)};
    c->centre = sr_alloc((size_t)k * (size_t)c->d * sizeof *c->centre);
    c->start = sr_calloc((size_t)k + 1, sizeof *c->start);
    c->row = sr_alloc((size_t)c->n * sizeof *c->row);
    c->rank = sr_calloc((size_t)k, sizeof *c->rank);
    return c->centre && c->start && c->row && c->rank ? SR_OK : out_of_memory(c);
}

void sr_cells_close(SrCells *c) {
    if (!c)
        return;
    sr_free(c->centre);
    sr_free(c->start);
    sr_free(c->row);
    sr_free(c->rank);
    sr_free(c);
}

void sr_cells_choose(const SrCells *c, const float *product, int probes, int32_t *out) {
    int n = 0;
    for (int32_t cell = 0; cell < c->k; cell++) {
        if (n == probes && !(product[cell] > product[out[n - 1]]))
            continue;
        int at = n < probes ? n++ : n - 1;
        for (; at > 0 && product[cell] > product[out[at - 1]]; at--)
            out[at] = out[at - 1];
        out[at] = cell;
    }
}

// ---- making -------------------------------------------------------------------------------------

// Rows at even distances: the order of a folder says nothing about how often a picture occurs.
static void spread(int64_t n, int64_t of, int64_t *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = i * of / n;
}

static SrStatus find_centres(const SrRowView *rows, SrCells *c) {
    int64_t n = SR_MIN(rows->n, (int64_t)c->k * ROWS_PER_CENTRE);
    int64_t *sample = sr_alloc((size_t)(n + c->k) * sizeof *sample);
    SrKmeans km;
    if (!sample)
        return out_of_memory(c);
    spread(n, rows->n, sample);
    spread(c->k, n, sample + n);
    const SrRowView some = sr_row_view_pick(rows, sample, n);
    SrStatus status = sr_kmeans(
        &(SrKmeansOptions){
            .k = c->k, .iterations = ITERATIONS, .spherical = true, .first = sample + n},
        &some, &km);
    sr_free(sample);
    SR_TRY(status);
    memcpy(c->centre, km.centre, (size_t)c->k * (size_t)c->d * sizeof *c->centre);
    sr_kmeans_deinit(&km);
    return SR_OK;
}

// cell: (n) the cell of each row, which is computed here.
static SrStatus sort_rows(const SrRowView *rows, SrCells *c, int64_t *cell) {
    const SrKmeans km = {.k = c->k, .d = c->d, .centre = c->centre, .spherical = true};
    SR_TRY(sr_kmeans_assign(&km, rows, cell, NULL));
    for (int64_t i = 0; i < c->n; i++)
        c->start[cell[i] + 1]++;
    for (int k = 0; k < c->k; k++)
        c->start[k + 1] += c->start[k];
    for (int64_t i = 0; i < c->n; i++)
        c->row[c->start[cell[i]]++] = (int32_t)i;
    memmove(c->start + 1, c->start, (size_t)c->k * sizeof *c->start);
    c->start[0] = 0;
    return SR_OK;
}

typedef struct {
    int64_t query[SAMPLE];
    int64_t near[SAMPLE * (SR_CELLS_NEAR + 1)];
    float similarity[SAMPLE * (SR_CELLS_NEAR + 1)];
} Sample;

// Cells that come before `cell` in the search for a query.
static int rank_of(const SrCells *c, const float *product, int64_t cell) {
    int rank = 0;
    for (int k = 0; k < c->k; k++)
        rank += product[k] > product[cell] || (product[k] == product[cell] && k < cell);
    return rank;
}

// x: (n, d) rows of s->query.  product: (k).
static void count_ranks(const Sample *s, const float *x, int n, int near, const int64_t *cell,
                        float *product, SrCells *c) {
    c->sampled = n;
    for (int i = 0; i < n; i++) {
        sr_gemm(false, true, 1, c->k, c->d, 1.0f, x + (int64_t)i * c->d, c->d, c->centre, c->d,
                0.0f, product, c->k);
        int others = 0;
        for (int j = 0; j < near && others < near - 1; j++) {
            int64_t row = s->near[i * near + j];
            if (row < 0 || row == s->query[i])
                continue;
            c->rank[rank_of(c, product, cell[row])]++;
            others++;
        }
        c->expected += others;
    }
}

// Each sampled row is searched for with its neighbours, exactly.
static SrStatus measure_recall(const SrIndex *index, const SrRowView *rows, const int64_t *cell,
                               SrCells *c) {
    int n = (int)SR_MIN(c->n, SAMPLE), near = (int)SR_MIN(c->n, SR_CELLS_NEAR + 1);
    Sample *s = sr_alloc(sizeof *s);
    float *x = sr_alloc((size_t)n * (size_t)c->d * sizeof *x);
    float *product = sr_alloc((size_t)c->k * sizeof *product);
    SrStatus status = s && x && product ? sr_gemm_reserve() : out_of_memory(c);
    if (status == SR_OK) {
        spread(n, c->n, s->query);
        sr_index_take(index, s->query, n, x);
        status = sr_knn_nearest(rows, x, n, near, s->near, s->similarity);
    }
    if (status == SR_OK)
        count_ranks(s, x, n, near, cell, product, c);
    sr_free(s);
    sr_free(x);
    sr_free(product);
    return status;
}

static SrStatus make(const SrIndex *index, SrCells *c) {
    int64_t n = sr_index_rows(index), *cell = sr_alloc((size_t)n * sizeof *cell);
    SR_TRY_MEMORY(cell, "the cells of %lld images", (long long)n);
    SrRowView rows = sr_index_view(index, cell); // classes, which play no part here
    rows.label = NULL;
    SrStatus status = cells_init(c, (int)SR_MAX(lround(sqrt((double)n)), 1), index);
    if (status == SR_OK)
        status = find_centres(&rows, c);
    if (status == SR_OK)
        status = sort_rows(&rows, c, cell);
    if (status == SR_OK)
        status = measure_recall(index, &rows, cell, c);
    sr_free(cell);
    return status;
}

// ---- the file -----------------------------------------------------------------------------------

enum { CENTRE, START, ROW, RANK, TENSORS };

// Describes the arrays in the order of the file.
static void describe(const SrCells *c, SrNamedTensor t[TENSORS]) {
    t[CENTRE] = (SrNamedTensor){"centre", {SR_SHAPE(c->k, c->d), SR_F32, c->centre}};
    t[START] = (SrNamedTensor){"start", {SR_SHAPE(c->k + 1), SR_I32, c->start}};
    t[ROW] = (SrNamedTensor){"row", {SR_SHAPE((int)c->n), SR_I32, c->row}};
    t[RANK] = (SrNamedTensor){"rank", {SR_SHAPE(c->k), SR_I32, c->rank}};
}

static void state_text(const SrIndex *index, char out[32]) {
    snprintf(out, 32, VERSION "-%016" PRIx64, sr_index_state(index));
}

static SrStatus save(const SrCells *c, const SrIndex *index, const char *file) {
    char state[32], sampled[16];
    const char *keys[] = {"sslrun_cells", "sampled"}, *values[] = {state, sampled};
    SrNamedTensor t[TENSORS];
    state_text(index, state);
    snprintf(sampled, sizeof sampled, "%d", c->sampled);
    describe(c, t);
    return sr_safetensors_save(file, t, TENSORS, keys, values, SR_COUNT(keys));
}

// Numbers of a damaged file must not lead out of the arrays.
static bool is_whole(const SrCells *c) {
    bool good = c->start[0] == 0 && c->start[c->k] == c->n;
    for (int k = 0; good && k < c->k; k++)
        good = c->start[k] <= c->start[k + 1] && c->rank[k] >= 0;
    for (int64_t i = 0; good && i < c->n; i++)
        good = c->row[i] >= 0 && c->row[i] < c->n;
    return good;
}

// Copies the arrays if they belong to this state of the index.
static bool take(const SrSafetensors *st, const SrIndex *index, SrCells *c) {
    char state[32];
    const char *made_of = sr_safetensors_meta(st, "sslrun_cells"),
               *sampled = sr_safetensors_meta(st, "sampled");
    const SrTensor *rank = sr_safetensors_find(st, "rank");
    SrNamedTensor t[TENSORS];
    state_text(index, state);
    if (!made_of || strcmp(made_of, state) != 0 || !sampled || !rank || rank->shape.rank != 1 ||
        rank->shape.d[0] < 1 || cells_init(c, rank->shape.d[0], index) != SR_OK)
        return false;
    describe(c, t);
    for (int i = 0; i < TENSORS; i++) {
        const SrTensor *is = sr_safetensors_find(st, t[i].name), *wanted = &t[i].tensor;
        if (!is || is->dtype != wanted->dtype || !sr_shape_equal(is->shape, wanted->shape))
            return false;
        memcpy(wanted->data, is->data, (size_t)sr_shape_count(is->shape) * 4);
    }
    sscanf(sampled, "%" SCNd32, &c->sampled);
    for (int k = 0; k < c->k; k++)
        c->expected += c->rank[k];
    return is_whole(c);
}

static SrStatus renew(SrCells **c) {
    sr_cells_close(*c);
    *c = sr_calloc(1, sizeof **c);
    SR_TRY_MEMORY(*c, "cells");
    return SR_OK;
}

static SrStatus open_cells(const SrIndex *index, const char *file, SrCells **c) {
    SrSafetensors st;
    SR_TRY(renew(c));
    if (sr_file_exists(file) && sr_safetensors_open(&st, file) == SR_OK) {
        bool found = take(&st, index, *c);
        sr_safetensors_close(&st);
        if (found)
            return SR_OK;
        SR_TRY(renew(c));
    }
    SR_TRY(make(index, *c));
    if (save(*c, index, file) != SR_OK)
        sr_warn("%s; the cells are made once more by the next search", sr_status_message());
    return SR_OK;
}

SrStatus sr_cells_open(const SrIndex *index, SrCells **out) {
    char file[4096];
    SrCells *c = NULL;
    *out = NULL;
    if (sr_index_rows(index) < 1 || sr_index_rows(index) > INT32_MAX)
        SR_FAIL(SR_ERR_CONFIG, "%s: cells need 1 to %d images, and there are %lld",
                sr_index_file_path(index), INT32_MAX, (long long)sr_index_rows(index));
    int n = snprintf(file, sizeof file, "%s.cells", sr_index_file_path(index));
    if (n < 0 || (size_t)n >= sizeof file)
        SR_FAIL(SR_ERR_CONFIG, "%s: the path is too long", sr_index_file_path(index));
    SrStatus status = open_cells(index, file, &c);
    if (status == SR_OK)
        *out = c;
    else
        sr_cells_close(c);
    return status;
}

double sr_cells_recall(const SrCells *c, int probes) {
    int64_t found = 0;
    for (int k = 0; k < SR_MIN(probes, c->k); k++)
        found += c->rank[k];
    return c->expected ? (double)found / (double)c->expected : 1;
}

void sr_cells_say(const SrCells *c, int probes) {
    sr_info("approximate: %d of %d cells are searched, which hold %.1f %% of the %d nearest images "
            "of %d sampled images",
            SR_MIN(probes, c->k), c->k, 100 * sr_cells_recall(c, probes), SR_CELLS_NEAR,
            c->sampled);
}
