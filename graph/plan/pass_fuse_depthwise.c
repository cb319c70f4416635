// Makes one node, normed_depthwise, of a batch norm with its activation and the depthwise
// convolution that reads it.  The normalised map, which is the largest of an inverted residual, is
// then not stored.  The node takes place and name of the convolution.
//
// Only plans with gradients do so.  Without gradients norms are folded into convolutions, which
// take the activation themselves.
#include <string.h>

#include "graph/plan/plan_internal.h"
#include "kernels/conv/normed_depthwise.h"

static bool is(const SrPlanNode *node, const char *op) {
    return node->live && node->op && strcmp(node->op->name, op) == 0;
}

// Tells whether the convolution is depthwise, with as many channels out as in.
static bool is_depthwise(const SrPlan *plan, SrNodeId id) {
    const SrPlanNode *node = &plan->nodes[id];
    if (!is(node, "conv2d") || node->n_in != 1)
        return false;
    const SrConv2dParams *p = node->params;
    int channels = sr_shape_last(plan->nodes[node->in[0]].shape);
    return p->groups == channels && p->out_channels == channels && channels > 1;
}

// Merges the norm into the convolution after it, if the op can do the work of both.
static SrStatus merge(SrPlan *plan, SrNodeId id) {
    SrPlanNode *to = &plan->nodes[id], *norm = &plan->nodes[to->in[0]];
    SrNormedDepthwiseParams *params = sr_arena_alloc(&plan->arena, sizeof *params);
    SR_TRY_MEMORY(params, "the fused node %s", to->name);
    if (!sr_normed_depthwise_of(norm->params, to->params, params))
        return SR_OK;
    int weight = to->w[0];
    SR_TRY(sr_op_find("normed_depthwise", &to->op));
    to->params = params;
    to->eval_from = norm->eval_from;
    to->in[0] = norm->in[0];
    memcpy(to->w, norm->w, sizeof(int) * (size_t)norm->n_w);
    to->n_w = norm->n_w;
    to->w[to->n_w++] = weight;
    norm->live = false;
    return SR_OK;
}

SrStatus sr__pass_fuse_depthwise(SrPlan *plan) {
    int *readers;
    if (!sr__plan_wants_grads(plan))
        return SR_OK;
    SR_TRY(sr__plan_count_readers(plan, &readers));
    for (SrNodeId id = 0; id < plan->n_nodes; id++) {
        if (!is_depthwise(plan, id))
            continue;
        SrNodeId norm = plan->nodes[id].in[0];
        if (is(&plan->nodes[norm], "batch_norm") && plan->nodes[norm].n_in == 1 &&
            sr__plan_has_readers(plan, norm, 1, readers) && sr__plan_may_move(plan, norm, id))
            SR_TRY(merge(plan, id));
    }
    return SR_OK;
}
