// Adds up the entropies of rows and of their mean.
#include "losses/shared/loss_health.h"

#include <math.h>

#include "base/mem.h"
#include "losses/loss.h"

typedef struct {
    int K;
    double *p, *mean; // (K) the present row; the sum of the rows so far, at the end their mean
    double rows;      // sum of the rows' entropies
} Entropies;

static double entropy(const double *p, int K) {
    double h = 0;
    for (int k = 0; k < K; k++)
        h -= p[k] > 0 ? p[k] * log(p[k]) : 0;
    return h;
}

static void add_row(Entropies *e) {
    double sum = 0;
    for (int k = 0; k < e->K; k++)
        sum += e->p[k];
    for (int k = 0; k < e->K; k++) {
        e->p[k] /= sum > 0 ? sum : 1;
        e->mean[k] += e->p[k];
    }
    e->rows += entropy(e->p, e->K);
}

// Returns false if memory is short or there is one prototype; *out of the caller then stays as it
// is.
static bool begin(Entropies *e, int K) {
    *e = (Entropies){.K = K, .p = sr_calloc(2 * (size_t)K + 1, sizeof *e->p)};
    e->mean = e->p ? e->p + K : NULL;
    return e->p && K > 1;
}

static void end(Entropies *e, int64_t n, SrLossHealth *out) {
    double most = log(SR_MAX(e->K, 2));
    for (int k = 0; e->p && k < e->K; k++)
        e->mean[k] /= (double)SR_MAX(n, 1);
    if (e->p && e->K > 1 && n > 0) {
        out->prototypes = e->K;
        out->row_entropy = e->rows / (double)n / most;
        out->mean_entropy = entropy(e->mean, e->K) / most;
    }
    sr_free(e->p);
}

void sr_loss_entropies(const float *rows, int64_t n, int K, SrLossHealth *out) {
    Entropies e;
    bool ok = begin(&e, K);
    for (int64_t r = 0; ok && r < n; r++) {
        for (int k = 0; k < K; k++)
            e.p[k] = (double)rows[r * K + k];
        add_row(&e);
    }
    end(&e, n, out);
}

void sr_loss_score_entropies(const float *x, int64_t n, int K, const float *center,
                             double temperature, SrLossHealth *out) {
    Entropies e;
    bool ok = begin(&e, K);
    for (int64_t r = 0; ok && r < n; r++) {
        double most = -INFINITY;
        for (int k = 0; k < K; k++) {
            e.p[k] = ((double)x[r * K + k] - (center ? (double)center[k] : 0)) / temperature;
            most = fmax(most, e.p[k]);
        }
        for (int k = 0; k < K; k++)
            e.p[k] = exp(e.p[k] - most);
        add_row(&e);
    }
    end(&e, n, out);
}
