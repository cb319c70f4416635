// Which values are stored as bfloat16: maps, (N, H, W, C), whose op runs on them (SR_OP_BF16); of tokens, (N, L, C),
// products with weights and what is made of these alone, so that sums of residuals and their norms keep their digits.
// The rest of the graph, heads and losses above all, stays in floats, as do parameters, statistics and everything the
// host reads.
//
// A call runs in the type of its output, and a gradient has the type of its value.  Where two types meet the
// schedule converts: inputs on their way into a call, their gradients on the way out.  Ops that read and write either
// type at once (SR_OP_MIXES) spare that pass over memory: the sum of a residual takes the product as it is, and a norm
// that one product reads writes what it reads.
//
// The scheme is that of Micikevicius et al., "Mixed precision training" (2018), with Kalamkar et al., "A study of
// BFLOAT16 for deep learning training" (2019): the range of a float needs no scaling of the loss.
#include "graph/plan_internal.h"

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

// The one reader rounds the value first anyway, and no gradients of several are summed.
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
