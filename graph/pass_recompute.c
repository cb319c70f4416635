// Which values to drop after the forward and compute again when the backward first reads them:
// outputs of cheap ops (a batch norm with its relu, an activation) whose inputs are kept anyway.
//
// This is selective checkpointing (Chen et al., "Training deep nets with sublinear memory cost",
// 2016) with no chains: a recomputed value never feeds another recomputation, so each costs one
// pass over memory.  Along a residual chain every other sum is recomputed, because its neighbours
// are what it is recomputed from.
#include "graph/plan_internal.h"

enum { SMALLEST_BYTES = 64 << 10 }; // below this the saving does not pay for a call

static int64_t value_bytes(const SrPlanNode *node) {
    return sr_shape_count(node->shape) * (int64_t)sr_dtype_bytes(node->dtype);
}

// Will the buffer of this value still hold it in the backward?
static bool stays(const SrPlan *plan, SrNodeId id) {
    const SrPlanNode *root = &plan->nodes[plan->nodes[id].root];
    return !root->op || root->is_output || (root->kept && !root->recompute);
}

static bool may_recompute(const SrPlan *plan, SrNodeId id) {
    const SrPlanNode *node = &plan->nodes[id];
    if (!node->kept || !node->op || node->root != id || node->is_output ||
        !(node->op->flags & SR_OP_CHEAP) || value_bytes(node) < SMALLEST_BYTES)
        return false;
    for (int i = 0; i < node->n_in; i++)
        if (!stays(plan, node->in[i]))
            return false;
    return true;
}

// The last node that reads each value in the forward.
static void find_last_readers(const SrPlan *plan, SrNodeId *last) {
    for (SrNodeId id = 0; id < plan->n_nodes; id++) {
        last[id] = id;
        for (int i = 0; plan->nodes[id].live && i < plan->nodes[id].n_in; i++)
            last[plan->nodes[plan->nodes[id].in[i]].root] = id;
    }
}

SrStatus sr__pass_recompute(SrPlan *plan) {
    size_t n = (size_t)plan->n_nodes + 1;
    SrNodeId *last = sr_arena_alloc(&plan->arena, n * sizeof *last);
    // Bytes kept of this node and all later ones.
    int64_t *kept_from = sr_arena_alloc(&plan->arena, n * sizeof *kept_from);
    if (!last || !kept_from)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for a plan of %d nodes", plan->n_nodes);
    find_last_readers(plan, last);
    for (SrNodeId id = plan->n_nodes - 1; id >= 0; id--) {
        const SrPlanNode *node = &plan->nodes[id];
        kept_from[id] = kept_from[id + 1] + (node->kept ? value_bytes(node) : 0);
    }
    // Memory peaks at the turn from forward to backward.  A value with little kept behind it would
    // be back before the peak is over, so dropping it would gain nothing.
    for (SrNodeId id = 0; id < plan->n_nodes; id++)
        plan->nodes[id].recompute = may_recompute(plan, id) &&
                                    kept_from[last[id] + 1] >= value_bytes(&plan->nodes[id]);
    return SR_OK;
}
