// Parameter schedules as functions of `where` in [0, 1), the share of training done, as in fvcore's
// param_scheduler.  Each kind is a descriptor `const SrScheduleKind sr_schedule_<name>` in
// trainer/schedules/<name>_schedule.c.
#ifndef SR_TRAINER_SCHEDULES_SCHEDULE_H
#define SR_TRAINER_SCHEDULES_SCHEDULE_H

#include "base/plugin/option.h"

typedef struct SrSchedule SrSchedule;

// Largest value of a schedule.  Learning rates and weight decays lie between 0 and it.
#define SR_SCHEDULE_MAX 1e6

// Step functions add this to `where` before they round down: 3 / 10 of 10 epochs must be epoch 3.
#define SR_WHERE_EPSILON 1e-6

// Input for building a schedule.
typedef struct {
    const SrYaml *tree; // the schedule's own map, for messages and for nested schedules
    const char *where;  // path of the map: "OPTIMIZER.param_schedulers.lr"
    int num_epochs;     // OPTIMIZER.num_epochs
    int depth;          // 0 at the top, 1 inside a composite, ...
    SrArena *arena;     // owns the schedule
} SrScheduleBuild;

typedef struct SrScheduleKind {
    const char *name; // "cosine"
    const char *help;
    const SrOption *options;
    size_t params_bytes;
    const char *required[4]; // keys that the tree must have; NULL ends the list
    // Default of update_interval: true: epoch, false: step.
    bool per_epoch;
    // Checks lists and lengths.  May store data for `value` in *prepared.  NULL: nothing to check.
    SrStatus (*check)(const void *params, const SrScheduleBuild *build, void **prepared);
    // Returns the value at `where`, the share of training done.
    double (*value)(const void *params, const void *prepared, int num_epochs, double where);
    // Maps as flow YAML without the name, for ten epochs; NULL ends the list.  The value must
    // change, except for the kind constant.
    const char *examples[4];
} SrScheduleKind;

// Returns kind i in name order; NULL past the end.
const SrScheduleKind *sr_schedule_kind_at(int i);
// Finds a kind by name.  SR_ERR_CONFIG: there is none; the message names the closest one.
SrStatus sr_schedule_kind_find(const char *name, const SrScheduleKind **out);

// Builds a schedule, in the arena, from a tree such as OPTIMIZER.param_schedulers.lr.  Keys of
// other kinds are ignored, because VISSL's default tree has the keys of all kinds.
// SR_ERR_CONFIG, which names the key to change: lists, lengths or milestones are inconsistent, or
// a key is unknown.
SrStatus sr_schedule_new(const SrYaml *tree, const char *where, int num_epochs, SrArena *arena,
                         SrSchedule **out);
// Builds a schedule inside another one.
SrStatus sr_schedule_build(const SrScheduleBuild *build, SrSchedule **out);
// Returns the value at `where` in [0, 1).
double sr_schedule_value(const SrSchedule *schedule, double where);
// Tells when the value is read: true: once per epoch; false: before each step.
bool sr_schedule_per_epoch(const SrSchedule *schedule);

#endif
