// A momentum encoder: a second set of the model's parameters that follows the first slowly,
// k <- m k + (1 - m) q (He et al., "Momentum contrast", CVPR 2020, eq. 2), without gradients.
#ifndef SR_LOSSES_MOMENTUM_ENCODER_H
#define SR_LOSSES_MOMENTUM_ENCODER_H

#include "losses/loss.h"

typedef struct {
    int n;
    int *student, *teacher; // (n) table indices of learned parameters, pairwise
} SrMomentumEncoder;

// Gives every parameter and state entry of the student (trunk and heads) a twin under `prefix`, not
// trainable.  In training the twins' running statistics take the student's as they are after its
// forward of the same step.  To be called between the student's forward and the teacher's
// (ctx->run_model with the same prefix).
SrStatus sr_momentum_encoder_build(SrLossContext *ctx, const char *prefix, SrMomentumEncoder *out);

void sr_momentum_encoder_copy(const SrMomentumEncoder *encoder, SrParams *params);
void sr_momentum_encoder_update(const SrMomentumEncoder *encoder, SrParams *params,
                                double momentum);

#endif
