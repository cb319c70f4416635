// The recompute pass chooses values to drop after the forward pass; they are recomputed when the
// backward pass first reads them.
//
// Unless all values fit (keep_bytes), it drops outputs of cheap ops (a batch norm with its relu,
// an activation) that follow from kept values.  This is selective checkpointing (Chen et al.,
// "Training deep nets with sublinear memory cost", 2016), and each value costs one pass over
// memory.  Sums along a residual chain follow from one another and are recomputed together.  If
// what is kept is still too much, it also drops outputs of ops that expand their input
// (SrOp.expands).
//
// With `splits` it makes segments as in that paper (VISSL's ACTIVATION_CHECKPOINTING).  Values
// are kept only where the graph narrows to one value, at most splits - 1 times.  All values
// between are recomputed, by convolutions too, which costs up to one more forward pass.
//
// Recomputing repeats the kernel's arithmetic on the same inputs, so no bit changes.
#include <string.h>

#include "graph/plan/plan_internal.h"

enum { SMALLEST_BYTES = 64 << 10 }; // below this the saving does not pay for a call

// Marks of one node while the pass runs.
typedef struct {
    SrNodeId last;  // last node that reads the value in the forward pass
    SrNodeId need;  // last node whose backward call reads it, directly or for a recomputation
    int64_t chain;  // bytes that are recomputed together with it
    bool reachable; // available in the backward pass: kept, or recomputed from kept values
    bool boundary;  // lies between two segments
    bool again;     // a dropped value is recomputed from it
} Fate;

static int64_t value_bytes(const SrPlanNode *node) {
    return sr_shape_count(node->shape) * (int64_t)sr_dtype_bytes(node->dtype);
}

static SrNodeId root_of(const SrPlan *plan, SrNodeId id) { return plan->nodes[id].root; }

// Tells whether the node's kernel may run a second time.  Ops that draw or count may not, unless
// they support it (SR_OP_CHEAP); ops that save values for their backward would have to keep
// those.  expanding: ops that expand their input may, too.
static bool runs_again(const SrPlan *plan, SrNodeId id, bool expanding) {
    const SrPlanNode *node = &plan->nodes[id];
    if (!node->live || !node->op || node->root != id || node->is_output || node->is_view)
        return false;
    bool pure = !(node->op->flags & SR_OP_IMPURE) && !node->op->saved_bytes;
    bool expands = expanding && node->op->expands &&
                   node->op->expands(node->params, plan->nodes[node->in[0]].shape, node->shape);
    return (node->op->flags & SR_OP_CHEAP) || (pure && (plan->splits > 1 || expands));
}

// Goes in ascending order, because inputs come before their readers.
static void find_reachable(const SrPlan *plan, bool expanding, Fate *fate) {
    for (SrNodeId id = 0; id < plan->n_nodes; id++) {
        const SrPlanNode *node = &plan->nodes[id];
        bool inputs = runs_again(plan, id, expanding);
        for (int i = 0; inputs && i < node->n_in; i++)
            inputs = fate[root_of(plan, node->in[i])].reachable;
        fate[id].reachable = !node->op || node->is_output || node->kept || inputs;
        fate[id].last = id;
        for (int i = 0; node->live && i < node->n_in; i++)
            fate[root_of(plan, node->in[i])].last = id;
    }
}

// Tells whether the value can be recomputed: every input is kept or can be recomputed.
static bool may_drop(const SrPlan *plan, const Fate *fate, SrNodeId id, bool expanding) {
    const SrPlanNode *node = &plan->nodes[id];
    if (!runs_again(plan, id, expanding) || value_bytes(node) < SMALLEST_BYTES)
        return false;
    for (int i = 0; i < node->n_in; i++)
        if (!fate[root_of(plan, node->in[i])].reachable)
            return false;
    return true;
}

static int64_t kept_bytes(const SrPlan *plan) {
    int64_t total = 0;
    for (SrNodeId id = 0; id < plan->n_nodes; id++)
        total += plan->nodes[id].kept ? value_bytes(&plan->nodes[id]) : 0;
    return total;
}

