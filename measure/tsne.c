// t-SNE.  Similarities of rows become probabilities.  Points of a plane move until their
// similarities match (van der Maaten and Hinton, JMLR 2008, equations 1 to 5).  Gradient descent
// with momentum and gains follows section 3.4 and the authors' program.
#include "measure/tsne.h"

#include <math.h>
#include <string.h>

#include "base/bar.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "measure/pca.h"

enum { INPUTS = 30, EARLY = 100 };
#define EXAGGERATION 12.0

typedef struct {
    int64_t n;
    int d;
    const float *x; // (n, d)
    double perplexity;
    float *p;             // (n, n) probabilities of pairs of rows
    double *y, *dy;       // (n, 2) points and their gradient
    double *step, *gain;  // (n, 2)
    double *z;            // (n) each point's part of sum_z
    double factor, sum_z; // exaggeration of p; sum over all pairs of points
} Tsne;

// ---- probabilities of the rows ------------------------------------------------------------------

static double square_distance(const Tsne *t, int64_t i, int64_t j) {
    double sum = 0;
    for (int c = 0; c < t->d; c++) {
        double gap = (double)t->x[i * t->d + c] - (double)t->x[j * t->d + c];
        sum += gap * gap;
    }
    return sum;
}

// Returns the logarithm of the perplexity of one row at width beta.  *sum: sum of exp(-beta
// distance). row: (n) squared distances minus the smallest one.
static double entropy(const float *row, int64_t n, int64_t self, double beta, double *sum) {
    double weighted = 0;
    *sum = 0;
    for (int64_t j = 0; j < n; j++) {
        double p = j == self ? 0 : exp(-beta * (double)row[j]);
        *sum += p;
        weighted += beta * (double)row[j] * p;
    }
    return log(*sum) + weighted / *sum;
}

// Fills row i of p.  Bisection finds the width at which the row has the wanted perplexity.
static void fill_row(void *arg, int64_t i, int thread) {
    (void)thread;
    const Tsne *t = arg;
    float *row = t->p + i * t->n, least = INFINITY;
    double beta = 1, low = 0, high = INFINITY, sum, want = log(t->perplexity);
    for (int64_t j = 0; j < t->n; j++) {
        row[j] = (float)square_distance(t, i, j);
        least = j != i && row[j] < least ? row[j] : least;
    }
    for (int64_t j = 0; j < t->n; j++)
        row[j] -= least;
    for (int turn = 0; turn < 60; turn++) {
        double gap = entropy(row, t->n, i, beta, &sum) - want;
        if (fabs(gap) < 1e-4)
            break;
        *(gap > 0 ? &low : &high) = beta;
        beta = isinf(high) ? 2 * beta : (low + high) / 2;
    }
    entropy(row, t->n, i, beta, &sum);
    for (int64_t j = 0; j < t->n; j++)
        row[j] = j == i ? 0 : (float)(exp(-beta * (double)row[j]) / sum);
}

static void make_symmetric(Tsne *t) {
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t j = 0; j < i; j++) {
            float both = (t->p[i * t->n + j] + t->p[j * t->n + i]) / (float)(2 * t->n);
            t->p[i * t->n + j] = t->p[j * t->n + i] = SR_MAX(both, 1e-12f);
        }
}

// ---- points -------------------------------------------------------------------------------------

static void sum_row(void *arg, int64_t i, int thread) {
    (void)thread;
    const Tsne *t = arg;
    double sum = 0;
    for (int64_t j = 0; j < t->n; j++) {
        double a = t->y[2 * i] - t->y[2 * j], b = t->y[2 * i + 1] - t->y[2 * j + 1];
        sum += j == i ? 0 : 1 / (1 + a * a + b * b);
    }
    t->z[i] = sum;
}

