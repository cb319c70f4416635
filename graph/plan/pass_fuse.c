// The fuse pass makes one node of norm -> relu and of norm -> add -> relu, which reads and writes
// memory once.  In plans without gradients, convolutions and linear layers (SR_OP_FUSED_NO_GRAD)
// also take an activation, a sum and an activation, or a sum that follows.
//
// The field `fuses_as` of an activation or a sum names the switch of an earlier op that does its
// work. An op offers the switch by an option of that name: "relu", or "residual", by which its
// second input is added before the activation.  The fused node takes place and name of the
// activation, and the values that disappear must have no other reader.  In bfloat16 plans sums of
// tokens are not fused, because they are floats (pass_precision.c).
#include <string.h>

#include "graph/plan/plan_internal.h"

// Tells whether the op has such a switch and it is off.
static bool is_off(const SrPlanNode *node, const char *name) {
    const bool *on = sr_op_switch(node->op, node->params, name);
    return on && !*on;
}

bool sr__plan_wants_grads(const SrPlan *plan) {
    bool any = plan->n_losses > 0;
    for (SrNodeId id = 0; id < plan->n_nodes; id++)
        any |= plan->nodes[id].is_grad_out;
    return any;
}

bool sr__plan_has_readers(const SrPlan *plan, SrNodeId id, int n, const int *readers) {
    return readers[id] == n && !plan->nodes[id].is_output && !plan->nodes[id].is_grad_out;
}

static bool has_one_reader(const SrPlan *plan, SrNodeId id, const int *readers) {
    return sr__plan_has_readers(plan, id, 1, readers);
}

static bool shares_state(const SrPlanNode *a, const SrPlanNode *b) {
    for (int i = 0; i < a->n_w; i++)
        for (int j = 0; j < b->n_w; j++)
            if (a->w[i] == b->w[j])
                return true;
    return false;
}

bool sr__plan_may_move(const SrPlan *plan, SrNodeId from, SrNodeId to) {
    for (SrNodeId id = from + 1; id < to; id++)
        if (plan->nodes[id].live && shares_state(&plan->nodes[from], &plan->nodes[id]))
            return false;
    return true;
}

static bool is_activation(const SrOp *op) {
    return op && op->fuses_as && op->max_in == 1 && !op->params_bytes;
}

static bool is_sum(const SrPlanNode *node) {
    return node->op && node->op->fuses_as && node->n_in == 2 && !node->op->params_bytes;
}

static bool is_on(const SrPlanNode *node, const char *name) {
    const bool *on = sr_op_switch(node->op, node->params, name);
    return on && *on;
}

// Tells whether a fused activation is already on.
static bool is_activated(const SrPlanNode *node) {
    for (int i = 0; sr_op_at(i); i++)
        if (is_activation(sr_op_at(i)) && is_on(node, sr_op_at(i)->fuses_as))
            return true;
    return false;
}

// Tells whether `norm` has a switch for the work of `end`, has no activation yet, and may move to
// the place of `end`.
static bool can_take(const SrPlan *plan, SrNodeId norm, SrNodeId end, const int *readers) {
    const SrPlanNode *node = &plan->nodes[norm];
    return node->op && (!(node->op->flags & SR_OP_FUSED_NO_GRAD) || !sr__plan_wants_grads(plan)) &&
           has_one_reader(plan, norm, readers) && is_off(node, plan->nodes[end].op->fuses_as) &&
           !is_activated(node) && sr__plan_may_move(plan, norm, end);
}

// Returns the input of `sum` that is a norm able to do the sum and the work of `end`, which is the
// activation after the sum or the sum itself.  -1: none.
static int norm_below_sum(const SrPlan *plan, SrNodeId sum, SrNodeId end, const int *readers) {
    const SrPlanNode *node = &plan->nodes[sum];
    // If both inputs are norms, the first is taken: the main branch is written first (out +=
    // identity).
    for (int i = 0; i < 2; i++) {
        const SrPlanNode *norm = &plan->nodes[node->in[i]];
        if (can_take(plan, node->in[i], end, readers) && is_off(norm, node->op->fuses_as) &&
            norm->n_in == 1 && norm->op->max_in >= 2 &&
            sr_shape_equal(norm->shape, plan->nodes[node->in[1 - i]].shape))
            return i;
    }
    return -1;
}

