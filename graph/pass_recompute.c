// Which values to drop after the forward and compute again when the backward first reads them: outputs of cheap
// ops (a batch norm with its relu, an activation) whose inputs are kept anyway.
//
// This is selective checkpointing (Chen et al., "Training deep nets with sublinear memory cost", 2016) with no
// chains: a recomputed value never feeds another recomputation, so each costs one pass over memory.  Along a
// residual chain every other sum is recomputed, because its neighbours are what it is recomputed from.
#include "graph/plan_internal.h"

enum { SMALLEST_BYTES = 64 << 10 }; // below this the saving does not pay for a call

// Will the buffer of this value still hold it in the backward?
static bool stays(const SrPlan *plan, SrNodeId id) {
    const SrPlanNode *root = &plan->nodes[plan->nodes[id].root];
    return !root->op || root->is_output || (root->kept && !root->recompute);
}

SrStatus sr__pass_recompute(SrPlan *plan) {
    for (SrNodeId id = 0; id < plan->n_nodes; id++) {
        SrPlanNode *node = &plan->nodes[id];
        if (!node->kept || !node->op || node->root != id || node->is_output)
            continue;
        if (!(node->op->flags & SR_OP_CHEAP) ||
            sr_shape_count(node->shape) * (int64_t)sizeof(float) < SMALLEST_BYTES)
            continue;
        node->recompute = true;
        for (int i = 0; i < node->n_in; i++)
            node->recompute &= stays(plan, node->in[i]);
    }
    return SR_OK;
}
