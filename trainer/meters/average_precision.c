// See the header.
#include "trainer/meters/average_precision.h"

#include <stdlib.h>

static int best_first(const void *a, const void *b) {
    const SrRanked *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->positive - y->positive;
}

// From the last to the first: the largest precision so far is the interpolated one, and each
// positive adds one step of recall.
double sr_average_precision(SrRanked *v, int64_t n) {
    int64_t positives = 0, seen;
    double best = 0, sum = 0;
    qsort(v, (size_t)n, sizeof *v, best_first);
    for (int64_t i = 0; i < n; i++)
        positives += v[i].positive;
    if (positives == 0)
        return -1;
    seen = positives;
    for (int64_t i = n - 1; i >= 0; i--) {
        double precision = (double)seen / (double)(i + 1);
        best = precision > best ? precision : best;
        sum += v[i].positive ? best : 0;
        seen -= v[i].positive;
    }
    return sum / (double)positives;
}
