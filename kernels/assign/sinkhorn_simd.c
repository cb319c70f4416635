// The forms of Sinkhorn-Knopp, compiled once per instruction set (sinkhorn.h): scaling in single
// and in double precision, and in the log domain.
#include "kernels/assign/sinkhorn.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/core/denormals.h"
#include "kernels/core/simd.h"
#include "kernels/core/vexp.h"

enum { LANES = 16 }; // independent partial sums, so that compilers may use vectors of any width

static double add_lanes(const double *lane) {
    double sum = 0;
    for (int i = 0; i < LANES; i++)
        sum += lane[i];
    return sum;
}

// Cuts rows into chunks whose number depends on the shape alone.
static int chunk_count(const SrSinkhorn *s) {
    int n = (s->n + s->n_queue) / 16;
    return n < 1 ? 1 : n > 32 ? 32 : n;
}

static int first_row(int rows, int chunk, int chunks) {
    return (int)((int64_t)rows * chunk / chunks);
}

static const float *row_scores(const SrSinkhorn *s, int row) {
    return row < s->n ? s->scores + (int64_t)row * s->P : s->queue + (int64_t)(row - s->n) * s->P;
}

// Returns the largest finite score of a row; -FLT_MAX if there is none.
static float largest_in_row(const float *x, int P) {
    float lane[LANES], largest = -FLT_MAX;
    for (int i = 0; i < LANES; i++)
        lane[i] = -FLT_MAX;
    int k = 0;
    for (; k + LANES <= P; k += LANES)
        for (int i = 0; i < LANES; i++)
            lane[i] = ((x[k + i] > lane[i]) & (x[k + i] <= FLT_MAX)) ? x[k + i] : lane[i];
    for (int i = 0; k < P; k++, i++)
        lane[i] = ((x[k] > lane[i]) & (x[k] <= FLT_MAX)) ? x[k] : lane[i];
    for (int i = 0; i < LANES; i++)
        largest = lane[i] > largest ? lane[i] : largest;
    return largest;
}

// Returns the largest finite score of all samples.
static double largest_score(const SrSinkhorn *s) {
    float largest = -FLT_MAX;
#pragma omp parallel for schedule(static) reduction(max : largest)
    for (int row = 0; row < s->n + s->n_queue; row++) {
        float here = largest_in_row(row_scores(s, row), s->P);
        largest = here > largest ? here : largest;
    }
    return (double)largest;
}

#define REAL float
#define NAME(f) f##_f32
#define EXP(x) sr__expf(x)
#include "kernels/assign/sinkhorn_scaling.h"
#undef REAL
#undef NAME
#undef EXP
#define REAL double
#define NAME(f) f##_f64
#define EXP(x) exp(x)
#include "kernels/assign/sinkhorn_scaling.h"

// Log domain: Q_jk = exp(z_jk + a_k + b_j), z = (score - largest) / epsilon.  a and b are solved
// for in turn by log-sum-exp, so that only numbers negligible in their row or column underflow.
typedef struct {
    const SrSinkhorn *s;
    int rows, chunks;
    double largest, per_epsilon;
    double *a, *b;      // (P), (rows)
    double *most, *sum; // (chunks, P): per chunk and prototype
    double *total_most; // (P)
    double *row;        // (chunks, P): one row of exponents per chunk
} LogWork;

static LogWork log_work(const SrSinkhorn *s, void *scratch) {
    LogWork w = {.s = s, .rows = s->n + s->n_queue, .chunks = chunk_count(s)};
    w.a = scratch;
    w.total_most = w.a + s->P;
    w.most = w.total_most + s->P;
    w.sum = w.most + (int64_t)w.chunks * s->P;
    w.row = w.sum + (int64_t)w.chunks * s->P;
    w.b = w.row + (int64_t)w.chunks * s->P;
    w.largest = largest_score(s);
    w.per_epsilon = 1 / fmax(s->params.epsilon, 1e-300);
    return w;
}

// Computes out (P) = z + offsets (+ constant); offsets may be NULL.  NaN counts as the lowest
// score.
static void exponents(const LogWork *w, int row, const double *offsets, double constant,
                      double *restrict out) {
    const float *x = row_scores(w->s, row);
    const double lowest = -1e300;
    for (int k = 0; k < w->s->P; k++) {
        double score = x[k] > FLT_MAX ? w->largest : (double)x[k];
        double z = (score - w->largest) * w->per_epsilon;
        out[k] = z > lowest ? z : lowest;
    }
    for (int k = 0; k < w->s->P; k++)
        out[k] += offsets ? offsets[k] + constant : constant;
}

static double largest_of(const double *v, int n) {
    double lane[LANES], largest = v[0];
    for (int i = 0; i < LANES; i++)
        lane[i] = v[0];
    int k = 0;
    for (; k + LANES <= n; k += LANES)
        for (int i = 0; i < LANES; i++)
            lane[i] = v[k + i] > lane[i] ? v[k + i] : lane[i];
    for (; k < n; k++)
        largest = v[k] > largest ? v[k] : largest;
    for (int i = 0; i < LANES; i++)
        largest = lane[i] > largest ? lane[i] : largest;
    return largest;
}