static void pull_row(void *arg, int64_t i, int thread) {
    (void)thread;
    const Tsne *t = arg;
    double da = 0, db = 0;
    for (int64_t j = 0; j < t->n; j++) {
        double a = t->y[2 * i] - t->y[2 * j], b = t->y[2 * i + 1] - t->y[2 * j + 1];
        double q = 1 / (1 + a * a + b * b);
        double force = (t->factor * (double)t->p[i * t->n + j] - q / t->sum_z) * q;
        da += force * a;
        db += force * b;
    }
    t->dy[2 * i] = 4 * da;
    t->dy[2 * i + 1] = 4 * db;
}

// Sums the rows' parts in the order of the rows, whatever thread computed them.
static void gradient(Tsne *t) {
    sr_parallel_for(t->n, sum_row, t);
    t->sum_z = 0;
    for (int64_t i = 0; i < t->n; i++)
        t->sum_z += t->z[i];
    t->sum_z = SR_MAX(t->sum_z, 1e-12);
    sr_parallel_for(t->n, pull_row, t);
}

static void step_all(Tsne *t, double rate, double momentum) {
    for (int64_t i = 0; i < 2 * t->n; i++) {
        bool onwards = t->dy[i] * t->step[i] < 0;
        t->gain[i] = SR_MAX(onwards ? t->gain[i] + 0.2 : t->gain[i] * 0.8, 0.01);
        t->step[i] = momentum * t->step[i] - rate * t->gain[i] * t->dy[i];
        t->y[i] += t->step[i];
    }
}

static void descend(Tsne *t, int iterations) {
    double rate = SR_MAX((double)t->n / EXAGGERATION / 4, 50);
    SrBar bar;
    sr_bar_begin(&bar, "steps of t-SNE", iterations);
    for (int turn = 0; turn < iterations; turn++) {
        bool early = turn < SR_MIN(EARLY, iterations / 3);
        sr_bar_at(&bar, turn);
        t->factor = early ? EXAGGERATION : 1;
        gradient(t);
        step_all(t, rate, early ? 0.5 : 0.8);
    }
    sr_bar_end(&bar);
}

// Starts from the first two components, scaled down so that the forces decide.
static void begin(Tsne *t) {
    double sum = 0;
    for (int64_t i = 0; i < t->n; i++)
        sum += (double)t->x[i * t->d] * (double)t->x[i * t->d];
    double scale = sum > 0 ? 1e-4 / sqrt(sum / (double)t->n) : 0;
    for (int64_t i = 0; i < 2 * t->n; i++) {
        t->y[i] = t->d > i % 2 ? scale * (double)t->x[i / 2 * t->d + i % 2] : 0;
        t->gain[i] = 1;
    }
}

static SrStatus run(Tsne *t, const SrTsneOptions *o, float *out) {
    size_t n = (size_t)t->n;
    t->p = sr_alloc(n * n * sizeof *t->p);
    t->y = sr_calloc(9 * n, sizeof *t->y);
    SR_TRY_MEMORY(t->p && t->y, "a map of %zu rows", n);
    t->dy = t->y + 2 * n;
    t->step = t->dy + 2 * n;
    t->gain = t->step + 2 * n;
    t->z = t->gain + 2 * n;
    t->perplexity = SR_MAX(SR_MIN(o->perplexity, (double)(t->n - 1) / 3), 1.01);
    sr_parallel_for(t->n, fill_row, t);
    make_symmetric(t);
    begin(t);
    descend(t, o->iterations);
    for (size_t i = 0; i < 2 * n; i++)
        out[i] = (float)t->y[i];
    return SR_OK;
}

SrStatus sr_tsne(const SrMatrix *f, const SrTsneOptions *options, float *out) {
    Tsne t = {.n = f->n, .d = SR_MIN(INPUTS, f->d)};
    if (f->n < 4) {
        memset(out, 0, (size_t)f->n * 2 * sizeof *out);
        return SR_OK;
    }
    float *x = sr_alloc((size_t)f->n * (size_t)t.d * sizeof *x);
    SR_TRY_MEMORY(x, "a map of %lld rows", (long long)f->n);
    SrStatus status = sr_pca(f, t.d, x, NULL);
    t.x = x;
    if (status == SR_OK)
        status = run(&t, options, out);
    sr_free(t.p);
    sr_free(t.y);
    sr_free(x);
    return status;
}
