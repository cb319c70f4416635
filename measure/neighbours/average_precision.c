// Average precision: one sort, then a walk over thresholds from the lowest score upwards.  In that
// direction the envelope is a running maximum.
#include "measure/neighbours/average_precision.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

typedef struct {
    float score;
    int8_t relevant;
} Item;

// Orders by rising score; NaN is below every number.
static int by_score(const void *a, const void *b) {
    float x = ((const Item *)a)->score, y = ((const Item *)b)->score;
    if (isnan(x) || isnan(y))
        return !isnan(x) - !isnan(y);
    return (x > y) - (x < y);
}

// Computes the area.  items: (n) judged items by rising score; `found` of them are relevant.
static double area(const Item *items, int64_t n, int64_t found, SrApKind kind) {
    double total = (double)found, sum = 0, best = 0;
    for (int64_t i = 0; i < n;) {
        // Items i to n - 1 are at or above this threshold.
        double precision = (double)found / (double)(n - i);
        best = fmax(best, precision);
        int64_t here = 0, j = i;
        for (; j < n && by_score(&items[i], &items[j]) == 0; j++)
            here += items[j].relevant;
        sum += (double)here / total * (kind == SR_AP_ENVELOPE ? best : precision);
        found -= here;
        i = j;
    }
    return sum;
}

SrStatus sr_average_precision(const float *score, const int8_t *relevant, int64_t n, SrApKind kind,
                              double *out) {
    Item *items = sr_calloc((size_t)n + 1, sizeof *items);
    int64_t judged = 0, found = 0;
    SR_TRY_MEMORY(items, "a ranking of %lld", (long long)n);
    for (int64_t i = 0; i < n; i++) {
        if (relevant[i] < 0)
            continue;
        items[judged++] = (Item){score[i], relevant[i]};
        found += relevant[i];
    }
    qsort(items, (size_t)judged, sizeof *items, by_score);
    *out = found ? area(items, judged, found, kind) : -1;
    sr_free(items);
    return SR_OK;
}
