// Parameters of Normalize, for ToTensor too, which does both at once.
#ifndef SR_DATA_AUGMENT_NORMALIZE_H
#define SR_DATA_AUGMENT_NORMALIZE_H

#include "base/plugin/option.h"

typedef struct {
    SrDoubles mean, std; // (C) each, one value per channel
} SrNormalize;

#endif
