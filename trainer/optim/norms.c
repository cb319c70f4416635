// Sums of squares.  Sixteen running sums give a fixed order of additions that still fills a vector
// register.  The bits therefore depend neither on threads nor on the processor.
#include "trainer/optim/norms.h"

#include "base/compiler.h"

enum { ACCUMULATORS = 16 };

double sr__sum_squares(const float *x, int64_t n) {
    double sums[ACCUMULATORS] = {0};
    int64_t i = 0;
    for (; i + ACCUMULATORS <= n; i += ACCUMULATORS) {
        SR_SIMD
        for (int j = 0; j < ACCUMULATORS; j++)
            sums[j] += (double)x[i + j] * x[i + j];
    }
    double total = 0;
    for (; i < n; i++)
        total += (double)x[i] * x[i];
    for (int j = 0; j < ACCUMULATORS; j++)
        total += sums[j];
    return total;
}

double sr__sum_decayed_squares(const float *g, const float *p, float weight_decay, int64_t n) {
    double sums[ACCUMULATORS] = {0};
    int64_t i = 0;
    for (; i + ACCUMULATORS <= n; i += ACCUMULATORS) {
        SR_SIMD
        for (int j = 0; j < ACCUMULATORS; j++) {
            float d = g[i + j] + weight_decay * p[i + j];
            sums[j] += (double)d * d;
        }
    }
    double total = 0;
    for (; i < n; i++) {
        float d = g[i] + weight_decay * p[i];
        total += (double)d * d;
    }
    for (int j = 0; j < ACCUMULATORS; j++)
        total += sums[j];
    return total;
}
