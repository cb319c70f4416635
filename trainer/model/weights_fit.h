// Fits tensors of a file whose shapes differ a little from the model's: by dimensions of 1
// (ConvNeXt's channel scales), or as position embeddings of another number of patches.
#ifndef SR_TRAINER_MODEL_WEIGHTS_FIT_H
#define SR_TRAINER_MODEL_WEIGHTS_FIT_H

#include <stdbool.h>

#include "base/tensor.h"

// True if sr_weights_fit_copy can turn one shape into the other.  name: the tensor's, in any
// writer's words.
bool sr_weights_fits(const char *name, SrShape from, SrShape to);
// Copies `from` into `to`.  Position embeddings of another grid are resampled (bicubic), with a log
// line; under torchvision's name corners are aligned, as in its interpolate_embeddings.
void sr_weights_fit_copy(const char *name, const float *from, SrShape from_shape, float *to,
                         SrShape to_shape);

#endif
