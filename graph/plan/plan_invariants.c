// Looks for what a pass must never leave in a plan.
#include <stdlib.h>

#include "graph/plan/plan_internal.h"

static const SrPlanNode *input_of(const SrPlan *plan, const SrPlanNode *node, int i) {
    return &plan->nodes[node->in[i]];
}

// Nodes are in the order of their inputs, and a live node reads live nodes.
static const char *broken_nodes(const SrPlan *plan) {
    for (SrNodeId id = 0; id < plan->n_nodes; id++) {
        const SrPlanNode *node = &plan->nodes[id];
        if (node->n_in < 0 || node->n_in > SR_OP_MAX_IN || node->n_w < 0 ||
            node->n_w > SR_OP_MAX_SLOTS)
            return "a node has too many inputs or parameters";
        if (!node->op && node->n_in > 0)
            return "an input of the graph reads a value";
        for (int i = 0; node->live && i < node->n_in; i++) {
            if (node->in[i] < 0 || node->in[i] >= id)
                return "a node reads a node that comes after it";
            if (!input_of(plan, node, i)->live)
                return "a live node reads a node that is not computed";
        }
    }
    return NULL;
}

static bool is_own_root(const SrPlan *plan, SrNodeId id) {
    return id >= 0 && id < plan->n_nodes && plan->nodes[id].root == id;
}

// Views show memory of one root, and other nodes are their own root.
static const char *broken_roots(const SrPlan *plan) {
    for (SrNodeId id = 0; id < plan->n_nodes; id++) {
        const SrPlanNode *node = &plan->nodes[id];
        if (!is_own_root(plan, node->root))
            return "the root of a view is a view";
        if (node->is_view != (node->root != id))
            return "a node that is no view uses the memory of another";
        if (node->is_view &&
            sr_shape_count(node->shape) != sr_shape_count(plan->nodes[node->root].shape))
            return "a view has another number of elements than its root";
        if (node->grad_root < 0 || plan->nodes[node->grad_root].grad_root != node->grad_root)
            return "the root of a gradient has another root";
    }
    return NULL;
}

static const char *broken_gradients(const SrPlan *plan) {
    for (SrNodeId id = 0; id < plan->n_nodes; id++) {
        const SrPlanNode *node = &plan->nodes[id];
        if (node->has_backward && node->is_view)
            return "a view has a backward call";
        if (node->has_backward && (!node->live || !node->op || !node->op->backward))
            return "a node without a gradient has a backward call";
        if (node->kept && node->root != id)
            return "the memory of a view is kept instead of its root's";
        if (node->recompute && (!node->live || !node->op || node->is_output || node->is_view))
            return "a value that is read after the run, or is no op's, is recomputed";
    }
    return NULL;
}

// ---- calls --------------------------------------------------------------------------------------

static bool is_buffer(const SrPlan *plan, int buffer) {
    return buffer >= SR_NO_BUFFER && buffer < plan->n_buffers;
}

static bool has_buffers(const SrPlan *plan, const SrPlanCall *call) {
    bool all = is_buffer(plan, call->y) && is_buffer(plan, call->dy) &&
               is_buffer(plan, call->prepared) && is_buffer(plan, call->sums) &&
               is_buffer(plan, call->x_sums) && is_buffer(plan, call->saved) &&
               is_buffer(plan, call->scratch);
    for (int i = 0; i < SR_OP_MAX_IN; i++)
        all = all && is_buffer(plan, call->x[i]) && is_buffer(plan, call->dx[i]);
    return all;
}

static bool is_filled(const bool *filled, int buffer) {
    return buffer == SR_NO_BUFFER || filled[buffer];
}

// Tells whether earlier calls, or the caller, filled what the call reads.
static bool reads_filled(const SrPlanCall *call, const bool *filled) {
    bool backward = call->kind == SR_CALL_BACKWARD;
    bool adds = call->kind == SR_CALL_ADD;
    bool all = is_filled(filled, call->dy) && is_filled(filled, call->x_sums);
    if (call->kind != SR_CALL_PREPARE)
        all = all && is_filled(filled, call->prepared);
    if (backward)
        all = all && is_filled(filled, call->saved);
    if (backward || adds)
        all = all && is_filled(filled, call->y);
    for (int i = 0; i < SR_OP_MAX_IN; i++) {
        all = all && is_filled(filled, call->x[i]);
        if (call->dx_add >> i & 1)
            all = all && is_filled(filled, call->dx[i]);
    }
    return all;
}

