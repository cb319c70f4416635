// Average precision of one ranking (VOC's of 2010 and later): the area under precision as a function
// of recall, made monotone from the right.  Everingham et al., "The PASCAL VOC challenge", 4.2.
#ifndef SR_TRAINER_METERS_AVERAGE_PRECISION_H
#define SR_TRAINER_METERS_AVERAGE_PRECISION_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    float score;
    bool positive;
} SrRanked;

// Sorts `v` by falling score (of equal ones the positives come last: the worst case).  -1 without a positive.
double sr_average_precision(SrRanked *v, int64_t n);

#endif
