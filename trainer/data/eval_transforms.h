// Writes the transforms of ImageNet's evaluation as YAML, as a person would put them under
// DATA.TEST.TRANSFORMS.
#ifndef SR_TRAINER_DATA_EVAL_TRANSFORMS_H
#define SR_TRAINER_DATA_EVAL_TRANSFORMS_H

#include "base/text/text.h"
#include "base/text/yaml.h"
#include "trunks/presets.h"

// Appends the transforms for images of h x w pixels up to ToTensor, without the closing bracket:
// "[{name: Resize, size: 256}, {name: CenterCrop, size: 224}, {name: ToTensor}".
void sr_eval_transforms_crop(int h, int w, SrText *out);
// Appends the whole list with which the publisher of a model evaluates it: torchvision's, with the
// preset's own statistics of pixels where it has them.  preset NULL: with ImageNet's.
void sr_eval_transforms_preset(const SrPreset *preset, int h, int w, SrText *out);
// Reads that list into memory of the arena.
SrStatus sr_eval_transforms_parse(const SrPreset *preset, int h, int w, SrArena *arena,
                                  SrYaml **out);

#endif
