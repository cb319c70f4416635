// Principal components by subspace iteration on the centred rows.  An iteration is two products
// with thin matrices; the covariance matrix is never built.
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kernels/core/gemm.h"
#include "measure/planar.h"

enum { TURNS = 30 };

typedef struct {
    int n, d, k;
    float *x; // (n, d) centred
    float *v; // (k, d) components
    float *y; // (n, k) projected rows
} Pca;

static void center(const SrMatrix *f, float *x) {
    for (int j = 0; j < f->d; j++) {
        double mean = 0;
        for (int64_t i = 0; i < f->n; i++)
            mean += (double)f->x[i * f->d + j];
        mean /= (double)SR_MAX(f->n, 1);
        for (int64_t i = 0; i < f->n; i++)
            x[i * f->d + j] = (float)((double)f->x[i * f->d + j] - mean);
    }
}

static double dot(const float *a, const float *b, int d) {
    double sum = 0;
    for (int j = 0; j < d; j++)
        sum += (double)a[j] * (double)b[j];
    return sum;
}

// Runs Gram-Schmidt twice, because one run loses orthogonality if vectors are nearly parallel.  A
// vector in the span of those before it leaves only noise, and becomes 0.
static void orthonormalize(Pca *p) {
    for (int i = 0; i < p->k; i++) {
        float *v = p->v + (int64_t)i * p->d;
        double before = sqrt(dot(v, v, p->d));
        for (int turn = 0; turn < 2; turn++)
            for (int e = 0; e < i; e++) {
                const float *other = p->v + (int64_t)e * p->d;
                float along = (float)dot(v, other, p->d);
                for (int j = 0; j < p->d; j++)
                    v[j] -= along * other[j];
            }
        double length = sqrt(dot(v, v, p->d));
        float scale = length > 1e-6 * before && length > 0 ? (float)(1 / length) : 0;
        for (int j = 0; j < p->d; j++)
            v[j] *= scale;
    }
}

static void project(Pca *p) {
    sr_gemm(false, true, p->n, p->k, p->d, 1, p->x, p->d, p->v, p->d, 0, p->y, p->k);
}

static void iterate(Pca *p) {
    SrRng rng = sr_rng(0, SR_RNG_CLUSTER, 0, 0, 0, 0);
    for (int64_t i = 0; i < (int64_t)p->k * p->d; i++)
        p->v[i] = (float)sr_rng_normal(&rng);
    orthonormalize(p);
    for (int turn = 0; turn < TURNS; turn++) {
        project(p);
        sr_gemm(true, false, p->k, p->d, p->n, 1, p->y, p->k, p->x, p->d, 0, p->v, p->d);
        orthonormalize(p);
    }
    project(p);
}

// Signs are arbitrary, so the largest weight of a component is made positive.
static void fix_signs(Pca *p) {
    for (int i = 0; i < p->k; i++) {
        const float *v = p->v + (int64_t)i * p->d;
        int largest = 0;
        for (int j = 1; j < p->d; j++)
            largest = fabsf(v[j]) > fabsf(v[largest]) ? j : largest;
        for (int64_t r = 0; v[largest] < 0 && r < p->n; r++)
            p->y[r * p->k + i] = -p->y[r * p->k + i];
    }
}

SrStatus sr_pca(const SrMatrix *f, int k, float *out, double *share) {
    Pca p = {.n = (int)f->n, .d = f->d, .k = SR_MIN(k, f->d), .y = out};
    size_t cells = (size_t)f->n * (size_t)f->d;
    p.x = sr_alloc((cells + (size_t)p.k * (size_t)f->d) * sizeof *p.x);
    if (!p.x)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for the components of %lld rows", (long long)f->n);
    p.v = p.x + cells;
    center(f, p.x);
    iterate(&p);
    fix_signs(&p);
    if (share) {
        double all = 0, held = 0;
        for (size_t i = 0; i < cells; i++)
            all += (double)p.x[i] * (double)p.x[i];
        for (int64_t i = 0; i < f->n * p.k; i++)
            held += (double)out[i] * (double)out[i];
        *share = all > 0 ? held / all : 0;
    }
    sr_free(p.x);
    return SR_OK;
}
