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

#endif