static void fill(bool *filled, int buffer) {
    if (buffer != SR_NO_BUFFER)
        filled[buffer] = true;
}

static void fill_written(const SrPlanCall *call, bool *filled) {
    fill(filled, call->y);
    fill(filled, call->sums);
    fill(filled, call->saved);
    fill(filled, call->prepared);
    for (int i = 0; i < SR_OP_MAX_IN; i++)
        fill(filled, call->dx[i]);
}

static const char *broken_order(const SrPlan *plan, bool *filled) {
    for (int i = 0; i < plan->n_buffers; i++)
        filled[i] = plan->buffers[i].whole_run; // the caller fills inputs and seeds
    for (int c = 0; c < plan->n_calls; c++) {
        const SrPlanCall *call = &plan->calls[c];
        bool forward = call->kind == SR_CALL_FORWARD;
        bool back = call->kind == SR_CALL_BACKWARD || call->kind == SR_CALL_RECOMPUTE;
        if (call->node < 0 || call->node >= plan->n_nodes || !plan->nodes[call->node].live)
            return "a call belongs to a node that is not computed";
        if ((forward && c >= plan->n_forward) || (back && c < plan->n_forward))
            return "a call is on the wrong side of the loss";
        if (!has_buffers(plan, call))
            return "a call names a buffer that does not exist";
        if (!reads_filled(call, filled))
            return "a call reads a buffer that no call has filled";
        fill_written(call, filled);
    }
    return NULL;
}

static const char *broken_calls(const SrPlan *plan) {
    if (plan->n_forward < 0 || plan->n_forward > plan->n_calls)
        return "there are more forward calls than calls";
    // Tests that let the n-th allocation fail must not count this one.
    bool *filled = calloc((size_t)plan->n_buffers + 1, sizeof *filled);
    const char *broken = filled ? broken_order(plan, filled) : NULL;
    free(filled);
    return broken;
}

// ---- memory -------------------------------------------------------------------------------------

static bool bytes_meet(const SrBuffer *a, const SrBuffer *b) {
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static const char *broken_places(const SrPlan *plan) {
    for (int i = 0; i < plan->n_buffers; i++) {
        const SrBuffer *a = &plan->buffers[i];
        if (a->bytes % SR_ALIGN || a->offset % SR_ALIGN)
            return "a buffer does not begin or end at a cache line";
        if (a->offset + a->bytes > plan->memory_bytes)
            return "a buffer lies outside the plan's memory";
        if (a->first > a->last || a->last > plan->n_calls)
            return "the span of a buffer is empty or longer than the plan";
        for (int k = 0; k < i; k++)
            if (sr__buffers_meet(a, &plan->buffers[k]) && bytes_meet(a, &plan->buffers[k]))
                return "two buffers that are alive in one call share bytes";
    }
    return NULL;
}

static bool is_inside(const SrPlan *plan, const void *address) {
    const char *at = address;
    return !at || (at >= plan->memory && at < plan->memory + plan->memory_bytes);
}

static const char *broken_addresses(const SrPlan *plan) {
    for (int c = 0; c < plan->n_calls; c++) {
        const SrPlanCall *call = &plan->calls[c];
        bool inside = is_inside(plan, call->args.y.data) && is_inside(plan, call->args.dy) &&
                      is_inside(plan, call->args.saved) && is_inside(plan, call->args.scratch);
        if (!call->run && call->kind != SR_CALL_EXCHANGE)
            return "a call has no kernel";
        if (plan->memory && !inside)
            return "a call has an address outside the plan's memory";
    }
    return NULL;
}

const char *sr__plan_broken(const SrPlan *plan, SrPlanStage stage) {
    static const char *(*const checks[])(const SrPlan *) = {
        [SR_PLAN_NODES] = broken_nodes,         [SR_PLAN_ROOTS] = broken_roots,
        [SR_PLAN_GRADIENTS] = broken_gradients, [SR_PLAN_CALLS] = broken_calls,
        [SR_PLAN_PLACES] = broken_places,       [SR_PLAN_ADDRESSES] = broken_addresses,
    };
    const char *broken = NULL;
    for (int s = SR_PLAN_NODES; s <= (int)stage && !broken; s++)
        broken = checks[s](plan);
    return broken;
}
