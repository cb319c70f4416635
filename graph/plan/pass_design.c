// The design pass lets each node's op decide once how it computes: a convolution chooses a design
// for forward and backward.  Scratch, prepared parameters and calls read the decision from the
// node, so they cannot disagree.
//
// The pass runs after precision, because designs depend on the element type.
#include "graph/plan/plan_internal.h"

SrStatus sr__pass_design(SrPlan *plan) {
    for (SrNodeId id = 0; id < plan->n_nodes; id++) {
        SrPlanNode *node = &plan->nodes[id];
        if (!node->live || !node->op || !node->op->design)
            continue;
        SrShape x[SR_OP_MAX_IN];
        SrOpSite site = sr__plan_site(plan, node, x);
        void *design = sr_arena_alloc(&plan->arena, node->op->design_bytes);
        SR_TRY_MEMORY(design, "the designs of a plan");
        node->op->design(&site, design);
        node->design = design;
    }
    return SR_OK;
}
