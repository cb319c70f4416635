// What adam and adamw share: running first and second moments and the step taken from them.
#ifndef SR_TRAINER_OPTIM_MOMENTS_H
#define SR_TRAINER_OPTIM_MOMENTS_H

#include "base/compiler.h"
#include "trainer/optim/optim.h"

typedef struct {
    SrDoubles betas; // two
    double eps;
    bool amsgrad;
} SrMoments;
extern const SrOption sr__moments_options[];
extern const char *const sr__moments_examples[];

int sr__moments_states(const void *params); // 2, with amsgrad 3
SrStatus sr__moments_check(const void *params);
// m and s from the gradient as it stands, then p = p - lr / (1 - b1^t) * m / (sqrt(s) / sqrt(1 -
// b2^t) + eps). value, grad, state[k]: (n)
void sr__moments_update(const SrOptimUpdate *u, int64_t n, float *value, const float *grad,
                        float *const *state);

#endif
