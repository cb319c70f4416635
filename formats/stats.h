// What a tensor's numbers look like, and how two tensors differ.  In doubles, in one pass over
// pieces, whatever the element type.
#ifndef SR_FORMATS_STATS_H
#define SR_FORMATS_STATS_H

#include <stdbool.h>

#include "base/tensor.h"

typedef struct {
    int64_t n, zeros;
    int64_t nan, infinite;                  // counted, and left out of the rest
    double min, max, mean, deviation, norm; // 0 where no number is finite
} SrTensorStats;

void sr_tensor_stats(const SrTensor *t, SrTensorStats *out);

typedef struct {
    bool same_bits;
    double largest;  // |a - b|; infinite where just one side is a number
    double relative; // largest / largest |a|
    double cosine;   // between a and b as vectors; 1 when both are 0
} SrTensorDiff;

// Of equal shapes; element types may differ.
void sr_tensor_diff(const SrTensor *a, const SrTensor *b, SrTensorDiff *out);

#endif
