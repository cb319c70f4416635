// Implements the nearest neighbours of sslrun.h with measure/neighbours/knn.h: keeps rows and
// answers queries.
#include <string.h>

#include "base/mem.h"
#include "library/arguments.h"
#include "measure/neighbours/knn.h"
#include "sslrun.h"

struct SrKnnIndex {
    SrMatrix rows;
    bool cosine;
};

static SrStatus copy_rows(const float *x, int64_t n, int d, bool normalize, SrMatrix *out) {
    SR_TRY(sr_matrix_init(out, n, d));
    memcpy(out->x, x, (size_t)n * (size_t)d * sizeof *x);
    if (normalize)
        sr_matrix_normalize(out, 0);
    return SR_OK;
}

int sr_knn_index_open(const float *rows, int64_t n, int d, int cosine, SrKnnIndex **out) {
    SR_NEED(out, "out");
    *out = NULL;
    SR_NEED(rows, "rows");
    if (n < 1 || d < 1 || n > INT32_MAX)
        return (int)sr_fail(
            SR_ERR_CONFIG,
            "an index of %lld rows of %d numbers is empty; expected at least 1 row of 1 number",
            (long long)n, d);
    SrKnnIndex *index = sr_calloc(1, sizeof *index);
    if (!index)
        return (int)sr_out_of_memory("an index");
    index->cosine = cosine != 0;
    SrStatus status = copy_rows(rows, n, d, index->cosine, &index->rows);
    if (status == SR_OK)
        *out = index;
    else
        sr_knn_index_close(index);
    return (int)status;
}

void sr_knn_index_close(SrKnnIndex *index) {
    if (!index)
        return;
    sr_matrix_deinit(&index->rows);
    sr_free(index);
}

int sr_knn_index_search(const SrKnnIndex *index, const float *queries, int64_t m, int k,
                        int64_t *row, float *similarity) {
    SR_NEED(index, "index");
    SR_NEED(queries, "queries");
    SR_NEED(row, "row");
    SR_NEED(similarity, "similarity");
    SrMatrix q = {.x = NULL};
    SrRowView bank = sr_row_view(&index->rows);
    SrStatus status = SR_OK;
    if (m < 1)
        return (int)sr_fail(SR_ERR_CONFIG, "there are %lld queries, expected at least 1",
                            (long long)m);
    if (index->cosine)
        status = copy_rows(queries, m, index->rows.d, true, &q);
    if (status == SR_OK)
        status = sr_knn_nearest(&bank, index->cosine ? q.x : queries, m, k, row, similarity);
    sr_matrix_deinit(&q);
    return (int)status;
}
