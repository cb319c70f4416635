// Makes one node, gated_norm, of a batch norm, its activation and the squeeze-and-excitation after
// it.  The chain is
//
//   norm -> act -> avgpool -> fc1 -> activation -> fc2 -> gate -> mul
//
// where mul reads act too.  Eight passes over the map's memory become three, and the activated map
// is not stored.  The node takes place and name of mul; values that disappear have no other reader.
#include <string.h>

#include "graph/plan/plan_internal.h"
#include "kernels/conv/conv2d.h"
#include "kernels/norm/gated_norm.h"
#include "kernels/pool/pool2d.h"

typedef struct {
    SrNodeId norm, act, pool, fc1, squeezed, fc2, gate, mul;
} Chain;

static bool is(const SrPlan *plan, SrNodeId id, const char *op) {
    const SrPlanNode *node = &plan->nodes[id];
    return node->live && node->op && strcmp(node->op->name, op) == 0;
}

// Returns which of the two names the node's op has; -1: neither.
static int which(const SrPlan *plan, SrNodeId id, const char *first, const char *second) {
    return is(plan, id, first) ? 0 : is(plan, id, second) ? 1 : -1;
}

// Tells whether the convolution multiplies each pixel by a matrix, adds a bias and does no more.
static bool is_product(const SrPlan *plan, SrNodeId id) {
    if (!is(plan, id, "conv2d"))
        return false;
    const SrConv2dParams *p = plan->nodes[id].params;
    SrShape s = plan->nodes[id].shape;
    return p->bias && p->kernel_h == 1 && p->kernel_w <= 1 && p->groups <= 1 && s.d[1] == 1 &&
           s.d[2] == 1 && !p->relu && !p->silu && !p->hardswish && !p->relu6 && !p->residual;
}

static bool is_global_mean(const SrPlan *plan, SrNodeId id) {
    if (!is(plan, id, "adaptive_avg_pool2d"))
        return false;
    const SrAdaptivePool2dParams *p = plan->nodes[id].params;
    return p->out_h <= 1 && p->out_w <= 1;
}

// Returns whether the norm can take the activation.
static bool takes(const SrPlan *plan, const Chain *c) {
    const SrPlanNode *norm = &plan->nodes[c->norm], *act = &plan->nodes[c->act];
    if (!act->op || !act->op->fuses_as || act->n_in != 1 || norm->n_in != 1)
        return false;
    return sr_op_switch(norm->op, norm->params, act->op->fuses_as) != NULL;
}

// Follows the chain up from node `mul`.  Returns whether it is one.
static bool find_chain(const SrPlan *plan, SrNodeId mul, const int *readers, Chain *c) {
    const SrPlanNode *nodes = plan->nodes;
    if (!is(plan, mul, "mul"))
        return false;
    *c = (Chain){.mul = mul, .act = nodes[mul].in[0], .gate = nodes[mul].in[1]};
    if (which(plan, c->gate, "sigmoid", "hardsigmoid") < 0)
        return false;
    c->fc2 = nodes[c->gate].in[0];
    if (!is_product(plan, c->fc2))
        return false;
    c->squeezed = nodes[c->fc2].in[0];
    if (which(plan, c->squeezed, "relu", "silu") < 0)
        return false;
    c->fc1 = nodes[c->squeezed].in[0];
    if (!is_product(plan, c->fc1))
        return false;
    c->pool = nodes[c->fc1].in[0];
    if (!is_global_mean(plan, c->pool) || nodes[c->pool].in[0] != c->act || !nodes[c->act].op)
        return false;
    c->norm = nodes[c->act].in[0];
    if (!is(plan, c->norm, "batch_norm") || !takes(plan, c))
        return false;
    SrNodeId single[] = {c->norm, c->pool, c->fc1, c->squeezed, c->fc2, c->gate};
    for (int i = 0; i < SR_COUNT(single); i++)
        if (!sr__plan_has_readers(plan, single[i], 1, readers))
            return false;
    return sr__plan_has_readers(plan, c->act, 2, readers) && sr__plan_may_move(plan, c->norm, mul);
}

static SrStatus merge(SrPlan *plan, const Chain *c) {
    SrPlanNode *nodes = plan->nodes, *to = &nodes[c->mul], *norm = &nodes[c->norm];
    SrPlanNode *fc[] = {&nodes[c->fc1], &nodes[c->fc2]};
    SrGatedNormParams *params = sr_arena_alloc(&plan->arena, sizeof *params);
    SR_TRY_MEMORY(params, "the fused node %s", to->name);
    memcpy(&params->norm, norm->params, sizeof params->norm);
    *sr_op_switch(norm->op, &params->norm, nodes[c->act].op->fuses_as) = true;
    params->squeeze = sr_shape_last(fc[0]->shape);
    params->activation = which(plan, c->squeezed, "relu", "silu");
    params->gate = which(plan, c->gate, "sigmoid", "hardsigmoid");
    SR_TRY(sr_op_find("gated_norm", &to->op));
    to->params = params;
    to->eval_from = norm->eval_from;
    to->in[0] = norm->in[0];
    to->n_in = 1;
    memcpy(to->w, norm->w, sizeof(int) * (size_t)norm->n_w);
    to->n_w = norm->n_w;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < fc[i]->n_w; k++)
            to->w[to->n_w++] = fc[i]->w[k];
    SrNodeId gone[] = {c->norm, c->act, c->pool, c->fc1, c->squeezed, c->fc2, c->gate};
    for (int i = 0; i < SR_COUNT(gone); i++)
        nodes[gone[i]].live = false;
    return SR_OK;
}

SrStatus sr__pass_fuse_gates(SrPlan *plan) {
    int *readers;
    SR_TRY(sr__plan_count_readers(plan, &readers));
    for (SrNodeId id = 0; id < plan->n_nodes; id++) {
        Chain c;
        if (find_chain(plan, id, readers, &c))
            SR_TRY(merge(plan, &c));
    }
    return SR_OK;
}
