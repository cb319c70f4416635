// Fusing: norm -> relu and norm -> add -> relu become one node, which reads and writes memory once.
// In plans without gradients convolutions offer the same (SR_OP_FUSED_NO_GRAD).
//
// An op offers this by options named "relu" and "residual" (its second input is then added before
// the relu). The fused node takes the place and the name of the relu; whatever lay between must
// have had no other reader.
#include <string.h>

#include "graph/plan_internal.h"

// Where the op keeps the switch `name` in its params; NULL if it has none.
static const SrOption *find_switch(const SrOp *op, const char *name) {
    const SrOption *option = op->options ? sr_options_find(op->options, name) : NULL;
    return option && option->type == SR_OPT_BOOL ? option : NULL;
}

// There is such a switch, and it is off.
static bool is_off(const SrPlanNode *node, const char *name) {
    const SrOption *option = find_switch(node->op, name);
    return option && !*(const bool *)((const char *)node->params + option->offset);
}

static bool wants_grads(const SrPlan *plan) {
    bool any = plan->n_losses > 0;
    for (SrNodeId id = 0; id < plan->n_nodes; id++)
        any |= plan->nodes[id].is_grad_out;
    return any;
}

static void switch_on(const SrOp *op, const char *name, void *params) {
    *(bool *)((char *)params + find_switch(op, name)->offset) = true;
}

// Nobody would miss the value: one reader, and the host does not look at it or its gradient.
static bool has_one_reader(const SrPlan *plan, SrNodeId id, const int *readers) {
    return readers[id] == 1 && !plan->nodes[id].is_output && !plan->nodes[id].is_grad_out;
}

static bool shares_state(const SrPlanNode *a, const SrPlanNode *b) {
    for (int i = 0; i < a->n_w; i++)
        for (int j = 0; j < b->n_w; j++)
            if (a->w[i] == b->w[j])
                return true;
    return false;
}

// The fused node runs where the relu stands.  Nodes between must not use the same running
// statistics, or their updates would change order.
static bool may_move(const SrPlan *plan, SrNodeId from, SrNodeId to) {
    for (SrNodeId id = from + 1; id < to; id++)
        if (plan->nodes[id].live && shares_state(&plan->nodes[from], &plan->nodes[id]))
            return false;
    return true;
}

// Node `norm` offers a relu that is not in use, and disappearing into node `relu` changes nothing
// else.
static bool can_take_relu(const SrPlan *plan, SrNodeId norm, SrNodeId relu, const int *readers) {
    const SrPlanNode *node = &plan->nodes[norm];
    return node->op && (!(node->op->flags & SR_OP_FUSED_NO_GRAD) || !wants_grads(plan)) &&
           has_one_reader(plan, norm, readers) && is_off(node, "relu") &&
           may_move(plan, norm, relu);
}

// Which input of `add` is a norm that can take both the sum and the relu; -1 if none.
static int norm_below_add(const SrPlan *plan, SrNodeId add, SrNodeId relu, const int *readers) {
    const SrPlanNode *node = &plan->nodes[add];
    if (!node->op || strcmp(node->op->name, "add") != 0 || node->n_in != 2 ||
        node->op->params_bytes || !has_one_reader(plan, add, readers))
        return -1;
    // Of two norms the first, as the main branch is written first (out += identity).
    for (int i = 0; i < 2; i++) {
        const SrPlanNode *norm = &plan->nodes[node->in[i]];
        if (can_take_relu(plan, node->in[i], relu, readers) && is_off(norm, "residual") &&
            norm->n_in == 1 && norm->op->max_in >= 2 &&
            sr_shape_equal(norm->shape, plan->nodes[node->in[1 - i]].shape))
            return i;
    }
    return -1;
}

// Turns node `relu` into `norm` with the relu inside, and the residual too unless it is SR_NO_NODE.
static SrStatus merge(SrPlan *plan, SrNodeId relu, SrNodeId norm, SrNodeId residual) {
    SrPlanNode *to = &plan->nodes[relu], *from = &plan->nodes[norm];
    void *params = sr_arena_copy(&plan->arena, from->params, from->op->params_bytes);
    if (!params)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for the fused node %s", to->name);
    switch_on(from->op, "relu", params);
    to->op = from->op;
    to->params = params;
    to->n_w = from->n_w;
    memcpy(to->w, from->w, sizeof to->w);
    memcpy(to->in, from->in, sizeof to->in);
    to->n_in = from->n_in;
    from->live = false;
    if (residual != SR_NO_NODE) {
        switch_on(from->op, "residual", params);
        to->in[to->n_in++] = residual;
    }
    // The op has the last word on whether it takes these inputs with these params.
    SrShape x[SR_OP_MAX_IN], y;
    sr__plan_shapes(plan, to, x);
    if (to->op->infer(params, x, to->n_in, &y) != SR_OK)
        return sr_fail_prefix(SR_ERR_CONFIG, "fusing %s into %s", from->name, to->name);
    return SR_OK;
}

static SrStatus fuse_relu(SrPlan *plan, SrNodeId relu, const int *readers) {
    SrNodeId below = plan->nodes[relu].in[0];
    if (can_take_relu(plan, below, relu, readers))
        return merge(plan, relu, below, SR_NO_NODE);
    // No norm right below: perhaps a sum with a norm below that.
    int i = norm_below_add(plan, below, relu, readers);
    if (i < 0)
        return SR_OK;
    plan->nodes[below].live = false;
    return merge(plan, relu, plan->nodes[below].in[i], plan->nodes[below].in[1 - i]);
}

static bool is_on(const SrPlanNode *node, const char *name) {
    return find_switch(node->op, name) && !is_off(node, name);
}

SrStatus sr__plan_check_fused(const SrPlan *plan) {
    for (SrNodeId id = 0; wants_grads(plan) && id < plan->n_nodes; id++) {
        const SrPlanNode *node = &plan->nodes[id];
        if (node->live && node->op && (node->op->flags & SR_OP_FUSED_NO_GRAD) &&
            (is_on(node, "relu") || is_on(node, "residual")))
            SR_FAIL(SR_ERR_CONFIG, "plan: %s (%s with relu or residual) has no gradient",
                    node->name, node->op->name);
    }
    return SR_OK;
}

SrStatus sr__pass_fuse(SrPlan *plan) {
    int *readers = sr_arena_alloc(&plan->arena, ((size_t)plan->n_nodes + 1) * sizeof *readers);
    if (!readers)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for fusing %d nodes", plan->n_nodes);
    // Counted once: fusing removes a reader and its value together, so the other counts stay true.
    for (SrNodeId id = 0; id < plan->n_nodes; id++)
        for (int i = 0; plan->nodes[id].live && i < plan->nodes[id].n_in; i++)
            readers[plan->nodes[id].in[i]]++;
    for (SrNodeId id = 0; id < plan->n_nodes; id++) {
        const SrPlanNode *node = &plan->nodes[id];
        if (node->live && node->op && strcmp(node->op->name, "relu") == 0)
            SR_TRY(fuse_relu(plan, id, readers));
    }
    return SR_OK;
}
