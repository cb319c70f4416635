// Rows of features: memory, lengths and scaling.
#include "measure/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/core/gemm.h"

// Maps x instead of allocating it, because 60,000 rows of a ResNet-50 are half a gigabyte.
SrStatus sr_matrix_init(SrMatrix *f, int64_t n, int d) {
    if (n < 1)
        SR_FAIL(SR_ERR_CONFIG, "there are no images to compute features of");
    if (d < 1)
        SR_FAIL(SR_ERR_CONFIG, "features of %d numbers: at least 1 is expected", d);
    *f = (SrMatrix){.n = n, .d = d, .mapped = (size_t)n * (size_t)d * sizeof(float)};
    SR_TRY(sr_gemm_reserve());
    f->x = sr_map(f->mapped);
    f->label = sr_calloc((size_t)n, sizeof *f->label);
    if (f->x && f->label)
        return SR_OK;
    return sr_out_of_memory("%lld features of length %d: lower DATA_LIMIT", (long long)n, d);
}

void sr_matrix_deinit(SrMatrix *features) {
    if (features->mapped > 0) {
        sr_unmap(features->x, features->mapped); // n may be lower by now
        sr_free(features->label);
        sr_free(features->target);
    }
    *features = (SrMatrix){0};
}

SrStatus sr_matrix_take(const SrMatrix *from, const int64_t *row, int64_t n, SrMatrix *out) {
    size_t d = (size_t)from->d, classes = (size_t)from->n_targets;
    SrStatus status = sr_matrix_init(out, n, from->d);
    if (status == SR_OK && from->target) {
        out->n_targets = from->n_targets;
        out->target = sr_calloc((size_t)n, classes);
        if (!out->target)
            status = sr_out_of_memory("the labels of %lld images", (long long)n);
    }
    if (status != SR_OK) {
        sr_matrix_deinit(out);
        return status;
    }
    for (int64_t i = 0; i < n; i++) {
        memcpy(out->x + (size_t)i * d, from->x + (size_t)row[i] * d, d * sizeof(float));
        out->label[i] = from->label[row[i]];
        if (from->target)
            memcpy(out->target + (size_t)i * classes, from->target + (size_t)row[i] * classes,
                   classes);
    }
    return SR_OK;
}

static void move_row(SrMatrix *f, int64_t from, int64_t to) {
    SR_ASSERT(to >= 0 && to < from && from < f->n);
    memcpy(f->x + to * f->d, f->x + from * f->d, (size_t)f->d * sizeof *f->x);
    f->label[to] = f->label[from];
    if (f->target)
        memcpy(f->target + to * f->n_targets, f->target + from * f->n_targets,
               (size_t)f->n_targets);
}

void sr_matrix_keep(SrMatrix *f, const int8_t *keep) {
    int64_t kept = 0;
    for (int64_t i = 0; i < f->n; i++) {
        if (keep[i] <= 0)
            continue;
        if (kept < i)
            move_row(f, i, kept);
        kept++;
    }
    f->n = kept;
}

// ---- scaling ------------------------------------------------------------------------------------

typedef struct {
    SrMatrix *f;
    double plus;
} Normalize;

// Sums in double, because rows of raw pixels have thousands of numbers.
static void normalize_row(void *arg, int64_t i, int thread) {
    (void)thread;
    const Normalize *p = arg;
    float *x = p->f->x + i * p->f->d; // (d)
    double sum = 0;
    for (int j = 0; j < p->f->d; j++)
        sum += (double)x[j] * (double)x[j];
    float scale = (float)(1.0 / (fmax(sqrt(sum), 1e-12) + p->plus));
    for (int j = 0; j < p->f->d; j++)
        x[j] *= scale;
}

void sr_matrix_normalize(SrMatrix *features, double plus) {
    sr_parallel_for(features->n, normalize_row, &(Normalize){features, plus});
}

static int by_length(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Uses deciles, because one broken image must not change the result for all.
SrStatus sr_matrix_length_ratio(const SrMatrix *f, double *out) {
    double *length = sr_alloc((size_t)f->n * sizeof *length + 1);
    int64_t n = 0;
    *out = 1;
    SR_TRY_MEMORY(length, "the lengths of %lld rows", (long long)f->n);
    for (int64_t i = 0; i < f->n; i++) {
        double sum = 0;
        for (int j = 0; j < f->d; j++)
            sum += (double)f->x[i * f->d + j] * (double)f->x[i * f->d + j];
        if (sum > 0 && isfinite(sum))
            length[n++] = sqrt(sum);
    }
    qsort(length, (size_t)n, sizeof *length, by_length);
    if (n >= 10)
        *out = length[n - 1 - n / 10] / length[n / 10];
    sr_free(length);
    return SR_OK;
}

int sr_matrix_classes(const SrMatrix *features) {
    int64_t most = -1;
    if (features->target)
        return features->n_targets;
    for (int64_t i = 0; i < features->n; i++)
        most = features->label[i] > most ? features->label[i] : most;
    return (int)most + 1;
}