// Turns node `end` into `norm` with the work of `end` inside.  `sum`: the sum of the norm's value
// and `residual` that is fused too; NULL: none.
static SrStatus merge(SrPlan *plan, SrNodeId end, SrNodeId norm, const SrOp *sum,
                      SrNodeId residual) {
    SrPlanNode *to = &plan->nodes[end], *from = &plan->nodes[norm];
    void *params = sr_arena_copy(&plan->arena, from->params, from->op->params_bytes);
    SR_TRY_MEMORY(params, "the fused node %s", to->name);
    *sr_op_switch(from->op, params, to->op->fuses_as) = true;
    to->op = from->op;
    to->params = params;
    to->n_w = from->n_w;
    memcpy(to->w, from->w, sizeof to->w);
    memcpy(to->in, from->in, sizeof to->in);
    to->n_in = from->n_in;
    from->live = false;
    if (sum) {
        *sr_op_switch(from->op, params, sum->fuses_as) = true;
        to->in[to->n_in++] = residual;
    }
    // The op has the last word on whether it takes these inputs with these params.
    SrShape x[SR_OP_MAX_IN], y;
    sr__plan_shapes(plan, to, x);
    if (to->op->infer(params, x, to->n_in, &y) != SR_OK)
        return sr_fail_prefix(SR_ERR_CONFIG, "fusing %s into %s", from->name, to->name);
    return SR_OK;
}

static SrStatus fuse(SrPlan *plan, SrNodeId act, const int *readers) {
    SrNodeId below = plan->nodes[act].in[0];
    if (can_take(plan, below, act, readers))
        return merge(plan, act, below, NULL, SR_NO_NODE);
    // No norm directly before: perhaps a sum with a norm before it.
    int i = -1;
    if (is_sum(&plan->nodes[below]) && has_one_reader(plan, below, readers))
        i = norm_below_sum(plan, below, act, readers);
    if (i < 0)
        return SR_OK;
    SrPlanNode *sum = &plan->nodes[below];
    sum->live = false;
    return merge(plan, act, sum->in[i], sum->op, sum->in[1 - i]);
}

// Fuses a sum that no activation follows.
static SrStatus fuse_sum(SrPlan *plan, SrNodeId sum, const int *readers) {
    const SrPlanNode *node = &plan->nodes[sum];
    bool floats = plan->bf16 && (node->shape.rank != 4 || node->is_output);
    int i = sr__plan_wants_grads(plan) || floats ? -1 : norm_below_sum(plan, sum, sum, readers);
    return i < 0 ? SR_OK : merge(plan, sum, node->in[i], node->op, node->in[1 - i]);
}

// Returns the name of a switch that is on and has no backward; NULL: none.
static const char *fused_without_gradient(const SrPlanNode *node) {
    for (int i = 0; sr_op_at(i) && node->op && (node->op->flags & SR_OP_FUSED_NO_GRAD); i++)
        if (sr_op_at(i)->fuses_as && is_on(node, sr_op_at(i)->fuses_as))
            return sr_op_at(i)->fuses_as;
    return NULL;
}

SrStatus sr__plan_check_fused(const SrPlan *plan) {
    for (SrNodeId id = 0; sr__plan_wants_grads(plan) && id < plan->n_nodes; id++) {
        const SrPlanNode *node = &plan->nodes[id];
        const char *fused = node->live ? fused_without_gradient(node) : NULL;
        if (fused)
            SR_FAIL(SR_ERR_CONFIG, "plan: %s (%s with %s) has no gradient", node->name,
                    node->op->name, fused);
    }
    return SR_OK;
}

SrStatus sr__plan_count_readers(SrPlan *plan, int **out) {
    int *readers = sr_arena_alloc(&plan->arena, ((size_t)plan->n_nodes + 1) * sizeof *readers);
    SR_TRY_MEMORY(readers, "fusing %d nodes", plan->n_nodes);
    for (SrNodeId id = 0; id < plan->n_nodes; id++)
        for (int i = 0; plan->nodes[id].live && i < plan->nodes[id].n_in; i++)
            readers[plan->nodes[id].in[i]]++;
    *out = readers;
    return SR_OK;
}

SrStatus sr__pass_fuse(SrPlan *plan) {
    int *readers;
    SR_TRY(sr__plan_count_readers(plan, &readers));
    for (SrNodeId id = 0; id < plan->n_nodes; id++) {
        const SrPlanNode *node = &plan->nodes[id];
        if (node->live && is_activation(node->op))
            SR_TRY(fuse(plan, id, readers));
    }
    for (SrNodeId id = 0; id < plan->n_nodes; id++)
        if (plan->nodes[id].live && is_sum(&plan->nodes[id]))
            SR_TRY(fuse_sum(plan, id, readers));
    return SR_OK;
}
