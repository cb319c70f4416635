// The dead-code pass keeps the nodes of this plan's mode that outputs, losses and requested
// gradients need.  In train mode nodes with side effects (running statistics, queues) stay, as in
// PyTorch.
#include "graph/plan/plan_internal.h"

SrStatus sr__pass_dce(SrPlan *plan) {
    for (SrNodeId id = plan->n_nodes - 1; id >= 0; id--) {
        SrPlanNode *node = &plan->nodes[id];
        bool in_mode = node->live; // as the plan was loaded
        bool effect = plan->mode == SR_MODE_TRAIN && node->op && !node->optional &&
                      (node->op->flags & SR_OP_IMPURE);
        // Consumers come later, so their marks in `kept` are complete.
        node->live = in_mode && (effect || node->is_output || node->is_grad_out || node->kept);
        for (int i = 0; node->live && i < node->n_in; i++)
            plan->nodes[node->in[i]].kept = true;
    }
    for (SrNodeId id = 0; id < plan->n_nodes; id++)
        plan->nodes[id].kept = false;
    return SR_OK;
}
