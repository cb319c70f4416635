// Invariants of a plan between its passes.  Every pass relies on what the earlier ones promise, and
// a mistake in one would show as wrong numbers far away.
#ifndef SR_GRAPH_PLAN_PLAN_INVARIANTS_H
#define SR_GRAPH_PLAN_PLAN_INVARIANTS_H

#include "graph/plan/plan_internal.h"

typedef enum {
    SR_PLAN_NODES,     // dce and fuse: inputs come first, and live nodes read live ones
    SR_PLAN_ROOTS,     // alias: views share the memory of a root of the same size
    SR_PLAN_GRADIENTS, // gradient, recompute: what is kept, dropped or has a backward call
    SR_PLAN_CALLS,     // schedule: every buffer is filled before it is read
    SR_PLAN_PLACES,    // place: buffers that are alive together share no byte
    SR_PLAN_ADDRESSES, // bind: addresses lie in the plan's memory, and every call has a kernel
} SrPlanStage;

// Returns a sentence about the first invariant that is broken, of this stage or an earlier one;
// NULL: all hold.  Plans are checked after each stage in builds with SR_DEBUG (base/assert.h).
// Time is quadratic in the number of buffers.
const char *sr__plan_broken(const SrPlan *plan, SrPlanStage stage);

#endif
