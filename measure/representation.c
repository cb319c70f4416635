// Figures about embeddings, in double on a few rows; they are computed once per epoch.
#include "measure/representation.h"

#include <math.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "base/mem.h"

typedef struct {
    int n, D;
    double *z; // (2, n, D) unit rows of the first two views
    double *g; // (n, n) products of the first view's rows, not normalised
} Work;

static double dot(const double *a, const double *b, int n) {
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[k] * b[k];
    return sum;
}

static void unit_row(double *out, const float *x, int D) {
    double square = 0;
    for (int d = 0; d < D; d++) {
        out[d] = (double)x[d];
        square += out[d] * out[d];
    }
    for (int d = 0; d < D; d++)
        out[d] /= fmax(sqrt(square), 1e-12);
}

// Puts the eigenvalues of a symmetric (n, n) matrix on its diagonal, by cyclic Jacobi rotations
// (Golub and Van Loan, "Matrix computations", section 8.5).
static void diagonalize(double *g, int n) {
    for (int sweep = 0; sweep < 30; sweep++) {
        double off = 0, on = 0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                *(i == j ? &on : &off) += g[i * n + j] * g[i * n + j];
        if (off <= 1e-20 * on)
            return;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) {
                double a = g[p * n + q];
                if (fabs(a) < 1e-300)
                    continue;
                double theta = (g[q * n + q] - g[p * n + p]) / (2 * a);
                double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < n; k++) {
                    double x = g[k * n + p], y = g[k * n + q];
                    g[k * n + p] = c * x - s * y;
                    g[k * n + q] = s * x + c * y;
                }
                for (int k = 0; k < n; k++) {
                    double x = g[p * n + k], y = g[q * n + k];
                    g[p * n + k] = c * x - s * y;
                    g[q * n + k] = s * x + c * y;
                }
            }
    }
}

// RankMe adds eps to each share, so that the logarithm of 0 does not occur.
static double effective_rank(const Work *w) {
    const double eps = 1e-7;
    double sum = 0, entropy = 0;
    diagonalize(w->g, w->n);
    int rank = SR_MIN(w->n, w->D);
    // The largest `rank` eigenvalues are the squared singular values; the others are rounding
    // errors.
    for (int i = 0; i < w->n; i++)
        sum += sqrt(fmax(w->g[i * w->n + i], 0));
    for (int i = 0; sum > 0 && i < w->n; i++) {
        double p = sqrt(fmax(w->g[i * w->n + i], 0)) / sum + eps;
        entropy -= p * log(p);
    }
    return sum > 0 ? fmin(exp(entropy), rank) : 1;
}

static double deviation(const Work *w) {
    double total = 0;
    for (int d = 0; d < w->D; d++) {
        double mean = 0, square = 0;
        for (int i = 0; i < w->n; i++)
            mean += w->z[(int64_t)i * w->D + d] / w->n;
        for (int i = 0; i < w->n; i++) {
            double away = w->z[(int64_t)i * w->D + d] - mean;
            square += away * away / w->n;
        }
        total += sqrt(square);
    }
    return total / w->D * sqrt(w->D);
}

static double uniformity(const Work *w) {
    double sum = 0;
    for (int i = 0; i < w->n; i++)
        for (int j = 0; j < i; j++)
            sum +=
                exp(-2 * (2 - 2 * dot(w->z + (int64_t)i * w->D, w->z + (int64_t)j * w->D, w->D)));
    return log(sum / (0.5 * w->n * (w->n - 1)));
}

static double alignment(const Work *w) {
    double sum = 0;
    for (int i = 0; i < w->n; i++)
        sum += 2 - 2 * dot(w->z + (int64_t)i * w->D, w->z + ((int64_t)w->n + i) * w->D, w->D);
    return sum / w->n;
}

// Counts ties as not found: embeddings that are all equal find nothing.
static double views_found(const Work *w) {
    const double *first = w->z, *second = w->z + (int64_t)w->n * w->D;
    int found = 0;
    for (int i = 0; i < w->n; i++) {
        const double *x = first + (int64_t)i * w->D;
        double own = dot(x, second + (int64_t)i * w->D, w->D);
        bool nearest = true;
        for (int j = 0; j < w->n && nearest; j++)
            nearest = j == i || dot(x, second + (int64_t)j * w->D, w->D) < own;
        found += nearest;
    }
    return (double)found / w->n;
}

static void fill(const Work *w, const float *x, int views, int n) {
    for (int v = 0; v < SR_MIN(views, 2); v++)
        for (int i = 0; i < w->n; i++)
            unit_row(w->z + ((int64_t)v * w->n + i) * w->D, x + ((int64_t)v * n + i) * w->D, w->D);
    for (int i = 0; i < w->n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int d = 0; d < w->D; d++)
                sum += (double)x[(int64_t)i * w->D + d] * (double)x[(int64_t)j * w->D + d];
            w->g[i * w->n + j] = w->g[j * w->n + i] = sum;
        }
}

SrStatus sr_representation_measure(const float *x, int views, int n, int D, SrRepresentation *out) {
    Work w = {.n = SR_MIN(n, SR_REPRESENTATION_ROWS), .D = D};
    *out = (SrRepresentation){.alignment = -1, .views_found = -1};
    if (w.n < 2 || D < 1)
        SR_FAIL(SR_ERR_CONFIG, "%d rows of %d numbers are too few to describe a representation", n,
                D);
    w.z = sr_calloc(2 * (size_t)w.n * (size_t)D, sizeof *w.z);
    w.g = sr_calloc((size_t)w.n * (size_t)w.n, sizeof *w.g);
    SrStatus status = w.z && w.g ? SR_OK : sr_out_of_memory("%d embeddings", w.n);
    if (status == SR_OK) {
        fill(&w, x, views, n);
        out->rows = w.n;
        out->deviation = deviation(&w);
        out->uniformity = uniformity(&w);
        if (views > 1) {
            out->alignment = alignment(&w);
            out->views_found = views_found(&w);
        }
        out->effective_rank = effective_rank(&w);
    }
    sr_free(w.z);
    sr_free(w.g);
    return status;
}
