// Conversion between element types: y = x and y += x, each float or bfloat16.
#ifndef SR_KERNELS_BASIC_CAST_H
#define SR_KERNELS_BASIC_CAST_H

#include "base/tensor.h"
#include "kernels/machine.h"

// Computes y (n) = x (n), in parallel; y may be x.
void sr_cast(const SrMachine *machine, SrDtype to, void *y, SrDtype from, const void *x, int64_t n);
// Computes y (n) += x (n): the sum of gradients of a value with several readers.  The two must not
// overlap.
void sr_accumulate(const SrMachine *machine, SrDtype to, void *y, SrDtype from, const void *x,
                   int64_t n);

#endif
