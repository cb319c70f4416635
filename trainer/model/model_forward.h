// A forward pass of the model: trunk passes, their features, and the heads on them.
#ifndef SR_TRAINER_MODEL_MODEL_FORWARD_H
#define SR_TRAINER_MODEL_MODEL_FORWARD_H

#include "trainer/model/model.h"

// Builds a forward pass of the model on `views` into an existing builder; run->views is ignored.
// Consecutive views of equal size share a trunk pass.  Vectors of all views are concatenated in
// order and go through the heads at once; maps and tokens of different lengths stay separate.
// Rows are view-major: all images of view 0 come first.
SrStatus sr_model_forward(SrModel *model, SrBuilder *b, const SrModelRun *run,
                          const SrNodeId *views, int n_views, SrOutputs *out);

#endif
