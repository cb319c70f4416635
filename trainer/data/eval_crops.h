// Writes the transforms of an evaluation by random crops, whose features are averaged for each
// image: the "bag of features" of EMP-SSL (Tong et al., 2023, arXiv:2304.03977, section 3).  The
// passes over the crops are made by trainer/features/feature_rows.h.
#ifndef SR_TRAINER_DATA_EVAL_CROPS_H
#define SR_TRAINER_DATA_EVAL_CROPS_H

#include "base/text/yaml.h"

// Makes the list of transforms that cuts one random box and resizes it to h x w pixels; then come
// those transforms of `evaluation` that choose no size.  The box is drawn as for the first view of
// the first transform of `train` that cuts one (SrTransform.box_scale).  Without one it has 0.2 to
// 1 of the area.  Colours stay as they are and nothing is mirrored.
//   train       DATA.TRAIN.TRANSFORMS.  NULL: no transforms
//   evaluation  transforms of the same evaluation without crops
//   out         list in memory of the arena
SrStatus sr_eval_crops_transforms(const SrYaml *train, const SrYaml *evaluation, int h, int w,
                                  SrArena *arena, const SrYaml **out);

#endif
