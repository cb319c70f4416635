// y += x over plain floats: the sum of gradients where a value has several readers.
#ifndef SR_KERNELS_ACCUMULATE_H
#define SR_KERNELS_ACCUMULATE_H

#include <stdint.h>

// y (n) += x (n); no overlap.
void sr_accumulate(float *y, const float *x, int64_t n);

#endif
