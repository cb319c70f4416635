// Principal components by subspace iteration on the centred rows.  An iteration is two products
// with thin matrices; the covariance matrix is never built.
#include "measure/pca.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "kernels/core/gemm.h"

// Iterations for points of a plane, where directions of nearly equal variance may mix, and for a
// basis.
enum { TURNS = 30, BASIS_TURNS = 100 };

typedef struct {
    int n, d, k;
    float *x; // (n, d) centred
    float *v; // (k, d) components
    float *y; // (n, k) projected rows
} Pca;

// Centres the columns.  x: (n, d).  mean: (d); NULL: not wanted.
static void center(const SrMatrix *f, float *x, float *mean) {
    for (int j = 0; j < f->d; j++) {
        double sum = 0;
        for (int64_t i = 0; i < f->n; i++)
            sum += (double)f->x[i * f->d + j];
        sum /= (double)SR_MAX(f->n, 1);
        for (int64_t i = 0; i < f->n; i++)
            x[i * f->d + j] = (float)((double)f->x[i * f->d + j] - sum);
        if (mean)
            mean[j] = (float)sum;
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

static void iterate(Pca *p, int turns) {
    SrRng rng = sr_rng(0, SR_RNG_CLUSTER, 0, 0, 0, 0);
    for (int64_t i = 0; i < (int64_t)p->k * p->d; i++)
        p->v[i] = (float)sr_rng_normal(&rng);
    orthonormalize(p);
    for (int turn = 0; turn < turns; turn++) {
        project(p);
        sr_gemm(true, false, p->k, p->d, p->n, 1, p->y, p->k, p->x, p->d, 0, p->v, p->d);
        orthonormalize(p);
    }
    project(p);
}

// Signs are arbitrary, so the largest weight of a component is made positive.
static void fix_signs(Pca *p) {
    for (int i = 0; i < p->k; i++) {
        float *v = p->v + (int64_t)i * p->d;
        int largest = 0;
        for (int j = 1; j < p->d; j++)
            largest = fabsf(v[j]) > fabsf(v[largest]) ? j : largest;
        if (!(v[largest] < 0))
            continue;
        for (int j = 0; j < p->d; j++)
            v[j] = -v[j];
        for (int64_t r = 0; r < p->n; r++)
            p->y[r * p->k + i] = -p->y[r * p->k + i];
    }
}

static double share_of(const Pca *p) {
    double all = 0, held = 0;
    for (int64_t i = 0; i < (int64_t)p->n * p->d; i++)
        all += (double)p->x[i] * (double)p->x[i];
    for (int64_t i = 0; i < (int64_t)p->n * p->k; i++)
        held += (double)p->y[i] * (double)p->y[i];
    return all > 0 ? held / all : 0;
}

static SrStatus out_of_memory(int64_t n) {
    return sr_out_of_memory("the components of %lld rows", (long long)n);
}

SrStatus sr_pca(const SrMatrix *f, int k, float *out, double *share) {
    Pca p = {.n = (int)f->n, .d = f->d, .k = SR_MIN(k, f->d), .y = out};
    SR_ASSERT(k > 0 && f->n > 0 && f->d > 0);
    size_t cells = (size_t)f->n * (size_t)f->d;
    p.x = sr_alloc((cells + (size_t)p.k * (size_t)f->d) * sizeof *p.x);
    if (!p.x)
        return out_of_memory(f->n);
    p.v = p.x + cells;
    center(f, p.x, NULL);
    iterate(&p, TURNS);
    fix_signs(&p);
    if (share)
        *share = share_of(&p);
    sr_free(p.x);
    return SR_OK;
}

// ---- a basis for other rows ---------------------------------------------------------------------

SrStatus sr_pca_fit(const SrMatrix *f, int k, SrPca *out) {
    Pca p = {.n = (int)f->n, .d = f->d, .k = SR_MIN(k, f->d)};
    size_t cells = (size_t)f->n * (size_t)f->d, kept = (size_t)p.k * (size_t)f->d;
    *out = (SrPca){.k = p.k, .d = f->d};
    out->axis = sr_alloc((kept + (size_t)f->d) * sizeof *out->axis);
    p.x = sr_alloc((cells + (size_t)f->n * (size_t)p.k) * sizeof *p.x);
    SrStatus status = out->axis && p.x ? SR_OK : out_of_memory(f->n);
    if (status == SR_OK) {
        p.y = p.x + cells;
        p.v = out->axis;
        out->mean = out->axis + kept;
        center(f, p.x, out->mean);
        iterate(&p, BASIS_TURNS);
        fix_signs(&p);
        out->share = share_of(&p);
    } else {
        sr_pca_deinit(out);
    }
    sr_free(p.x);
    return status;
}

void sr_pca_deinit(SrPca *pca) {
    sr_free(pca->axis);
    *pca = (SrPca){.k = 0};
}

typedef struct {
    const SrPca *pca;
    const float *x;
    float *out;
} Projection;

// Subtracts the mean in double precision: it may be much larger than what differs between rows.
static void project_row(void *arg, int64_t i, int thread) {
    (void)thread;
    const Projection *p = arg;
    const SrPca *pca = p->pca;
    const float *x = p->x + i * pca->d;
    for (int c = 0; c < pca->k; c++) {
        double sum = 0;
        for (int j = 0; j < pca->d; j++)
            sum += ((double)x[j] - (double)pca->mean[j]) * (double)pca->axis[c * pca->d + j];
        p->out[i * pca->k + c] = (float)sum;
    }
}

void sr_pca_project(const SrPca *pca, const float *x, int64_t n, float *out) {
    Projection p = {pca, x, out};
    sr_parallel_for(n, project_row, &p);
}
