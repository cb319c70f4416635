// Params of dino_cross_entropy.
#ifndef SR_KERNELS_LOSSES_DINO_CROSS_ENTROPY_H
#define SR_KERNELS_LOSSES_DINO_CROSS_ENTROPY_H

#include "base/plugin/option.h"

typedef struct {
    int num_crops;  // crops of the student
    SrInts teacher; // indices of the crops that the teacher saw
    double student_temp;
} SrDinoCrossEntropyParams;

#endif
