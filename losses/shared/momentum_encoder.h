// Momentum encoder: a teacher with the model's architecture, whose parameters k follow the model's
// parameters q slowly: k <- m k + (1 - m) q (He et al., "Momentum contrast", CVPR 2020, eq. 2).
#ifndef SR_LOSSES_SHARED_MOMENTUM_ENCODER_H
#define SR_LOSSES_SHARED_MOMENTUM_ENCODER_H

#include "losses/loss.h"

// Pairs of entries: learned parameters and running statistics.  The graph owns the arrays.
typedef struct {
    int n;
    int *student, *teacher; // (n) table indices of a pair
    bool *running;          // (n) true: a running statistic, which the update leaves alone
} SrMomentumEncoder;

// Gives each parameter and state entry of the trunk and heads of `run` a twin under run->prefix
// that is not trainable.  Then runs the model on the twins; *outputs are the teacher's.
// run->statistics chooses the running statistics of the twins.
SrStatus sr_momentum_encoder_build(SrLossContext *ctx, const SrModelRun *run,
                                   SrMomentumEncoder *out, SrOutputs *outputs);

// A hook `start`.  Copies the student's parameters and running statistics to the teacher, unless
// the run is resumed.  The loss's state must begin with an SrMomentumEncoder.
void sr_momentum_encoder_start(void *state, const SrLossStep *step, bool resumed);
// Copies the student's parameters, but not its running statistics, to the teacher.
void sr_momentum_encoder_copy_parameters(const SrMomentumEncoder *encoder, SrParams *params);
// Moves every parameter of the teacher by k <- m k + (1 - m) q, where m is `momentum`.
void sr_momentum_encoder_update(const SrMomentumEncoder *encoder, SrParams *params,
                                double momentum);
// Returns 1 - (1 - first) (cos(pi k / K) + 1) / 2 at step k of K, which rises from `first` to 1
// (BYOL, arXiv:2006.07733, section 3.2; DINO).
double sr_momentum_cosine(double first, const SrLossStep *step);

// A teacher of the whole model whose momentum rises to 1 along sr_momentum_cosine.  The state of a
// loss that uses the hooks sr_momentum_encoder_start and sr_cosine_teacher_after_update begins with
// it.
typedef struct {
    SrMomentumEncoder encoder;
    double momentum; // at the first step
} SrCosineTeacher;

// Runs the teacher, whose parameters have the prefix "loss.momentum_encoder.", on some crops; n 0:
// on all.  *embedding is its output of that name.
SrStatus sr_cosine_teacher_build(SrLossContext *ctx, SrInts crops, double momentum,
                                 SrCosineTeacher *out, SrNodeId *embedding);
// A hook `after_update`.
void sr_cosine_teacher_after_update(void *state, const SrLossStep *step);

#endif
