// The precision pass chooses the values that are stored as bfloat16.  These are maps (N, H, W, C)
// whose op supports it (SR_OP_BF16).  Among tokens (N, L, C) they are products with weights and
// values made of such products alone, so that residual sums and their norms keep their digits.
// All else stays in floats: heads, losses, parameters, statistics and all values that the caller
// reads.
//
// A call runs in the type of its output, and a gradient has the type of its value.  Where two
// types meet, the schedule converts inputs before a call and their gradients after it.  Ops that
// read and write both types at once (SR_OP_MIXES) save that pass over memory.  A residual sum
// then reads a product directly, and a norm with one product as reader writes the product's type.
//
// The scheme follows Micikevicius et al., "Mixed precision training" (2018), and Kalamkar et al.,
// "A study of BFLOAT16 for deep learning training" (2019): with the range of a float, losses need
// no scaling.
#include "graph/plan/plan_internal.h"

SrDtype sr__plan_grad_type(const SrPlanNode *node) {
    return node->dtype == SR_BF16 && !node->is_grad_out ? SR_BF16 : SR_F32;
}

static bool is_float(SrDtype type) { return type == SR_F32 || type == SR_BF16; }

SrDtype sr__plan_input_type(const SrPlanNode *node, const SrPlanNode *from) {
    bool converted =
        is_float(from->dtype) && is_float(node->dtype) && !(node->op->flags & SR_OP_MIXES);
    return converted ? node->dtype : from->dtype;
}

SrDtype sr__plan_dx_type(const SrPlan *plan, const SrPlanNode *node, int i) {
    const SrPlanNode *from = &plan->nodes[node->in[i]];
    return node->op->flags & SR_OP_MIXES ? from->dtype : sr__plan_grad_type(node);
}

static bool is_half(const SrPlan *plan, const SrPlanNode *node) {
    if (!(node->op->flags & SR_OP_BF16) || node->is_output || node->is_grad_out)
        return false;
    bool follows = node->n_in == 1 && plan->nodes[node->in[0]].dtype == SR_BF16;
    return node->shape.rank == 4 || (node->shape.rank == 3 && (node->op->prepared || follows));
}

// True if the only reader rounds the value anyway, so that no gradients of several readers are
// summed.
static bool one_half_reads(const SrPlan *plan, SrNodeId id) {
    int readers = 0;
    for (SrNodeId to = id + 1; to < plan->n_nodes; to++) {
        const SrPlanNode *node = &plan->nodes[to];
        for (int i = 0; node->live && i < node->n_in; i++) {
            if (node->in[i] != id)
                continue;
            if (node->is_view || node->dtype != SR_BF16 || (node->op->flags & SR_OP_MIXES))
                return false;
            readers++;
        }
    }
    return readers == 1;
}

static bool narrows(const SrPlan *plan, SrNodeId id) {
    const SrPlanNode *node = &plan->nodes[id];
    unsigned both = SR_OP_BF16 | SR_OP_MIXES;
    return node->live && node->op && !node->is_view && node->dtype == SR_F32 && node->n_in == 1 &&
           (node->op->flags & both) == both && !node->is_output && !node->is_grad_out &&
           one_half_reads(plan, id);
}

SrStatus sr__pass_precision(SrPlan *plan) {
    for (SrNodeId id = 0; plan->bf16 && id < plan->n_nodes; id++) {
        SrPlanNode *node = &plan->nodes[id];
        if (!node->live || !node->op)
            continue;
        if (node->is_view) // the same memory, so the same type
            node->dtype = plan->nodes[node->root].dtype;
        else if (is_half(plan, node))
            node->dtype = SR_BF16;
    }
    for (SrNodeId id = 0; plan->bf16 && id < plan->n_nodes; id++)
        if (narrows(plan, id))
            plan->nodes[id].dtype = SR_BF16;
    return SR_OK;
}
