// The gradient pass marks the gradients that exist: a loss must reach them, and a trainable
// parameter or input_grads must want them.  It also marks the values that backward calls read,
// which must be kept.
#include "graph/plan/plan_internal.h"

bool sr__plan_learns(const SrPlan *plan, const SrPlanNode *node) {
    for (int i = 0; i < node->n_w; i++)
        if (sr_params_at(plan->params, node->w[i])->trainable)
            return true;
    return false;
}

// Tells whether a gradient passes through this node, to its parameters or to an input.
static bool passes_on(const SrPlan *plan, const SrPlanNode *node) {
    if (!node->op || (node->op->flags & SR_OP_NO_GRAD))
        return false;
    if (sr__plan_learns(plan, node))
        return true;
    for (int i = 0; i < node->n_in; i++)
        if (plan->nodes[node->in[i]].needs_grad)
            return true;
    return false;
}

// `kept` marks memory, so views pass the mark to their root.
static void mark_reads(SrPlan *plan, SrPlanNode *node) {
    unsigned reads = node->op->reads ? node->op->reads(node->params) : 0;
    for (int i = 0; i < node->n_in; i++)
        if (reads & SR_READS_X(i))
            plan->nodes[plan->nodes[node->in[i]].root].kept = true;
    if (reads & SR_READS_Y)
        plan->nodes[node->root].kept = true;
}

// Counts one more term in the gradient of node `to`, if that gradient is wanted.
static void contribute(SrPlan *plan, SrNodeId to) {
    SrPlanNode *node = &plan->nodes[to];
    if (node->needs_grad)
        plan->nodes[node->grad_root].n_contributions++;
}

SrStatus sr__pass_gradient(SrPlan *plan) {
    if (plan->n_losses == 0) // forward only: nothing is kept
        return SR_OK;
    // In the order of the graph: mark the nodes that want a gradient.
    for (SrNodeId id = 0; id < plan->n_nodes; id++) {
        SrPlanNode *node = &plan->nodes[id];
        node->needs_grad = node->live && (node->is_grad_out || passes_on(plan, node));
    }
    // In reverse order: mark the nodes that a gradient reaches.  Readers come later in the graph,
    // so all terms of a node are counted when its turn comes.
    for (int k = 0; k < plan->n_losses; k++)
        contribute(plan, plan->losses[k]);
    for (SrNodeId id = plan->n_nodes - 1; id >= 0; id--) {
        SrPlanNode *node = &plan->nodes[id];
        bool reached = plan->nodes[node->grad_root].n_contributions > 0;
        if (!node->live || !reached || !passes_on(plan, node))
            continue;
        if (node->is_view) { // only one with a gradient of its own passes anything on
            if (node->grad_root == id)
                contribute(plan, node->in[0]);
            continue;
        }
        if (!node->op->backward)
            SR_FAIL(SR_ERR_CONFIG, "%s: %s has no gradient, but a loss needs one through it",
                    node->name, node->op->name);
        node->has_backward = true;
        mark_reads(plan, node);
        for (int i = 0; i < node->n_in; i++)
            contribute(plan, node->in[i]);
    }
    return SR_OK;
}