// Chooses boundaries: nodes after which hardly any value but their own is read.  Among these it
// takes the ones that cut the kept bytes into equal parts.
static void find_boundaries(const SrPlan *plan, Fate *fate) {
    int64_t total = kept_bytes(plan), so_far = 0;
    int found = 1;
    for (SrNodeId id = 0; id < plan->n_nodes; id++) {
        const SrPlanNode *node = &plan->nodes[id];
        so_far += node->kept ? value_bytes(node) : 0;
        if (found >= plan->splits || so_far < total / plan->splits * found || !node->op ||
            node->root != id || !node->kept)
            continue;
        int64_t crossing = 0;
        for (SrNodeId from = 0; from < id; from++)
            if (plan->nodes[from].op && plan->nodes[from].live && fate[from].last > id)
                crossing += value_bytes(&plan->nodes[from]);
        fate[id].boundary = crossing < value_bytes(node);
        found += fate[id].boundary;
    }
}

// Marks node `id` as recomputed at the backward call of `need`, with `chain` bytes, together with
// inputs that are not kept.
static void pass_on(const SrPlan *plan, Fate *fate, SrNodeId id) {
    const SrPlanNode *node = &plan->nodes[id];
    for (int i = 0; i < node->n_in; i++) {
        Fate *input = &fate[root_of(plan, node->in[i])];
        input->again = true;
        input->need = SR_MAX(input->need, fate[id].need);
        input->chain = SR_MAX(input->chain, fate[id].chain);
    }
}

// Memory peaks at the turn from forward to backward pass.  If fewer bytes are kept after a value
// than are recomputed with it, it returns before the peak is over, and dropping it gains
// nothing.  Segments peak in their own backward pass instead; only the last segment is needed at
// once.
static bool pays(const SrPlan *plan, const Fate *fate, int64_t kept_behind, bool last_segment) {
    return plan->splits > 1 ? !fate->boundary && !last_segment : kept_behind >= fate->chain;
}

// Marks the values to drop and returns the bytes of those that stay.
//   fate, kept_from  room for n_nodes + 1 marks, and bytes kept of a node and all later ones
static int64_t drop(SrPlan *plan, bool expanding, Fate *fate, int64_t *kept_from) {
    memset(fate, 0, ((size_t)plan->n_nodes + 1) * sizeof *fate);
    kept_from[plan->n_nodes] = 0;
    find_reachable(plan, expanding, fate);
    if (plan->splits > 1)
        find_boundaries(plan, fate);
    bool last_segment = true;
    for (SrNodeId id = plan->n_nodes - 1; id >= 0; id--) {
        SrPlanNode *node = &plan->nodes[id];
        Fate *f = &fate[id];
        last_segment = last_segment && !f->boundary;
        f->need = SR_MAX(f->need, f->last);
        f->chain += value_bytes(node);
        if (node->kept)
            node->recompute = may_drop(plan, fate, id, expanding) &&
                              pays(plan, f, kept_from[f->need + 1], last_segment);
        else // dropped, but another dropped value is recomputed from it
            node->recompute = f->again && node->op && !node->is_output;
        if (node->recompute)
            pass_on(plan, fate, id);
        kept_from[id] =
            kept_from[id + 1] + (node->kept && !node->recompute ? value_bytes(node) : 0);
    }
    return kept_from[0];
}

SrStatus sr__pass_recompute(SrPlan *plan) {
    if (plan->splits <= 1 && kept_bytes(plan) <= plan->keep_bytes)
        return SR_OK;
    size_t n = (size_t)plan->n_nodes + 1;
    Fate *fate = sr_arena_alloc(&plan->arena, n * sizeof *fate);
    int64_t *kept_from = sr_arena_alloc(&plan->arena, n * sizeof *kept_from);
    SR_TRY_MEMORY(fate && kept_from, "a plan of %d nodes", plan->n_nodes);
    if (drop(plan, false, fate, kept_from) > plan->keep_bytes && plan->splits <= 1)
        drop(plan, true, fate, kept_from);
    return SR_OK;
}
