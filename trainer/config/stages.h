// Stages of a run: DATA.STAGES changes the transforms of the training images for a part of the
// epochs, such as small crops first and large ones later (FastDINOv2, arXiv:2507.03779), or weak
// augmentation at the end.
//
//   STAGES:
//     - {until: 0.8, set: ["DATA.TRAIN.TRANSFORMS.0.size_crops=[24]"]}
//
// `until` is a share of OPTIMIZER.num_epochs.  The entries of `set` are overrides as on the command
// line, below DATA.TRAIN.TRANSFORMS.  After the last entry the configuration holds as it is.
#ifndef SR_TRAINER_CONFIG_STAGES_H
#define SR_TRAINER_CONFIG_STAGES_H

#include "base/text/text.h"
#include "trainer/config/config_types.h"

// Returns the number of stages, at least 1.
int sr_stages_count(const SrConfig *config);
// Return the first epoch of stage k, and the first one after it; that of the last stage is
// num_epochs.  They are equal if the stage is too short for an epoch.
int sr_stage_begin(const SrConfig *config, int k);
int sr_stage_end(const SrConfig *config, int k);
// Returns the overrides of stage k, a list of texts; NULL: the last stage, which has none.
const SrYaml *sr_stage_set(const SrConfig *config, int k);
// Appends which epochs stage k has and what it sets: "stage 1 of 2, up to epoch 21: ...".
void sr_stage_text(const SrConfig *config, int k, SrText *out);
// Warns of values of the command line that stages of a file replace for their epochs.
void sr_stages_warn(const SrConfig *config);
// SR_ERR_CONFIG, with file and line: an entry is wrong.
SrStatus sr__stages_check(const SrConfig *config);

#endif
