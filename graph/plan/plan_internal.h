// A plan while the passes make it.  Internal to graph/.
//
// Order of the passes (sr_plan_compile): dce, fuse gates, fuse, fuse depthwise, alias, precision,
// design, gradient, recompute, schedule, place, bind.  The passes before schedule only mark nodes.
// Schedule writes symbolic calls over numbered buffers.  Place derives life spans from those calls
// alone, so that no buffer is read outside its span.  Bind turns numbers into addresses.
#ifndef SR_GRAPH_PLAN_PLAN_INTERNAL_H
#define SR_GRAPH_PLAN_PLAN_INTERNAL_H

#include "graph/plan/plan.h"

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
    SrDtype dtype; // type of the value, and of a call's activations except integer inputs
    int64_t eval_from;
    bool optional; // its side effects alone do not keep it

    bool live;           // computed in this plan
    bool is_output;      // readable after a run (outputs and losses)
    bool is_grad_out;    // its gradient is readable after a backward
    bool is_view;        // has no kernel and shows in[0] in another shape
    bool needs_grad;     // its parameters, or a node on the way to it, want a gradient
    bool has_backward;   // a backward call will run
    bool kept;           // (roots) a backward call reads the value
    bool recompute;      // (roots) dropped after the forward and computed again in the backward
    SrNodeId root;       // node whose memory holds the value: itself unless it is a view
    SrNodeId grad_root;  // node whose buffer collects the gradient: root, or itself if is_grad_out
    int n_contributions; // (grad roots) number of backward calls and seeds that add to the gradient

    int value, again; // (roots) buffers of the value and of its recomputed copy
    int grad;         // (grad roots) buffer of the gradient
    int sums;         // buffer of channel sums, which the forward call writes; SR_NO_BUFFER: unused
    int64_t sum_units; // number of row blocks in `sums`
    int saved;         // buffer that the forward call writes for the backward call
    void *design;      // choice of SrOp.design (pass_design.c); NULL: the op has no designs
} SrPlanNode;

typedef struct {
    size_t bytes;    // a multiple of SR_ALIGN
    size_t offset;   // into the arena
    int first, last; // first and last call that touch it
    bool whole_run;  // the caller fills or reads it: its memory is never shared
    bool to_end;     // the caller reads it after the run
} SrBuffer;

// Tells whether both are alive in some call.
static inline bool sr__buffers_meet(const SrBuffer *a, const SrBuffer *b) {
    return a->first <= b->last && b->first <= a->last;
}

typedef enum {
    SR_CALL_FORWARD,
    SR_CALL_RECOMPUTE,
    SR_CALL_BACKWARD,
    SR_CALL_PREPARE,  // rearranges the node's parameters for later calls (SrOp.prepare)
    SR_CALL_PARTIAL,  // first step of a pass whose sums ranks share (SrOp.exchange)
    SR_CALL_EXCHANGE, // sums the numbers at the beginning of scratch over neighbouring ranks
    SR_CALL_ADD,      // y += x[0], over gradients
    SR_CALL_COPY,     // y = x[0]
    SR_CALL_CAST,     // y = x[0], over values
    SR_CALL_ZERO,     // y = 0
} SrCallKind;

typedef struct {
    SrCallKind kind;
    SrNodeId node; // node whose op runs, or whose gradient is added to
    int x[SR_OP_MAX_IN], y, dy, dx[SR_OP_MAX_IN], prepared, sums, x_sums, saved, scratch; // buffers
    SrOpPass pass; // prepare, partial: the pass that wants the parameters or the sums
    // Exchange, and the calls before and after it: the shared sums.  0 ranks: none are shared
    SrOpExchange exchange;
    uint64_t key; // prepare: the form that it wants
    uint64_t dx_add;
    SrDtype from, to; // add, copy, cast, zero: types of x[0] and y

    int64_t train_until; // runs as in training in iterations below this one
    void (*run)(const SrOpCall *call);
    SrOpCall args; // bound addresses
    int64_t flops;
    double seconds; // time since compilation, counted while profiling
    int64_t times;
} SrPlanCall;

struct SrPlan {
    SrParams *params; // the graph's table
    SrArena arena;    // memory of all fixed arrays; names are the graph's
    SrMode mode;
    SrMachine machine; // never changes: kernel calls point to it
    uint64_t seed;
    bool no_fuse, no_allocate, bf16;
    int64_t keep_bytes;
    int splits;

    SrPlanNode *nodes;
    int n_nodes;
    SrNodeId *losses;
    int *seeds; // (n_losses) seed buffer of each loss
    int n_losses;

