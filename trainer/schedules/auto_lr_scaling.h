// Scales the rates of a schedule with the batch, as VISSL's auto_lr_scaling does.
#ifndef SR_TRAINER_SCHEDULES_AUTO_LR_SCALING_H
#define SR_TRAINER_SCHEDULES_AUTO_LR_SCALING_H

#include "base/arena.h"
#include "base/status.h"
#include "base/text/yaml.h"

// Rewrites the tree in place for the batch of the run if auto_lr_scaling.auto_scale is set, and
// logs the change.  global_batch: images of a step.  node_batch: images of the step on one node.
// A warm-up that starts where it ends is removed, as in VISSL.
SrStatus sr_schedule_auto_scale(SrYaml *tree, const char *where, int global_batch, int node_batch,
                                int nodes, SrArena *arena);

#endif
