// Sums of squares in double in one fixed order of additions, for norms of parameters and gradients.
#ifndef SR_TRAINER_OPTIM_NORMS_H
#define SR_TRAINER_OPTIM_NORMS_H

#include <stdint.h>

// Returns ||x||^2.  x: (n).
double sr__sum_squares(const float *x, int64_t n);
// Returns ||g + weight_decay * p||^2, where each sum is rounded to float as in the update.  g, p:
// (n).
double sr__sum_decayed_squares(const float *g, const float *p, float weight_decay, int64_t n);

#endif
