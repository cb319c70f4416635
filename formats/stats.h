// Statistics of a tensor, and the difference between two tensors.  Both are computed in double
// precision, in one pass over pieces, for any element type.
#ifndef SR_FORMATS_STATS_H
#define SR_FORMATS_STATS_H

#include <stdbool.h>

#include "base/tensor.h"

typedef struct {
    int64_t n, zeros;
    int64_t nan, infinite;                  // left out of the figures below
    double min, max, mean, deviation, norm; // 0 if no number is finite
} SrTensorStats;

void sr_tensor_stats(const SrTensor *t, SrTensorStats *out);

typedef struct {
    bool same_bits;
    double largest;  // largest |a - b|; infinite where only one side is a number
    double relative; // largest |a - b| / largest |a|
    double cosine;   // cosine of a and b as vectors; 1 when both are 0
} SrTensorDiff;

// Tells whether |a - b| <= atol + rtol |b| for all elements, as numpy.allclose does.  NaN equals
// NaN.  Tensors have equal shape.
bool sr_tensor_close(const SrTensor *a, const SrTensor *b, double rtol, double atol);

// Compares tensors of equal shape; element types may differ.
void sr_tensor_diff(const SrTensor *a, const SrTensor *b, SrTensorDiff *out);

#endif
