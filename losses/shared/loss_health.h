// Entropies of a teacher's targets, which show a collapse (SrLossHealth).
#ifndef SR_LOSSES_SHARED_LOSS_HEALTH_H
#define SR_LOSSES_SHARED_LOSS_HEALTH_H

#include "losses/loss.h"

// Fills prototypes and entropies of *out from rows of distributions (n, K).  Leaves *out unchanged
// if n is 0, K is 1 or memory is short.
void sr_loss_entropies(const float *rows, int64_t n, int K, SrLossHealth *out);
// Does the same for the distributions softmax((x - center) / temperature).  x: (n, K).  center:
// (K), or NULL for zeros.
void sr_loss_score_entropies(const float *x, int64_t n, int K, const float *center,
                             double temperature, SrLossHealth *out);

#endif