static double exp_distance(double below) { return (double)sr__expf((float)below); }

// Returns the sum of exp(v - largest), v (P).
static double exp_sum(const double *v, int P, double largest) {
    double lane[LANES] = {0};
    int k = 0;
    for (; k + LANES <= P; k += LANES)
        for (int i = 0; i < LANES; i++)
            lane[i] += exp_distance(v[k + i] - largest);
    for (int i = 0; k < P; k++, i++)
        lane[i] += exp_distance(v[k] - largest);
    return add_lanes(lane);
}

// Computes most (P) and sum (P) of a chunk: the columns' largest exponents, and the sums of exp
// relative to them.
static void column_chunk(const LogWork *w, int chunk) {
    int P = w->s->P, begin = first_row(w->rows, chunk, w->chunks),
        end = first_row(w->rows, chunk + 1, w->chunks);
    double *most = w->most + (int64_t)chunk * P, *sum = w->sum + (int64_t)chunk * P;
    double *row = w->row + (int64_t)chunk * P;
    for (int k = 0; k < P; k++) {
        most[k] = -DBL_MAX;
        sum[k] = 0;
    }
    for (int j = begin; j < end; j++) {
        exponents(w, j, NULL, w->b[j], row);
        for (int k = 0; k < P; k++)
            most[k] = row[k] > most[k] ? row[k] : most[k];
    }
    for (int j = begin; j < end; j++) {
        exponents(w, j, NULL, w->b[j], row);
        for (int k = 0; k < P; k++)
            sum[k] += exp_distance(row[k] - most[k]);
    }
}

// Computes a = log r - log-sum-exp over samples of z + b.
static void solve_prototypes(const LogWork *w, const double *r) {
    int P = w->s->P;
#pragma omp parallel for schedule(static)
    for (int chunk = 0; chunk < w->chunks; chunk++)
        column_chunk(w, chunk);
    for (int k = 0; k < P; k++) {
        w->total_most[k] = -DBL_MAX;
        for (int chunk = 0; chunk < w->chunks; chunk++)
            w->total_most[k] = fmax(w->total_most[k], w->most[(int64_t)chunk * P + k]);
        w->a[k] = 0;
    }
    for (int chunk = 0; chunk < w->chunks; chunk++)
        for (int k = 0; k < P; k++) {
            int64_t i = (int64_t)chunk * P + k;
            w->a[k] += w->sum[i] * exp(w->most[i] - w->total_most[k]);
        }
    for (int k = 0; k < P; k++)
        w->a[k] = log(r[k]) - w->total_most[k] - log(w->a[k]);
}

// Computes b = log c - log-sum-exp over prototypes of z + a.
static void solve_samples(const LogWork *w) {
    int P = w->s->P;
    double log_c = -log((double)w->rows);
#pragma omp parallel for schedule(static)
    for (int chunk = 0; chunk < w->chunks; chunk++)
        for (int j = first_row(w->rows, chunk, w->chunks);
             j < first_row(w->rows, chunk + 1, w->chunks); j++) {
            double *row = w->row + (int64_t)chunk * P;
            exponents(w, j, w->a, 0, row);
            double largest = largest_of(row, P);
            w->b[j] = log_c - largest - log(exp_sum(row, P, largest));
        }
}

static void log_codes(const LogWork *w, float *codes) {
    int P = w->s->P;
#pragma omp parallel for schedule(static)
    for (int chunk = 0; chunk < w->chunks; chunk++)
        for (int j = first_row(w->s->n, chunk, w->chunks);
             j < first_row(w->s->n, chunk + 1, w->chunks); j++) {
            double *row = w->row + (int64_t)chunk * P;
            float *out = codes + (int64_t)j * P;
            exponents(w, j, w->a, 0, row);
            // Next to exponents of 1e30 a logarithm of the sum would be lost, so the sum divides.
            double largest = largest_of(row, P), sum = exp_sum(row, P, largest);
            for (int k = 0; k < P; k++)
                out[k] = (float)(exp_distance(row[k] - largest) / sum);
        }
}

static void log_domain(const SrSinkhorn *s, const double *r, float *codes, void *scratch) {
    LogWork w = log_work(s, scratch);
    memset(w.a, 0, (size_t)s->P * sizeof(double));
    memset(w.b, 0, (size_t)w.rows * sizeof(double));
    for (int i = 0; i < s->params.num_iters; i++) {
        solve_prototypes(&w, r);
        solve_samples(&w);
    }
    log_codes(&w, codes);
}

static size_t scratch_bytes(const SrSinkhorn *s) {
    size_t rows = (size_t)(s->n + s->n_queue), P = (size_t)s->P, chunks = (size_t)chunk_count(s);
    size_t logs = (2 * P + 3 * chunks * P + rows) * sizeof(double), scaling;
    scaling = s->params.form == SR_SINKHORN_LOG ? 0
              : s->params.double_precision      ? bytes_f64(s)
                                                : bytes_f32(s);
    return logs > scaling ? logs : scaling; // scaling also falls back to the log domain
}

const SrSinkhornKernels SR_ISA_SYMBOL(sr__sinkhorn_kernels) = {scratch_bytes, scale_f32, scale_f64,
                                                               log_domain};
