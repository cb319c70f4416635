// Retrieval: products for a block of queries, then one ranking per query, on several threads.
#include "measure/neighbours/retrieval.h"

#include <math.h>
#include <string.h>

#include "base/bar.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/core/gemm.h"
#include "measure/neighbours/average_precision.h"

// Most queries and products of a block.  Block sizes affect the last bits of the result, so they do
// not depend on the machine.  The products take at most 64 MiB.
#define MAX_QUERIES 256
#define MAX_PRODUCTS (16 << 20)

// Result of one query.
typedef struct {
    double ap, hits[3]; // ap -1: nothing is relevant; shares of the first 1, 5, 10 rows
    bool failed;        // out of memory
} Answer;

typedef struct {
    const SrMatrix *query, *database;
    float *product; // (rows, database->n)
    int64_t first;  // query of row 0
    bool itself;    // true: query i is row i of the database
    Answer *answer; // (queries)
} Block;

// Tells whether row i is relevant for query q: 1 yes, 0 no, -1 not ranked.
static int8_t relevance(const Block *b, int64_t q, int64_t i) {
    const SrMatrix *f = b->query, *g = b->database;
    if (b->itself && q == i)
        return -1;
    if (!f->target || !g->target)
        return g->label[i] < 0 ? (int8_t)-1 : (int8_t)(f->label[q] == g->label[i]);
    for (int c = 0; c < f->n_targets; c++)
        if (f->target[q * f->n_targets + c] == 1 && g->target[i * g->n_targets + c] == 1)
            return 1;
    return 0;
}

// Finds the rows that come first, best first; the smaller index first among equals.  Returns their
// number.
static int find_first(const float *score, const int8_t *relevant, int64_t n,
                      int64_t top[SR_RETRIEVAL_TOP]) {
    int found = 0;
    for (int64_t i = 0; i < n; i++) {
        if (relevant[i] < 0 || (found == SR_RETRIEVAL_TOP && score[i] <= score[top[found - 1]]))
            continue;
        int at = found < SR_RETRIEVAL_TOP ? found++ : found - 1;
        for (; at > 0 && score[i] > score[top[at - 1]]; at--)
            top[at] = top[at - 1];
        top[at] = i;
    }
    return found;
}

// Ranks products that are NaN last.  Returns whether any product is a number.  A query whose
// features are not finite must find nothing, not the first images of the database.
static bool rank_nan_last(float *score, int64_t n) {
    bool any = false;
    for (int64_t i = 0; i < n; i++) {
        any |= !isnan(score[i]);
        score[i] = isnan(score[i]) ? -INFINITY : score[i];
    }
    return any;
}

static void rank_query(void *arg, int64_t row, int thread) {
    (void)thread;
    const Block *b = arg;
    int64_t q = b->first + row, n = b->database->n, top[SR_RETRIEVAL_TOP];
    float *score = b->product + row * n;
    static const int at[3] = {1, 5, SR_RETRIEVAL_TOP};
    Answer *a = &b->answer[q];
    *a = (Answer){.ap = -1};
    if (!b->query->target && b->query->label[q] < 0)
        return;
    bool ranked = rank_nan_last(score, n);
    int8_t *relevant = sr_alloc((size_t)n);
    a->failed = !relevant;
    for (int64_t i = 0; relevant && i < n; i++)
        relevant[i] = relevance(b, q, i);
    if (relevant && sr_average_precision(score, relevant, n, SR_AP_STEPS, &a->ap) != SR_OK)
        a->failed = true;
    if (!ranked && a->ap > 0)
        a->ap = 0;
    int found = relevant && ranked ? find_first(score, relevant, n, top) : 0;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < SR_MIN(found, at[k]); i++)
            a->hits[k] += (double)relevant[top[i]] / at[k];
    sr_free(relevant);
}

static SrStatus summarize(const Answer *answer, int64_t n, SrRetrieval *out) {
    *out = (SrRetrieval){0};
    for (int64_t i = 0; i < n; i++) {
        if (answer[i].failed)
            return sr_out_of_memory("rankings");
        if (answer[i].ap < 0)
            continue;
        out->queries++;
        out->map += answer[i].ap;
        out->p1 += answer[i].hits[0];
        out->p5 += answer[i].hits[1];
        out->p10 += answer[i].hits[2];
    }
    double scale = out->queries ? 100.0 / (double)out->queries : 0;
    out->map *= scale;
    out->p1 *= scale;
    out->p5 *= scale;
    out->p10 *= scale;
    return SR_OK;
}

static SrStatus check(const SrMatrix *query, const SrMatrix *database) {
    if (query->d != database->d || query->n_targets != database->n_targets)
        SR_FAIL(SR_ERR_CONFIG,
                "queries have rows of %d numbers and %d labels, but the database has %d numbers "
                "and %d labels",
                query->d, SR_MAX(query->n_targets, 1), database->d, SR_MAX(database->n_targets, 1));
    if (query == database && query->n == 1)
        SR_FAIL(SR_ERR_CONFIG, "one image has no other one to retrieve: 2 or more are needed");
    if (query->n < 1 || database->n < 1)
        SR_FAIL(SR_ERR_CONFIG, "%s, so retrieval is not possible",
                query->n < 1 ? "there are no queries" : "the database is empty");
    return database->n <= MAX_PRODUCTS
               ? SR_OK
               : sr_fail(SR_ERR_CONFIG, "the database has %lld rows, expected at most %d",
                         (long long)database->n, MAX_PRODUCTS);
}

SrStatus sr_retrieval(SrMatrix *query, SrMatrix *database, bool normalize, SrRetrieval *out) {
    bool itself = !database;
    database = database ? database : query;
    SR_TRY(check(query, database));
    if (normalize)
        sr_matrix_normalize(query, 0);
    if (normalize && !itself)
        sr_matrix_normalize(database, 0);
    int rows = (int)SR_MAX(SR_MIN(MAX_PRODUCTS / database->n, MAX_QUERIES), 1);
    float *product = sr_alloc((size_t)rows * (size_t)database->n * sizeof *product);
    Answer *answer = sr_alloc((size_t)query->n * sizeof *answer);
    SrStatus status = product && answer ? SR_OK : sr_out_of_memory("rankings");
    SrBar bar;
    sr_bar_begin(&bar, "images retrieved", query->n);
    for (int64_t at = 0; status == SR_OK && at < query->n; at += rows) {
        sr_bar_at(&bar, at);
        int m = (int)SR_MIN(query->n - at, rows), n = (int)database->n;
        sr_gemm(false, true, m, n, query->d, 1.0f, query->x + at * query->d, query->d, database->x,
                database->d, 0.0f, product, n);
        Block b = {query, database, product, at, itself, answer};
        sr_parallel_for(m, rank_query, &b);
    }
    sr_bar_end(&bar);
    if (status == SR_OK)
        status = summarize(answer, query->n, out);
    sr_free(product);
    sr_free(answer);
    return status;
}
