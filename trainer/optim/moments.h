// Parts that adam and adamw share: running first and second moments, and the step that follows from
// them.
#ifndef SR_TRAINER_OPTIM_MOMENTS_H
#define SR_TRAINER_OPTIM_MOMENTS_H

#include "base/compiler.h"
#include "trainer/optim/optimizer.h"

typedef struct {
    SrDoubles betas; // (2) decay of the first and the second moment
    double eps;      // added to the denominator
    bool amsgrad;    // the largest second moment so far takes the place of the present one
} SrMoments;
extern const SrOption sr__moments_options[];
extern const char *const sr__moments_examples[];

int sr__moments_states(const void *params); // returns 2, or 3 with amsgrad
SrStatus sr__moments_check(const void *params);
// Updates the moments m and s from the gradient, then the parameter p at step t:
//   p = p - lr / (1 - b1^t) * m / (sqrt(s) / sqrt(1 - b2^t) + eps)
// value, grad, state[k]: (n).
void sr__moments_update(const SrOptimUpdate *u, int64_t n, float *value, const float *grad,
                        float *const *state);

#endif
