// Parameter schedules as functions of `where` in [0, 1), the share of training done (fvcore's
// param_scheduler).  A descriptor `const SrScheduleKind sr_schedule_<name>` in trainer/schedules/<name>_schedule.c.
#ifndef SR_TRAINER_SCHEDULES_SCHEDULE_H
#define SR_TRAINER_SCHEDULES_SCHEDULE_H

#include "base/option.h"

typedef struct SrSchedule SrSchedule;

// What step functions add to `where` before they round down: 3 / 10 of 10 epochs must be epoch 3.
#define SR_WHERE_EPSILON 1e-6

// What a kind gets when it is built.
typedef struct {
    const SrYaml *tree; // the schedule's own map, for messages and for nested schedules
    const char *where;  // its path: "OPTIMIZER.param_schedulers.lr"
    int num_epochs;     // OPTIMIZER.num_epochs
    int depth;          // 0 at the top, 1 inside a composite
    SrArena *arena;
} SrScheduleBuild;

typedef struct SrScheduleKind {
    const char *name; // "cosine"
    const char *help;
    const SrOption *options;
    size_t params_bytes;
    const char *required[4]; // keys without which the kind makes no sense; NULL ends
    bool per_epoch;          // the update_interval where the tree gives none: epoch instead of step
    // Consistency of lists and lengths; may keep something for `value` in *prepared.  NULL: nothing to check.
    SrStatus (*check)(const void *params, const SrScheduleBuild *build, void **prepared);
    double (*value)(const void *params, const void *prepared, int num_epochs, double where);
    const char *examples
        [4]; // flow YAML of ten epochs, without the name, whose value changes unless it is constant; NULL ends
} SrScheduleKind;

const SrScheduleKind *sr_schedule_kind_at(int i); // NULL past the end
// Unknown name: SR_ERR_CONFIG with the nearest.
SrStatus sr_schedule_kind_find(const char *name, const SrScheduleKind **out);

// From a tree such as OPTIMIZER.param_schedulers.lr (keys that belong to other schedules are ignored: VISSL's
// defaults tree carries them all).  Lives in the arena.  Inconsistent lengths, milestones, ...: SR_ERR_CONFIG that
// names the key to change.
SrStatus sr_schedule_new(const SrYaml *tree, const char *where, int num_epochs, SrArena *arena,
                         SrSchedule **out);
// The same for a schedule inside another one.
SrStatus sr_schedule_build(const SrScheduleBuild *build, SrSchedule **out);
double sr_schedule_value(const SrSchedule *schedule, double where);
bool sr_schedule_per_epoch(const SrSchedule *schedule); // update_interval: epoch

// auto_lr_scaling: rewrites the tree in place when it says auto_scale; global_batch = B * world,
// node_batch = B * processes of one node.  VISSL's removal of a warm-up that starts where it ends is kept.  Logs
// what it changed.
SrStatus sr_schedule_auto_scale(SrYaml *tree, const char *where, int global_batch, int node_batch,
                                int nodes, SrArena *arena);

#endif
