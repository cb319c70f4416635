// Average precision of a ranking: the area under precision over recall.
#ifndef SR_MEASURE_AVERAGE_PRECISION_H
#define SR_MEASURE_AVERAGE_PRECISION_H

#include "base/status.h"

#include <stdint.h>

typedef enum {
    SR_AP_STEPS, // sum of (R_i - R_i-1) P_i: sklearn's average_precision_score
    SR_AP_ENVELOPE, // the same with P_i the best precision at this recall or a higher one: VOC 2010 on, VISSL's SVM
} SrApKind;

// relevant: (n) 1, 0, or -1 for what is not judged.  Equal scores share one threshold, so the order of ties does not
// matter.  *out -1: nothing is relevant.  SR_ERR_MEMORY.
SrStatus sr_average_precision(const float *score, const int8_t *relevant, int64_t n, SrApKind kind,
                              double *out);

#endif
