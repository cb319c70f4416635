// SrPlan: a graph compiled to a frozen list of kernel calls at fixed addresses.
//
// sr_plan_compile runs the passes (dead code, fuse, precision, designs, gradients, recompute, schedule, place memory; pass_*.c),
// allocates once, and from then on a run never allocates.  Memory is a number known before the first step.
//
//  * Compiling allocates table entries that have no memory yet, so freeze parameters before.
//  * Kernels asked for scratch for the number of threads at compile time; do not raise it afterwards.
//  * In train mode nodes with side effects (SR_OP_IMPURE) run even if no output needs them.
#ifndef SR_GRAPH_PLAN_H
#define SR_GRAPH_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/graph.h"

typedef struct {
    SrMode mode;
    const SrNodeId *outputs; // stay readable after a run until the next one
    int n_outputs;
    // Backward: gradients start at these nodes (a scalar loss starts at 1, others at what sr_plan_seed holds)
    // and reach every trainable parameter and the nodes in `input_grads`.  n_losses 0: forward only.
    const SrNodeId *losses;
    int n_losses;
    const SrNodeId *input_grads;
    int n_input_grads;
    // Instruction set and choices of the kernels; copied.  NULL: sr_machine_default().
    const SrMachine *machine;
    uint64_t seed; // for ops that draw
    bool no_fuse;  // keep every node as built (tests, NaN hunting)
    // Cheap outputs are kept for the backward instead of computed again if all that is kept then takes no more bytes
    // (pass_recompute.c); INT64_MAX: in any case.
    int64_t keep_bytes;
    int splits; // > 1: of the forward keep only what lies between that many segments (pass_recompute.c)
    bool bf16; // store maps and their gradients as bfloat16 where the op can (pass_precision.c)
    bool no_allocate; // dry run: plan and count, but take no activation memory and do not run
} SrPlanOptions;

typedef struct SrPlan SrPlan;

SrStatus sr_plan_compile(const SrGraph *graph, const SrPlanOptions *options, SrPlan **out);
void sr_plan_free(SrPlan *plan);

// Runs.  backward follows a forward of the same plan and ADDS into the table's gradients
// (sr_params_zero_grad first; k times forward and backward is gradient accumulation).
void sr_plan_forward(SrPlan *plan, int64_t iteration);
void sr_plan_backward(SrPlan *plan);
// The same, and `after` hears of each kernel call that has run, counted from 0: work that goes on in between.
void sr_plan_backward_each(SrPlan *plan, void (*after)(void *arg, int call), void *arg);
// The call of the backward after which the gradient of that entry of the table is complete; -1: none adds to it.
int sr_plan_gradient_done(const SrPlan *plan, int param);

// Ops that draw do so for this replica from now on; 0, as at the start: as if there were one.
void sr_plan_set_replica(SrPlan *plan, int replica);

// Views into the plan's memory, at fixed addresses for its whole life.
SrTensor sr_plan_input(SrPlan *plan, SrNodeId input); // to be filled before each forward
// One of options.outputs or a loss; data is NULL for other nodes, whose memory holds something else by now.
SrTensor sr_plan_output(SrPlan *plan, SrNodeId output);
// The gradient of a loss node, of its shape (mostly one number), to be filled before backward.
float *sr_plan_seed(SrPlan *plan, SrNodeId loss);
SrTensor sr_plan_input_grad(SrPlan *plan, SrNodeId node); // zero if no loss reaches it

// What a plan costs, known before it runs.
typedef struct {
    size_t activation_bytes; // the arena: activations, gradients of activations, saved, scratch
    size_t naive_bytes;      // what the arena would need if no two buffers shared an address
    int64_t forward_flops, backward_flops;
    int n_forward, n_backward, n_recompute, n_prepare; // kernel calls
} SrPlanCost;
SrPlanCost sr_plan_cost(const SrPlan *plan);
// What the plan computes with; lives as long as the plan.
const SrMachine *sr_plan_machine(const SrPlan *plan);

// What a machine does in a second; from measured kernels, so that peaks nobody reaches mislead nobody.
typedef struct {
    double window_flops; // of convolutions larger than 1x1
    double matrix_flops; // of 1x1 convolutions and linear layers
    double bytes;        // of memory
} SrPlanRates;
// Seconds of one forward and backward at these rates, and the bytes it moves (graph/plan_time.c).  Dry plans will do.
double sr_plan_seconds(const SrPlan *plan, const SrPlanRates *rates);
double sr_plan_traffic(const SrPlan *plan);

// One line a kernel call with name, op, shapes, address range; for `sslrun graph --plan` and debugging.
SrStatus sr_plan_print(const SrPlan *plan, SrText *out);
// Seconds spent in each call since compile (timing is on after sr_plan_profile(plan, true)); i counts calls in
// order of first use; false past the end.
void sr_plan_profile(SrPlan *plan, bool on);
typedef struct {
    const char *name, *op, *pass;
    SrDtype dtype; // of the tensor it writes
    double seconds;
    int64_t calls, flops; // flops of one call
    int64_t bytes;        // of what one call reads and writes, parameters too, each once
} SrPlanTiming;
bool sr_plan_profile_at(const SrPlan *plan, int i, SrPlanTiming *out);
// Name of the first node, in execution order, whose value holds a NaN or an infinity after running the forward
// once more step by step on the present inputs (state is put back); NULL if none.  Slow; for error messages.
const char *sr_plan_find_nonfinite(SrPlan *plan, int64_t iteration);

#endif
