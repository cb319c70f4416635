// Prototypes in the parameter table: finding them by name, normalising them and computing scores.
#include "losses/shared/prototypes.h"

#include <math.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/parallel.h"
#include "base/text/text.h"
#include "kernels/core/gemm.h"

// Counts the entries "<prefix>heads.*.prototypes<set>.<slot>"; *index: the last one.
static int find(SrParams *params, const char *prefix, int set, const char *slot, int *index) {
    char start[256], end[64];
    int n = 0;
    snprintf(start, sizeof start, "%sheads.", prefix);
    snprintf(end, sizeof end, ".prototypes%d.%s", set, slot);
    for (int i = 0; i < sr_params_count(params); i++) {
        const char *name = sr_params_at(params, i)->name;
        if (sr_text_starts(name, start) && sr_text_ends(name, end)) {
            *index = i;
            n++;
        }
    }
    return n;
}

SrStatus sr_prototypes_find(SrParams *params, const char *prefix, int set, SrPrototypes *out) {
    *out = (SrPrototypes){.weight = -1, .norm = -1};
    int n = find(params, prefix, set, "weight", &out->weight);
    n += find(params, prefix, set, "weight_v", &out->weight);
    if (n == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "no head has prototypes%d; MODEL.HEAD.PARAMS needs a swav_head with num_clusters",
                set);
    if (n > 1)
        SR_FAIL(SR_ERR_CONFIG,
                "%d heads have prototypes%d; MODEL.HEAD.PARAMS may hold only one swav_head", n,
                set);
    find(params, prefix, set, "weight_g", &out->norm);
    SrShape shape = sr_params_at(params, out->weight)->shape;
    out->P = shape.d[0];
    SR_ASSERT(shape.rank == 2);
    out->D = shape.d[1];
    return SR_OK;
}

// Sums in double, because the result scales the whole row.
static double row_length(const float *row, int n) {
    double sum = 0;
    for (int j = 0; j < n; j++)
        sum += (double)row[j] * row[j];
    return sqrt(sum);
}

// Smallest length that a row is divided by, as in PyTorch; rows of zeros stay zero.
static const double tiny_length = 1e-12;

typedef struct {
    float *w; // (P, D)
    int D;
} Rows;

static void normalize_row(void *arg, int64_t i, int thread) {
    const Rows *rows = arg;
    float *row = rows->w + i * rows->D;
    double length = row_length(row, rows->D);
    (void)thread;
    float scale = (float)(1 / SR_MAX(length, tiny_length));
    for (int j = 0; j < rows->D; j++)
        row[j] *= scale;
}

void sr_prototypes_normalize(SrParams *params, const SrPrototypes *p) {
    if (p->norm >= 0)
        return;
    Rows rows = {sr_params_at(params, p->weight)->value, p->D};
    sr_parallel_for(p->P, normalize_row, &rows);
}

void sr_prototypes_scores(SrParams *params, const SrPrototypes *p, const float *x, int n,
                          float *scores) {
    const float *w = sr_params_at(params, p->weight)->value; // (P, D)
    sr_gemm(false, true, n, p->P, p->D, 1, x, p->D, w, p->D, 0, scores, p->P);
    if (p->norm < 0)
        return;
    // g v / |v| scales a prototype's scores, so v need not be normalised first.
    const float *g = sr_params_at(params, p->norm)->value; // (P, 1)
    for (int k = 0; k < p->P; k++) {
        float factor = (float)(g[k] / SR_MAX(row_length(w + (int64_t)k * p->D, p->D), tiny_length));
        for (int i = 0; i < n; i++)
            scores[(int64_t)i * p->P + k] *= factor;
    }
}
