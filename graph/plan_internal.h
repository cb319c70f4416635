// A plan while it is being made: what the passes read and write.  Internal to graph/.
//
// Order of the passes (sr_plan_compile): dce, fuse, alias, precision, design, gradient, recompute, schedule, place,
// bind.  Up to schedule they only mark nodes; schedule writes symbolic calls over numbered buffers;
// place derives life spans from those calls alone, so a buffer cannot be read outside its span;
// bind turns numbers into addresses.
#ifndef SR_GRAPH_PLAN_INTERNAL_H
#define SR_GRAPH_PLAN_INTERNAL_H

#include "graph/plan.h"

#define SR_NO_BUFFER (-1)

// A graph node as this plan sees it.  Passes change the copy, never the graph.
typedef struct {
    const SrOp *op; // NULL: an input
    const char *name;
    const void *params;
    int n_in;
    SrNodeId in[SR_OP_MAX_IN];
    int n_w;
    int w[SR_OP_MAX_SLOTS];
    SrShape shape;
    SrDtype dtype; // of the value, and of all of a call's activations but integer inputs
    int64_t eval_from;
    bool optional; // side effects alone are no reason to run it

    bool live;           // computed in this plan
    bool is_output;      // readable after a run (outputs and losses)
    bool is_grad_out;    // its gradient is readable after a backward
    bool is_view;        // no kernel: shows in[0] under another shape
    bool needs_grad;     // something at or above it wants its gradient
    bool has_backward;   // a backward call will run
    bool kept;           // (roots) a backward call reads the value
    bool recompute;      // (roots) dropped after the forward and computed again in the backward
    SrNodeId root;       // whose memory holds the value: itself unless a view
    SrNodeId grad_root;  // whose buffer collects the gradient: as root, but is_grad_out has its own
    int n_contributions; // (grad roots) how many backward calls and seeds add into the gradient

    int value, again;  // (roots) buffers of the value and of its recomputed copy
    int grad;          // (grad roots) buffer of the gradient
    int sums;          // what forward leaves of its value for the reader that wants it,
    int64_t sum_units; // in that many units
    int saved;         // what forward leaves for backward
    void *design;      // what SrOp.design chose (pass_design.c); NULL if the op has none
} SrPlanNode;

typedef struct {
    size_t bytes;    // a multiple of SR_ALIGN
    size_t offset;   // into the arena
    int first, last; // calls in which it lives, both included
    bool whole_run;  // filled or read by the host: never shared
    bool to_end;     // read by the host after the run
} SrBuffer;

typedef enum {
    SR_CALL_FORWARD,
    SR_CALL_RECOMPUTE,
    SR_CALL_BACKWARD,
    SR_CALL_PREPARE, // what calls after it want made of the node's parameters
    SR_CALL_ADD,     // y += x[0], over gradients
    SR_CALL_COPY,    // y = x[0]
    SR_CALL_CAST,    // y = x[0], over values
    SR_CALL_ZERO,    // y = 0
} SrCallKind;

typedef struct {
    SrCallKind kind;
    SrNodeId node; // whose op runs, or whose gradient is added to
    int x[SR_OP_MAX_IN], y, dy, dx[SR_OP_MAX_IN], prepared, sums, x_sums, saved, scratch; // buffers
    SrOpPass pass; // of prepare: what for, and
    uint64_t key;  // in which form
    uint64_t dx_add;
    SrDtype from, to; // of add, copy, cast, zero: the types of x[0] and y

    int64_t train_until; // runs as in training while the iteration is below
    void (*run)(const SrOpCall *call);
    SrOpCall args; // bound addresses
    int64_t flops;
    double seconds; // since compile, while profiling
    int64_t times;
} SrPlanCall;

struct SrPlan {
    SrParams *params; // the graph's table
    SrArena arena;    // everything of fixed size, names excepted (the graph's)
    SrMode mode;
    SrMachine machine; // never changes: kernel calls point to it
    uint64_t seed;
    bool no_fuse, no_allocate, bf16;
    int64_t keep_bytes;
    int splits;

    SrPlanNode *nodes;
    int n_nodes;
    SrNodeId *losses;
    int *seeds; // buffer of each loss
    int n_losses;

    SrBuffer *buffers;
    int n_buffers, buffers_capacity;
    SrPlanCall *calls; // forward calls, then the backward
    int n_calls, calls_capacity;
    int n_forward;
    int prepared_from;   // first call whose preparations may still be shared
    size_t shared_bytes; // gradients that took over another's buffer in place

    char *memory; // the arena of activations, memory_bytes long; NULL in a dry run
    size_t memory_bytes;
    bool profiling;
    int64_t iteration; // of the last forward
};

// Passes, one file each.
SrStatus sr__pass_dce(SrPlan *plan);
SrStatus sr__pass_fuse(SrPlan *plan);
SrStatus sr__plan_check_fused(
    const SrPlan *plan); // no SR_OP_FUSED_NO_GRAD in use where gradients are wanted
SrStatus sr__pass_alias(SrPlan *plan);
SrStatus sr__pass_precision(SrPlan *plan);
SrStatus sr__pass_design(SrPlan *plan);
SrStatus sr__pass_gradient(SrPlan *plan);
SrStatus sr__pass_recompute(SrPlan *plan);
SrStatus sr__pass_schedule(SrPlan *plan);
SrStatus sr__pass_place(SrPlan *plan);
SrStatus sr__pass_bind(SrPlan *plan);

// Shapes of a node's inputs into x[SR_OP_MAX_IN].
void sr__plan_shapes(const SrPlan *plan, const SrPlanNode *node, SrShape *x);
// The node as its op sees it before it runs.  x: room for the shapes of its inputs, SR_OP_MAX_IN of them.
SrOpSite sr__plan_site(const SrPlan *plan, const SrPlanNode *node, SrShape *x);
SrDtype sr__plan_grad_type(const SrPlanNode *node); // of the gradient collected under this node
SrDtype sr__plan_input_type(const SrPlanNode *node,
                            const SrPlanNode *from); // in which a call of `node` reads `from`
// In which a backward call of `node` writes the gradient of input i.
SrDtype sr__plan_dx_type(const SrPlan *plan, const SrPlanNode *node, int i);
// Has the node a parameter that is not frozen?
bool sr__plan_learns(const SrPlan *plan, const SrPlanNode *node);
// NULL for no buffer, and in a dry run.
void *sr__plan_address(const SrPlan *plan, int buffer);
// The largest total of buffers alive in one call: no placement can take less.
size_t sr__plan_live_bytes(const SrPlan *plan);
const char *sr__call_kind_name(SrCallKind kind);
double sr__call_traffic(const SrPlan *plan, const SrPlanCall *call); // bytes (plan_time.c)

#endif
