// Parameter schedules as functions of `where` in [0, 1), the share of training done (spec 8.3; fvcore's
// param_scheduler).  A descriptor `const SrScheduleKind sr_schedule_<stem>` in trainer/schedules/<stem>.c.
#ifndef SR_TRAINER_SCHEDULE_H
#define SR_TRAINER_SCHEDULE_H

#include "base/option.h"

typedef struct SrSchedule SrSchedule;

typedef struct SrScheduleKind {
    const char *name; // "cosine"
    const char *help;
    const SrOption *options;
    size_t params_bytes;
    SrStatus (*check)(const void *params, const SrYaml *tree, int num_epochs, SrArena *arena, void **prepared); // may be NULL
    double (*value)(const void *params, const void *prepared, int num_epochs, double where);
} SrScheduleKind;

// From a tree such as OPTIMIZER.param_schedulers.lr (keys that belong to other schedules are ignored: VISSL's
// defaults tree carries them all).  Lives in the arena.  Inconsistent lengths, milestones, ...: SR_ERR_CONFIG that
// names the key to change.
SrStatus sr_schedule_new(const SrYaml *tree, const char *where, int num_epochs, SrArena *arena, SrSchedule **out);
double sr_schedule_value(const SrSchedule *schedule, double where);
bool sr_schedule_per_epoch(const SrSchedule *schedule); // update_interval: epoch

// auto_lr_scaling (spec 1.5.2): rewrites the tree in place; global_batch = B * world, node_batch = B * per node.
// VISSL's removal of a warm-up that starts where it ends is kept.  Logs what it changed.
SrStatus sr_schedule_auto_scale(SrYaml *tree, const char *where, int global_batch, int node_batch, int nodes,
                                SrArena *arena);

#endif
