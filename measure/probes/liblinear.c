// Binary linear classifiers: conversion to liblinear's sparse rows, and one call of its train() for
// each problem.
#include "measure/probes/liblinear.h"

#include <linear.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/text/text.h"
#include "kernels/core/gemm.h"
#include "measure/probes/children.h"

struct SrLinearRows {
    int64_t n;
    int d;
    struct feature_node *nodes; // all rows; each ends with the bias and an index of -1
    size_t bytes;
    struct feature_node **row; // (n) start of each row
};

static void quiet(const char *text) { (void)text; }

static int64_t count_nonzero(const SrMatrix *f) {
    int64_t n = 0;
    for (int64_t i = 0; i < f->n * f->d; i++)
        n += f->x[i] != 0;
    return n;
}

static void fill_row(const SrMatrix *f, int64_t i, struct feature_node **at) {
    const float *x = f->x + i * f->d; // (d)
    for (int j = 0; j < f->d; j++)
        if (x[j] != 0)
            *(*at)++ = (struct feature_node){j + 1, (double)x[j]};
    *(*at)++ = (struct feature_node){f->d + 1, 1.0};
    *(*at)++ = (struct feature_node){-1, 0};
}

SrStatus sr_linear_rows_new(const SrMatrix *f, SrLinearRows **out) {
    size_t nodes = (size_t)count_nonzero(f) + 2 * (size_t)f->n, free_bytes = sr_memory_available();
    char need[32], have[32];
    if (free_bytes && nodes * sizeof(struct feature_node) > free_bytes)
        SR_FAIL(SR_ERR_MEMORY,
                "liblinear needs %s for %lld rows of %d numbers, but only %s are free; limit the "
                "images (NEAREST_NEIGHBOR.BANK_LIMIT) or choose a layer with fewer features",
                sr_bytes_text((double)nodes * sizeof(struct feature_node), need, sizeof need),
                (long long)f->n, f->d, sr_bytes_text((double)free_bytes, have, sizeof have));
    SrLinearRows *r = sr_calloc(1, sizeof *r);
    SR_TRY_MEMORY(r, "a linear classifier");
    *r = (SrLinearRows){.n = f->n, .d = f->d, .bytes = nodes * sizeof *r->nodes};
    r->nodes = sr_map(r->bytes);
    r->row = sr_calloc((size_t)f->n, sizeof(struct feature_node *));
    if (!r->nodes || !r->row) {
        sr_linear_rows_free(r);
        return sr_out_of_memory("%lld rows of a linear classifier", (long long)f->n);
    }
    struct feature_node *at = r->nodes;
    for (int64_t i = 0; i < f->n; i++) {
        r->row[i] = at;
        fill_row(f, i, &at);
    }
    *out = r;
    return SR_OK;
}

void sr_linear_rows_free(SrLinearRows *rows) {
    if (!rows)
        return;
    if (rows->nodes)
        sr_unmap(rows->nodes, rows->bytes);
    sr_free(rows->row);
    sr_free(rows);
}

// ---- training -----------------------------------------------------------------------------------

typedef struct {
    const SrLinearRows *rows;
    SrLinearKind kind;
    double tolerance;
    const SrLinearProblem *problems;
    double *w; // (n, d + 1) shared with the children
} Training;

static int solver_of(SrLinearKind kind) {
    static const int solvers[] = {L2R_LR, L2R_L2LOSS_SVC, L2R_L1LOSS_SVC_DUAL, L1R_L2LOSS_SVC};
    return solvers[kind];
}

// liblinear's weights score for the class label[0], so their sign depends on it.
static void copy_weights(const struct model *m, int d, double *w) {
    double sign = m->label[0] > 0 ? 1 : -1;
    for (int j = 0; j <= d; j++)
        w[j] = sign * m->w[j];
}

// Collects the rows that take part.  Returns the number of positive ones.
static int64_t gather(const Training *t, const SrLinearProblem *p, struct problem *out) {
    int64_t positives = 0;
    for (int64_t i = 0; i < t->rows->n; i++) {
        if (p->y[i] == 0)
            continue;
        positives += p->y[i] > 0;
        out->x[out->l] = t->rows->row[i];
        out->y[out->l++] = p->y[i];
    }
    return positives;
}

static void solve(const struct problem *problem, const struct parameter *how, int d, double *w) {
    srand(1);
    struct model *m = train(problem, how);
    copy_weights(m, d, w);
    free_and_destroy_model(&m);
}

static bool train_one(void *arg, int64_t index) {
    const Training *t = arg;
    const SrLinearProblem *p = &t->problems[index];
    int d = t->rows->d, label = 1;
    double *w = t->w + index * (d + 1), positive_weight = p->positive_weight;
    struct problem problem = {.n = d + 1, .bias = 1};
    struct parameter how = {.solver_type = solver_of(t->kind),
                            .eps = t->tolerance,
                            .C = p->cost,
                            .nr_weight = 1,
                            .weight_label = &label,
                            .weight = &positive_weight,
                            .p = 0.1};
    problem.x = sr_alloc((size_t)t->rows->n * sizeof(struct feature_node *));
    problem.y = sr_alloc((size_t)t->rows->n * sizeof *problem.y);
    bool allocated = problem.x && problem.y;
    if (allocated) {
        int64_t positives = gather(t, p, &problem);
        w[d] = positives > 0 ? 1 : -1;
        if (positives > 0 && positives < problem.l)
            solve(&problem, &how, d, w);
    }
    sr_free(problem.x);
    sr_free(problem.y);
    return allocated;
}

SrStatus sr_linear_train(const SrLinearRows *rows, SrLinearKind kind, double tolerance,
                         SrLinearProblem *problems, int n) {
    size_t numbers = (size_t)rows->d + 1, bytes = (size_t)n * numbers * sizeof(double);
    if (rows->n > INT32_MAX)
        SR_FAIL(SR_ERR_CONFIG, "%lld rows are more than LIBLINEAR can count (%d)",
                (long long)rows->n, INT32_MAX);
    Training t = {rows, kind, tolerance, problems, sr_map_shared(bytes)};
    SR_TRY_MEMORY(t.w, "%d linear classifiers", n);
    set_print_string_function(quiet);
    SrStatus status = sr_in_children(n, sr_parallel_threads(), train_one, &t, "linear classifiers");
    for (int i = 0; status == SR_OK && i < n; i++)
        memcpy(problems[i].w, t.w + (size_t)i * numbers, numbers * sizeof(double));
    sr_unmap(t.w, bytes);
    return status;
}

SrStatus sr_linear_scores(const SrMatrix *f, const double *w, int n, float *scores) {
    int d = f->d;
    float *wf = sr_alloc((size_t)n * (size_t)d * sizeof *wf); // (n, d)
    SR_TRY_MEMORY(wf, "%d linear classifiers", n);
    for (int c = 0; c < n; c++)
        for (int j = 0; j < d; j++)
            wf[c * d + j] = (float)w[(int64_t)c * (d + 1) + j];
    for (int64_t i = 0; i < f->n * n; i++)
        scores[i] = (float)w[(i % n) * (d + 1) + d];
    for (int64_t i = 0; i < f->n; i += 1 << 16) { // sr_gemm counts rows in ints
        int m = (int)SR_MIN(f->n - i, 1 << 16);
        sr_gemm(false, true, m, n, d, 1.0f, f->x + i * d, d, wf, d, 1.0f, scores + i * n, n);
    }
    sr_free(wf);
    return SR_OK;
}
