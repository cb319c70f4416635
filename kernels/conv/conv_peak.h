// The speed of products on this processor, measured with the micro-kernels.
#ifndef SR_KERNELS_CONV_CONV_PEAK_H
#define SR_KERNELS_CONV_CONV_PEAK_H

#include <stdbool.h>

#include "base/tensor.h"
#include "kernels/machine.h"

// Returns the speed in GFLOP/s that the present threads reach in products of that type.  The speed
// is measured by each call, which takes a few milliseconds.
double sr_conv_peak_gflops(const SrMachine *machine, SrDtype type);

// Returns whether the default machine multiplies bfloat16 faster as pairs than as floats.  The
// first call measures it in about 10 ms; later calls return the same answer.  False on a machine
// without pairs.
bool sr_conv_pairs_are_faster(void);
// Makes the comparison with the caller's clock, for tests: `seconds` returns the time of one
// product.
bool sr__conv_pairs_win(double (*seconds)(bool pairs));

#endif
