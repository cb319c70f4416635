// Clipping of gradients.
#ifndef SR_TRAINER_OPTIM_GRAD_CLIP_H
#define SR_TRAINER_OPTIM_GRAD_CLIP_H

#include "graph/ir/params.h"

// Clips gradients as torch.nn.utils.clip_grad_norm_ does (MODEL.GRAD_CLIP): multiplies them by
// min(1, max_norm / (norm + 1e-6)).  The norm is over all gradients together; norm_type INFINITY:
// the largest absolute value.  skip: as in sr_optim_step; skipped parameters do not count.
// Returns the norm before clipping.  A norm that is not finite clips nothing.
double sr_grad_clip(SrParams *params, const bool *skip, double norm_type, double max_norm);

#endif
