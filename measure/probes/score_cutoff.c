// Cut-off of suspicious scores by a logistic distribution through two quantiles of the logits.
#include "measure/probes/score_cutoff.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

enum { LEAST = 20 }; // scores of a fit

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double logit(double p) { return log(p / (1 - p)); }

// Interpolates linearly between the sorted values, as numpy.quantile does.
static double quantile(const double *sorted, int64_t n, double p) {
    double at = p * (double)(n - 1), low = floor(at);
    int64_t i = (int64_t)low;
    double next = sorted[i + 1 < n ? i + 1 : i];
    return sorted[i] + (at - low) * (next - sorted[i]);
}

SrStatus sr_score_cutoff(const SrCutoffOptions *o, const float *score, int64_t n, double *out) {
    double *logits = sr_alloc((size_t)n * sizeof *logits);
    int64_t kept = 0;
    *out = 0;
    SR_TRY_MEMORY(logits, "the cut-off of %lld scores", (long long)n);
    for (int64_t i = 0; i < n; i++)
        if (score[i] > 0 && score[i] < 1)
            logits[kept++] = logit((double)score[i]);
    qsort(logits, (size_t)kept, sizeof *logits, by_value);
    if (kept >= LEAST) {
        double p1 = o->share, p2 = sqrt(0.5 * o->share);
        double x1 = quantile(logits, kept, p1), x2 = quantile(logits, kept, p2);
        double scale = (x1 - x2) / (logit(p1) - logit(p2));
        double at = x1 + scale * (logit(o->significance * o->share) - logit(p1));
        *out = 1 / (1 + exp(-at));
    }
    sr_free(logits);
    return SR_OK;
}
