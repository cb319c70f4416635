// A momentum encoder: a second set of the model's parameters that follows the first slowly,
// k <- m k + (1 - m) q (He et al., "Momentum contrast", CVPR 2020, eq. 2), without gradients.
#ifndef SR_LOSSES_MOMENTUM_ENCODER_H
#define SR_LOSSES_MOMENTUM_ENCODER_H

#include "losses/loss.h"

typedef struct {
    int n;
    int *student,
        *teacher;  // (n) table indices, pairwise: learned parameters and running statistics
    bool *running; // (n) it is a running statistic, which never follows
} SrMomentumEncoder;

// Gives every parameter and state entry of what `run` goes through a twin under run->prefix, not
// trainable, and runs the model on it: *outputs is the teacher's.  run->statistics says whose
// running statistics the twins have.
SrStatus sr_momentum_encoder_build(SrLossContext *ctx, const SrModelRun *run,
                                   SrMomentumEncoder *out, SrOutputs *outputs);

// The hook `start` of a loss whose state begins with an SrMomentumEncoder: unless the run is resumed, the teacher
// becomes the student, running statistics too.
void sr_momentum_encoder_start(void *state, const SrLossStep *step, bool resumed);
// The student's parameters alone: running statistics stay as they begin.
void sr_momentum_encoder_copy_parameters(const SrMomentumEncoder *encoder, SrParams *params);
void sr_momentum_encoder_update(const SrMomentumEncoder *encoder, SrParams *params,
                                double momentum);
// 1 - (1 - first) (cos(pi k / K) + 1) / 2 at step k of K: from `first` to 1 (BYOL, arXiv:2006.07733, section
// 3.2; DINO).
double sr_momentum_cosine(double first, const SrLossStep *step);

#endif
