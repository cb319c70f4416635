// Tensors of a file whose shapes are not quite the model's: dimensions of 1 (ConvNeXt's scales of channels), and position
// embeddings of another number of patches.
#ifndef SR_TRAINER_MODEL_WEIGHTS_FIT_H
#define SR_TRAINER_MODEL_WEIGHTS_FIT_H

#include <stdbool.h>

#include "base/tensor.h"

// Whether sr_weights_fit_copy can make one of the other.  name: the model's, in any writer's words.
bool sr_weights_fits(const char *name, SrShape from, SrShape to);
// to->value = from, resampled where the grids differ (bicubic; with the corners on each other under torchvision's name,
// as its interpolate_embeddings does), which is told in a line.
void sr_weights_fit_copy(const char *name, const float *from, SrShape from_shape, float *to,
                         SrShape to_shape);

#endif
