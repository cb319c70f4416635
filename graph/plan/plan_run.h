// Runs a plan: forward and backward, with times of the kernel calls or a search for NaNs on
// request.
#ifndef SR_GRAPH_PLAN_PLAN_RUN_H
#define SR_GRAPH_PLAN_PLAN_RUN_H

#include "graph/plan/plan.h"

// Run the plan.  A backward pass follows a forward pass of the same plan and adds to the table's
// gradients: callers call sr_params_zero_grad first, and several pairs of passes accumulate.
// SR_ERR_IO: ranks could not exchange the sums of a layer, which the message names.  Plans that
// exchange nothing cannot fail: those in evaluation, and all plans of a run with one rank.
SrStatus sr_plan_forward(SrPlan *plan, int64_t iteration);
SrStatus sr_plan_backward(SrPlan *plan);
// Like sr_plan_backward, and calls `after` with the number of each kernel call that has run, from
// 0, so that other work can start in between.
SrStatus sr_plan_backward_each(SrPlan *plan, void (*after)(void *arg, int call), void *arg);
// Returns the call of the backward pass after which the gradient of a table entry is complete.
// -1: no call adds to it.
int sr_plan_gradient_done(const SrPlan *plan, int param);

// Sets the replica for which ops draw from now on.  0, the start value: the draws of a single
// replica.
void sr_plan_set_replica(SrPlan *plan, int replica);

// Turns timing of kernel calls on or off.  sr_plan_profile_at gives the times since compilation; i
// counts calls in order of first use.  False: i is past the end.
void sr_plan_profile(SrPlan *plan, bool on);
typedef struct {
    const char *name, *op, *pass;
    SrDtype dtype; // type of the tensor that the call writes
    double seconds;
    int64_t calls, flops; // number of calls; floating-point operations of one call
    int64_t bytes;        // bytes that one call reads and writes, parameters included, each once
} SrPlanTiming;
bool sr_plan_profile_at(const SrPlan *plan, int i, SrPlanTiming *out);

// Repeats the forward pass on the present inputs and returns the name of the first node, in
// execution order, whose value holds a NaN or an infinity.  NULL: none.  State is restored
// afterwards.  Slow; for error messages.
const char *sr_plan_find_nonfinite(SrPlan *plan, int64_t iteration);

#endif
