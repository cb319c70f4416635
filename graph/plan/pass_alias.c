// The alias pass marks views: a node that only shows its input in another shape shares the input's
// memory and the memory of its gradient.
//
// Only a view's gradient that the caller wants to read is not shared, because the shared buffer may
// collect contributions from other readers.
#include "graph/plan/plan_internal.h"

SrStatus sr__pass_alias(SrPlan *plan) {
    for (SrNodeId id = 0; id < plan->n_nodes; id++) {
        SrPlanNode *node = &plan->nodes[id];
        node->root = node->grad_root = id;
        if (!node->live || !node->op || !node->op->is_view)
            continue;
        // Some ops are views for some shapes only (a pooling of 1 x 1).
        SrShape x[SR_OP_MAX_IN];
        sr__plan_shapes(plan, node, x);
        if (!node->op->is_view(node->params, x, node->n_in))
            continue;
        node->is_view = true;
        node->root = plan->nodes[node->in[0]].root; // views of views lead to one root
        if (!node->is_grad_out)
            node->grad_root = plan->nodes[node->in[0]].grad_root;
        // A caller that reads the view reads the memory of its root.
        plan->nodes[node->root].is_output |= node->is_output;
    }
    return SR_OK;
}
