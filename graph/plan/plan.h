// SrPlan: a graph compiled to a frozen list of kernel calls at fixed addresses.
//
// sr_plan_compile runs the passes (pass_*.c, in the order that plan_internal.h gives) and
// allocates all memory; running allocates nothing.  The amount of memory is known before the
// first step.
//
//  * Compiling allocates table entries without memory, so callers freeze parameters before.
//  * Scratch is sized for the number of threads at compile time, which must not grow afterwards.
//  * In train mode nodes with side effects (SR_OP_IMPURE) run even if no output needs them.
#ifndef SR_GRAPH_PLAN_PLAN_H
#define SR_GRAPH_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/ir/graph.h"

typedef struct {
    SrMode mode;
    const SrNodeId *outputs; // (n_outputs) nodes to read after a run, until the next run
    int n_outputs;
    // (n_losses) Nodes at which the backward pass starts: a scalar loss with gradient 1, others
    // with that of sr_plan_seed.  Gradients reach every trainable parameter and the nodes in
    // `input_grads`.  n_losses 0: forward only.
    const SrNodeId *losses;
    int n_losses;
    const SrNodeId *input_grads;
    int n_input_grads;
    // Instruction set and choices of the kernels; copied.  NULL: sr_machine_default().
    const SrMachine *machine;
    uint64_t seed; // for ops that draw
    bool no_fuse;  // keep every node as built (tests, search for NaNs)
    // Bytes that values kept for the backward pass may take; if they fit, cheap outputs are kept
    // and not recomputed (pass_recompute.c).  INT64_MAX: always keep them.
    int64_t keep_bytes;
    // Number of segments; above 1 only values between segments are kept (pass_recompute.c).
    int splits;
    bool bf16;        // store maps and their gradients as bfloat16 (pass_precision.c)
    bool no_allocate; // dry run: plan and count, take no activation memory; the plan cannot run
} SrPlanOptions;

typedef struct SrPlan SrPlan;

SrStatus sr_plan_compile(const SrGraph *graph, const SrPlanOptions *options, SrPlan **out);
void sr_plan_free(SrPlan *plan);

// Run the plan.  A backward pass follows a forward pass of the same plan and adds to the table's
// gradients: callers call sr_params_zero_grad first, and several pairs of passes accumulate.
// SR_ERR_RUN: ranks could not exchange the sums of a layer, which the message names.  Plans that
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

// Views into the plan's memory, at fixed addresses for its whole life.
SrTensor sr_plan_input(SrPlan *plan, SrNodeId input); // to be filled before each forward
// Returns one of options.outputs or a loss.  data is NULL for other nodes, whose memory is reused.
SrTensor sr_plan_output(SrPlan *plan, SrNodeId output);
// Returns the gradient of a loss node, in its shape (mostly one number), to fill before the
// backward pass.
float *sr_plan_seed(SrPlan *plan, SrNodeId loss);
SrTensor sr_plan_input_grad(SrPlan *plan, SrNodeId node); // zero if no loss reaches it

// Cost of a plan, known before it runs.
typedef struct {
    size_t activation_bytes; // memory for activations, their gradients, saved values and scratch
    size_t naive_bytes;      // memory if no two buffers shared an address
    int64_t forward_flops, backward_flops;
    int n_forward, n_backward, n_recompute, n_prepare; // numbers of kernel calls
} SrPlanCost;
SrPlanCost sr_plan_cost(const SrPlan *plan);
// Returns the machine whose kernels the plan uses; lives as long as the plan.
const SrMachine *sr_plan_machine(const SrPlan *plan);

// Work of a machine per second, measured with real kernels rather than taken from its peak.
typedef struct {
    double window_flops; // FLOP/s of convolutions larger than 1x1
    double matrix_flops; // FLOP/s of 1x1 convolutions and linear layers
    double bytes;        // bytes/s of memory
} SrPlanRates;
// Return the seconds of one forward and backward pass at these rates, and the bytes that it moves
// (graph/plan/plan_time.c).  A dry run's plan suffices.
double sr_plan_seconds(const SrPlan *plan, const SrPlanRates *rates);
double sr_plan_traffic(const SrPlan *plan);

// Prints a line per kernel call with name, op, shapes and address range, for tests and debuggers.
SrStatus sr_plan_print(const SrPlan *plan, SrText *out);
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
