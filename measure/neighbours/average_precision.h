// Average precision of a ranking: the area under precision over recall.
#ifndef SR_MEASURE_NEIGHBOURS_AVERAGE_PRECISION_H
#define SR_MEASURE_NEIGHBOURS_AVERAGE_PRECISION_H

#include "base/status.h"

#include <stdint.h>

typedef enum {
    // Sum of (R_i - R_i-1) P_i, with recall R and precision P: sklearn's average_precision_score.
    SR_AP_STEPS,
    // Sum of (R_i - R_i-1) P_i, where P_i is the best precision at this recall or a higher one:
    // VOC from 2010 on, VISSL's SVM.
    SR_AP_ENVELOPE,
} SrApKind;

// Computes the average precision of a ranking by score (n).  relevant: (n) 1, 0, or -1: not judged.
// Equal scores share one threshold, so the order of ties does not matter.  NaN ranks last.  *out: 0
// to 1; -1: nothing is relevant.  SR_ERR_MEMORY: out of memory.
SrStatus sr_average_precision(const float *score, const int8_t *relevant, int64_t n, SrApKind kind,
                              double *out);

#endif
