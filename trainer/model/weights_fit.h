// Fits tensors of a file whose shapes differ a little from the model's: by dimensions of 1
// (ConvNeXt's channel scales), as position embeddings of another number of patches, or as a first
// convolution for RGB where the model has other channels.
#ifndef SR_TRAINER_MODEL_WEIGHTS_FIT_H
#define SR_TRAINER_MODEL_WEIGHTS_FIT_H

#include <stdbool.h>

#include "base/status.h"
#include "base/tensor.h"
#include "formats/weights/weights_table.h"

// True if sr_weights_fit_read can turn one shape into the other.  name: the tensor's, in any
// writer's words.  channels: number of channels of the model's images; 0: 3.
bool sr_weights_fits(const char *name, SrShape from, SrShape to, int channels);
// True if a value of type `to` can be read from a tensor of type `from`: the same type, or float32
// from float16, bfloat16 or float64.
bool sr_weights_fits_type(SrDtype from, SrDtype to);
// Reads tensor i of a file, whose type and shape fit, into a value of the model.  SR_ERR_CONFIG: a
// number of it is NaN or infinite.
//
// The first convolution's weights for RGB, (K, 3, R, S), become those for C channels: each channel
// gets their mean times 3 / C, so that an image with C equal channels gives what a grey image gave.
// timm's adapt_input_conv scales by 3 / C too, but repeats the red, green and blue weights in turn;
// with one channel both are the sum.  A log line says so.
//
// Position embeddings of another grid are resampled (bicubic), with a log line; under torchvision's
// name corners are aligned, as in its interpolate_embeddings.
SrStatus sr_weights_fit_read(SrWeights *w, int i, const char *name, void *to, SrDtype type,
                             SrShape shape);

#endif
