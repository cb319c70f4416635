// Sums of squares in double in one fixed order of additions, for norms of parameters and gradients.
#ifndef SR_TRAINER_OPTIM_NORMS_H
#define SR_TRAINER_OPTIM_NORMS_H

#include <stdint.h>

double sr__sum_squares(const float *x, int64_t n); // (n)
// ||g + weight_decay * p||^2, the sum rounded to float as the update will round it.
double sr__sum_decayed_squares(const float *g, const float *p, float weight_decay,
                               int64_t n); // (n), (n)

#endif
