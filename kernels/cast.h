// From one element type to the other: y = x and y += x, each float or bfloat16.
#ifndef SR_KERNELS_CAST_H
#define SR_KERNELS_CAST_H

#include "base/tensor.h"
#include "kernels/machine.h"

// y (n) = x (n), in parallel; y may be x.
void sr_cast(const SrMachine *machine, SrDtype to, void *y, SrDtype from, const void *x, int64_t n);
// y (n) += x (n): the sum of gradients where a value has several readers.  No overlap.
void sr_accumulate(const SrMachine *machine, SrDtype to, void *y, SrDtype from, const void *x,
                   int64_t n);

#endif