    SrBuffer *buffers;
    int n_buffers, buffers_capacity;
    SrPlanCall *calls; // n_forward forward calls, then the backward calls
    int n_calls, calls_capacity;
    int n_forward;
    int prepared_from;   // first call whose preparations may still be shared
    size_t shared_bytes; // gradients that took over another's buffer in place

    char *memory; // (memory_bytes) memory of all buffers; NULL: a dry run
    size_t memory_bytes;
    bool profiling;
    int64_t iteration; // iteration of the last forward pass
};

// Passes, one file each.
SrStatus sr__pass_dce(SrPlan *plan);
SrStatus sr__pass_fuse_gates(SrPlan *plan);
SrStatus sr__pass_fuse(SrPlan *plan);
SrStatus sr__pass_fuse_depthwise(SrPlan *plan);
bool sr__plan_wants_grads(const SrPlan *plan); // some backward pass will run
// Counts the readers of every value, (n_nodes) in the plan's arena.  Fusing removes a reader and
// its value together, so that the other counts stay true.
SrStatus sr__plan_count_readers(SrPlan *plan, int **readers);
// Tells whether the value may disappear with its n readers: it has no other, and the caller reads
// neither it nor its gradient.
bool sr__plan_has_readers(const SrPlan *plan, SrNodeId id, int n, const int *readers);
// Tells whether a fused node may run where `to` stands.  Nodes between must not use the same
// running statistics, or their updates would change order.
bool sr__plan_may_move(const SrPlan *plan, SrNodeId from, SrNodeId to);
// SR_ERR_CONFIG: a node that needs gradients uses a switch without backward (SR_OP_FUSED_NO_GRAD).
SrStatus sr__plan_check_fused(const SrPlan *plan);
SrStatus sr__pass_alias(SrPlan *plan);
SrStatus sr__pass_precision(SrPlan *plan);
SrStatus sr__pass_design(SrPlan *plan);
SrStatus sr__pass_gradient(SrPlan *plan);
SrStatus sr__pass_recompute(SrPlan *plan);
SrStatus sr__pass_schedule(SrPlan *plan);
SrStatus sr__pass_place(SrPlan *plan);
SrStatus sr__pass_bind(SrPlan *plan);

// Invariants between the passes (plan_invariants.c).  Every pass relies on what the earlier ones
// promise, and a mistake in one would show as wrong numbers far away.
typedef enum {
    SR_PLAN_NODES,     // dce and fuse: inputs come first, and live nodes read live ones
    SR_PLAN_ROOTS,     // alias: views share the memory of a root of the same size
    SR_PLAN_GRADIENTS, // gradient, recompute: what is kept, dropped or has a backward call
    SR_PLAN_CALLS,     // schedule: every buffer is filled before it is read
    SR_PLAN_PLACES,    // place: buffers that are alive together share no byte
    SR_PLAN_ADDRESSES, // bind: addresses lie in the plan's memory, and every call has a kernel
} SrPlanStage;

// Returns a sentence about the first invariant that is broken, of this stage or an earlier one;
// NULL: all hold.  Plans are checked after each stage in builds with SR_DEBUG (SR_ASSERT).
// Time is quadratic in the number of buffers.
const char *sr__plan_broken(const SrPlan *plan, SrPlanStage stage);

// Writes the shapes of a node's inputs into x[SR_OP_MAX_IN].
void sr__plan_shapes(const SrPlan *plan, const SrPlanNode *node, SrShape *x);
// Returns the node as its op sees it before a run.  x: scratch of SR_OP_MAX_IN shapes.
SrOpSite sr__plan_site(const SrPlan *plan, const SrPlanNode *node, SrShape *x);
SrDtype sr__plan_grad_type(const SrPlanNode *node); // type of the gradient that the node collects
// Returns the type in which a call of `node` reads `from`.
SrDtype sr__plan_input_type(const SrPlanNode *node, const SrPlanNode *from);
// Returns the type in which a backward call of `node` writes the gradient of input i.
SrDtype sr__plan_dx_type(const SrPlan *plan, const SrPlanNode *node, int i);
// Tells whether the node has a parameter that is not frozen.
bool sr__plan_learns(const SrPlan *plan, const SrPlanNode *node);
// Returns the address of a buffer.  NULL: SR_NO_BUFFER, or a dry run.
void *sr__plan_address(const SrPlan *plan, int buffer);
// Returns the largest total of buffers that are alive in one call, a lower bound of any placement.
size_t sr__plan_live_bytes(const SrPlan *plan);
const char *sr__call_kind_name(SrCallKind kind);
// True for the steps that come before a call whose sums ranks share; costs count with that call.
bool sr__call_is_step(SrCallKind kind);
double sr__call_traffic(const SrPlan *plan, const SrPlanCall *call); // bytes moved (plan_time.c)

#endif
