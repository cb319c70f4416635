// Reductions over a row of scores without its own image's columns.  s (C n): column k n + i is view
// k of image i.
#ifndef SR_KERNELS_LOSSES_OTHERS_H
#define SR_KERNELS_LOSSES_OTHERS_H

#include "kernels/machine.h"

// Returns the largest score of another image; -INFINITY where n is 1.
float sr__others_max(const SrMachine *machine, const float *s, int n, int C, int image);
// Returns the sum of exp((s - shift) factor) over other images.  out (C n) receives the terms; it
// may be s, or NULL.
double sr__others_exp(const SrMachine *machine, float *out, const float *s, float shift,
                      float factor, int n, int C, int image);
void sr__others_scale(const SrMachine *machine, float *s, float factor, int n, int C, int image);

#endif
