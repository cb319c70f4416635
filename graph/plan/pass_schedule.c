// The schedule pass makes the list of kernel calls over numbered buffers: all forward calls in
// node order, then the backward calls in reverse order, with recomputations and gradient sums in
// between.
//
// A call runs in one element type (pass_precision.c).  Inputs of another type are converted
// before it into buffers of their own.  Gradients for values of another type are joined like
// those of a kernel that cannot add.
//
// Prepared parameters (SrOp.prepare, such as packed weights) are made before the first call that
// wants them and live until the last one, so that passes of several resolutions share them.
//
// Gradients: the first contribution to a value's gradient writes its buffer, later ones add, inside
// the kernel where it can (SR_OP_ADDS_DX) and through a temporary where it cannot.
#include "base/compiler.h"
#include "base/mem.h"
#include "base/ranks/comm.h"
#include "graph/plan/plan_internal.h"

// Sizes are rounded up to cache lines; life spans are found later from the calls (pass_place).
static SrStatus new_buffer(SrPlan *plan, size_t bytes, int *out) {
    if (plan->n_buffers == plan->buffers_capacity) {
        int capacity = plan->buffers_capacity ? 2 * plan->buffers_capacity : 256;
        SrBuffer *buffers = sr_realloc(plan->buffers, (size_t)capacity * sizeof *buffers);
        SR_TRY_MEMORY(buffers, "a plan of %d buffers", capacity);
        plan->buffers = buffers;
        plan->buffers_capacity = capacity;
    }
    bytes = (SR_MAX(bytes, 1) + SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN;
    plan->buffers[plan->n_buffers] = (SrBuffer){.bytes = bytes, .first = -1, .last = -1};
    *out = plan->n_buffers++;
    return SR_OK;
}

static size_t typed_bytes(const SrPlanNode *node, SrDtype type) {
    return (size_t)sr_shape_count(node->shape) * sr_dtype_bytes(type);
}

static SrStatus new_gradient(SrPlan *plan, const SrPlanNode *node, int *out) {
    SR_TRY(new_buffer(plan, typed_bytes(node, sr__plan_grad_type(node)), out));
    plan->buffers[*out].to_end = node->is_grad_out;
    return SR_OK;
}

// Adds a call without buffers; the pointer is valid until the next addition.
static SrStatus new_call(SrPlan *plan, SrCallKind kind, SrNodeId node, SrPlanCall **out) {
    if (plan->n_calls == plan->calls_capacity) {
        int capacity = plan->calls_capacity ? 2 * plan->calls_capacity : 256;
        SrPlanCall *calls = sr_realloc(plan->calls, (size_t)capacity * sizeof *calls);
        SR_TRY_MEMORY(calls, "a plan of %d calls", capacity);
        plan->calls = calls;
        plan->calls_capacity = capacity;
    }
    SrPlanCall *call = *out = &plan->calls[plan->n_calls++];
    *call = (SrPlanCall){.kind = kind,
                         .node = node,
                         .y = SR_NO_BUFFER,
                         .dy = SR_NO_BUFFER,
                         .prepared = SR_NO_BUFFER,
                         .sums = SR_NO_BUFFER,
                         .x_sums = SR_NO_BUFFER,
                         .saved = SR_NO_BUFFER,
                         .scratch = SR_NO_BUFFER};
    for (int i = 0; i < SR_OP_MAX_IN; i++)
        call->x[i] = call->dx[i] = SR_NO_BUFFER;
    return SR_OK;
}

// Scratch is a buffer that lives for one call, so it shares memory with all buffers that are not
// alive.
static SrStatus add_scratch(SrPlan *plan, const SrPlanNode *node, SrPlanCall *call) {
    SrShape x[SR_OP_MAX_IN];
    SrOpSite site = sr__plan_site(plan, node, x);
    size_t bytes = node->op->scratch_bytes ? node->op->scratch_bytes(&site) : 0;
    return bytes ? new_buffer(plan, bytes, &call->scratch) : SR_OK;
}

// Splits the last call into three steps if ranks share sums in the middle of it (SrOp.exchange):
// the first half, the exchange, and the call itself.  All three have the same buffers.
static SrStatus share_sums(SrPlan *plan, SrOpPass pass) {
    int at = plan->n_calls - 1;
    SrPlanCall whole = plan->calls[at], *call;
    const SrPlanNode *node = &plan->nodes[whole.node];
    SrShape x[SR_OP_MAX_IN];
    sr__plan_shapes(plan, node, x);
    if (!node->op->exchange || sr_comm_size() == 1 || plan->mode != SR_MODE_TRAIN)
        return SR_OK;
    whole.exchange = node->op->exchange(node->params, x);
    if (whole.exchange.ranks < 2)
        return SR_OK;
    for (int i = 0; i < 2; i++)
        SR_TRY(new_call(plan, whole.kind, whole.node, &call));
    for (int i = 0; i < 3; i++)
        plan->calls[at + i] = whole;
    plan->calls[at].kind = SR_CALL_PARTIAL;
    plan->calls[at].pass = pass;
    plan->calls[at].exchange.ranks = 0; // it reads no sums
    plan->calls[at + 1].kind = SR_CALL_EXCHANGE;
    return SR_OK;
}

// Tells whether a kernel of this plan writes the parameter.
static bool changes(const SrPlan *plan, int parameter) {
    for (SrNodeId id = 0; id < plan->n_nodes; id++) {
        const SrPlanNode *node = &plan->nodes[id];
        for (int i = 0; node->live && node->op && (node->op->flags & SR_OP_IMPURE) && i < node->n_w;
             i++)
            if (node->w[i] == parameter)
                return true;
    }
    return false;
}

// Returns an earlier preparation of these parameters in this form.  SR_NO_BUFFER: none.  Plans
// without gradients or with activation checkpointing share none: their activations are few
// compared with weights, so shared preparations would raise the peak.
static int find_prepared(const SrPlan *plan, const SrPlanNode *node, SrOpPrepared want,
                         SrOpPass pass) {
    if (!plan->n_losses || plan->splits > 1)
        return SR_NO_BUFFER;
    for (int c = plan->prepared_from; c < plan->n_calls; c++) {
        const SrPlanCall *call = &plan->calls[c];
        const SrPlanNode *from = &plan->nodes[call->node];
        bool same = call->kind == SR_CALL_PREPARE && call->pass == pass && call->key == want.key &&
                    from->op == node->op && plan->buffers[call->prepared].bytes >= want.bytes;
        for (int i = 0; same && i < node->n_w; i++)
            same = from->w[i] == node->w[i] && !changes(plan, node->w[i]);
        if (same)
            return call->prepared;
    }
    return SR_NO_BUFFER;
}

// Returns the buffer of prepared parameters for a call of `node`; schedules the preparation at
// first use.
static SrStatus prepare(SrPlan *plan, SrNodeId id, SrOpPass pass, int *out) {
    const SrPlanNode *node = &plan->nodes[id];
    SrShape x[SR_OP_MAX_IN];
    SrOpSite site = sr__plan_site(plan, node, x);
    SrOpPrepared want = {0};
    if (node->op->prepared)
        want = node->op->prepared(&site, pass);
    *out = want.bytes ? find_prepared(plan, node, want, pass) : SR_NO_BUFFER;
    if (!want.bytes || *out != SR_NO_BUFFER)
        return SR_OK;
    SrPlanCall *call;
    SR_TRY(new_buffer(plan, want.bytes, out));
    SR_TRY(new_call(plan, SR_CALL_PREPARE, id, &call));
    call->prepared = *out;
    call->pass = pass;
    call->key = want.key;
    return SR_OK;
}

// Schedules y = x or y += x over the value or the gradient of `node`.
static SrStatus schedule_sum(SrPlan *plan, SrCallKind kind, SrNodeId node, int y, SrDtype to, int x,
                             SrDtype from) {
    SrPlanCall *call;
    SR_TRY(new_call(plan, kind, node, &call));
    call->y = y;
    call->x[0] = x;
    call->to = to;
    call->from = from;
    return SR_OK;
}

// Converts input i of a call of `node`, in *buffer, to the type that the call reads.
static SrStatus convert_input(SrPlan *plan, const SrPlanNode *node, int i, int *buffer) {
    const SrPlanNode *from = &plan->nodes[node->in[i]];
    SrDtype type = sr__plan_input_type(node, from);
    int as_it_is = *buffer;
    if (type == from->dtype)
        return SR_OK;
    SR_TRY(new_buffer(plan, typed_bytes(from, type), buffer));
    return schedule_sum(plan, SR_CALL_CAST, node->in[i], *buffer, type, as_it_is, from->dtype);
}

// Sets the input buffers of a forward call.
static SrStatus forward_inputs(SrPlan *plan, const SrPlanNode *node, int x[SR_OP_MAX_IN]) {
    for (int i = 0; i < node->n_in; i++) {
        x[i] = plan->nodes[plan->nodes[node->in[i]].root].value;
        SR_TRY(convert_input(plan, node, i, &x[i]));
    }
    return SR_OK;
}

// Tells whether a node that runs in training, in this type, reads the channel sums of the value.
static bool sums_wanted(const SrPlan *plan, SrNodeId id) {
    for (SrNodeId to = id + 1; plan->mode == SR_MODE_TRAIN && to < plan->n_nodes; to++) {
        const SrPlanNode *node = &plan->nodes[to];
        if (node->live && node->op && (node->op->flags & SR_OP_TAKES_SUMS) && node->in[0] == id &&
            node->eval_from > 0 && node->dtype == plan->nodes[id].dtype)
            return true;
    }
    return false;
}

// Makes the buffer of channel sums that the forward call writes, if a reader wants them and the
// op can.
static SrStatus leave_sums(SrPlan *plan, SrNodeId id) {
    SrPlanNode *node = &plan->nodes[id];
    if (!node->op->sum_units || !sums_wanted(plan, id))
        return SR_OK;
    SrShape x[SR_OP_MAX_IN];
    SrOpSite site = sr__plan_site(plan, node, x);
    node->sum_units = node->op->sum_units(&site);
    size_t bytes = sr__sums_bytes(node->sum_units, sr_shape_last(node->shape));
    return node->sum_units ? new_buffer(plan, bytes, &node->sums) : SR_OK;
}

static SrStatus schedule_forward(SrPlan *plan, SrNodeId id) {
    SrPlanNode *node = &plan->nodes[id];
    SrPlanCall *call;
    SrShape x[SR_OP_MAX_IN];
    int inputs[SR_OP_MAX_IN];
    sr__plan_shapes(plan, node, x);
    int prepared;
    SR_TRY(forward_inputs(plan, node, inputs));
    SR_TRY(prepare(plan, id, SR_PASS_FORWARD, &prepared));
    SR_TRY(leave_sums(plan, id));
    SR_TRY(new_buffer(plan, typed_bytes(node, node->dtype), &node->value));
    plan->buffers[node->value].to_end = node->is_output;
    SR_TRY(new_call(plan, SR_CALL_FORWARD, id, &call));
    // Without a backward call `saved` lives for this one call, like scratch.
    size_t saved = node->op->saved_bytes ? node->op->saved_bytes(node->params, x, node->n_in) : 0;
    if (saved)
        SR_TRY(new_buffer(plan, saved, &node->saved));
    call->y = node->value;
    call->sums = node->sums;
    if ((node->op->flags & SR_OP_TAKES_SUMS) && node->dtype == plan->nodes[node->in[0]].dtype)
        call->x_sums = plan->nodes[node->in[0]].sums;
    call->prepared = prepared;
    call->saved = node->saved;
    for (int i = 0; i < node->n_in; i++)
        call->x[i] = inputs[i];
    SR_TRY(add_scratch(plan, node, call));
    return share_sums(plan, SR_PASS_FORWARD);
}

// Returns the buffer in which a backward call reads a value; schedules its recomputation at first
// use.
static SrStatus value_in_backward(SrPlan *plan, SrNodeId root, int *out) {
    SrPlanNode *node = &plan->nodes[root];
    if (!node->recompute || node->again != SR_NO_BUFFER) {
        *out = node->recompute ? node->again : node->value;
        return SR_OK;
    }
    SrPlanCall *call;
    int inputs[SR_OP_MAX_IN];
    for (int i = 0; i < node->n_in; i++) { // its inputs may have to be recomputed first
        SR_TRY(value_in_backward(plan, plan->nodes[node->in[i]].root, &inputs[i]));
        SR_TRY(convert_input(plan, node, i, &inputs[i]));
    }
    int prepared;
    SR_TRY(prepare(plan, root, SR_PASS_FORWARD, &prepared));
    SR_TRY(new_buffer(plan, typed_bytes(node, node->dtype), &node->again));
    SR_TRY(new_call(plan, SR_CALL_RECOMPUTE, root, &call));
    call->y = *out = node->again;
    call->prepared = prepared;
    call->saved = node->saved;
    for (int i = 0; i < node->n_in; i++)
        call->x[i] = inputs[i];
    return add_scratch(plan, node, call);
}

// Adds or moves a complete gradient in `from` to the gradient of grad root `to`.
static SrStatus merge_gradient(SrPlan *plan, SrNodeId to, int from, SrDtype type) {
    SrPlanNode *node = &plan->nodes[to];
    SrCallKind kind = node->grad == SR_NO_BUFFER ? SR_CALL_COPY : SR_CALL_ADD;
    if (kind == SR_CALL_COPY)
        SR_TRY(new_gradient(plan, node, &node->grad));
    return schedule_sum(plan, kind, to, node->grad, sr__plan_grad_type(node), from, type);
}

// Makes the seed buffer of every loss, at which its gradient starts.
static SrStatus schedule_seeds(SrPlan *plan) {
    for (int k = 0; k < plan->n_losses; k++) {
        const SrPlanNode *loss = &plan->nodes[plan->losses[k]];
        SrPlanNode *root = &plan->nodes[loss->grad_root];
        SR_TRY(
            new_buffer(plan, (size_t)sr_shape_count(loss->shape) * sizeof(float), &plan->seeds[k]));
        plan->buffers[plan->seeds[k]].whole_run = true;
        if (!loss->needs_grad)
            continue;
        // No call adds to it, so the caller's values stay intact.
        if (root->n_contributions == 1 && sr__plan_grad_type(root) == SR_F32)
            root->grad = plan->seeds[k];
        else
            SR_TRY(merge_gradient(plan, loss->grad_root, plan->seeds[k], SR_F32));
    }
    return SR_OK;
}

// Tells whether the gradient of input i may take over the memory of dy.  This call is the last
// reader of dy, because it is the backward call of dy's node, unless the caller reads dy.
static bool takes_over(const SrPlan *plan, const SrPlanNode *node, int dy, int i) {
    const SrPlanNode *from = &plan->nodes[node->in[i]];
    return node->op->inplace && node->op->inplace(node->params) == i &&
           !plan->buffers[dy].whole_run && !plan->buffers[dy].to_end &&
           sr__plan_dx_type(plan, node, i) == sr__plan_grad_type(node) &&
           sr_shape_count(from->shape) == sr_shape_count(node->shape);
}

// Returns the buffer in which backward call `at` puts the gradient of input i.  *temporary: it
// must be joined to the input's gradient afterwards.
static SrStatus place_dx(SrPlan *plan, int at, int i, bool *temporary) {
    const SrPlanNode *node = &plan->nodes[plan->calls[at].node];
    SrPlanNode *to = &plan->nodes[plan->nodes[node->in[i]].grad_root];
    int dy = plan->calls[at].dy;
    SrDtype type = sr__plan_dx_type(plan, node, i);
    *temporary = sr__plan_grad_type(to) != type;
    if (*temporary) {
        // the other type
    } else if (to->grad == SR_NO_BUFFER && takes_over(plan, node, dy, i)) {
        to->grad = dy; // the buffer lives on, through the calls of its new owner
        plan->buffers[dy].to_end = to->is_grad_out;
        plan->shared_bytes += plan->buffers[dy].bytes;
    } else if (to->grad == SR_NO_BUFFER) {
        SR_TRY(new_gradient(plan, to, &to->grad));
    } else {
        // The value is also an earlier input of this call: a kernel may not write one buffer twice.
        bool twice = false;
        for (int j = 0; j < i; j++)
            twice |= plan->calls[at].dx[j] == to->grad;
        *temporary = twice || !(node->op->flags & SR_OP_ADDS_DX);
        if (!*temporary)
            plan->calls[at].dx_add |= UINT64_C(1) << i;
    }
    plan->calls[at].dx[i] = to->grad;
    return *temporary ? new_buffer(plan, typed_bytes(to, type), &plan->calls[at].dx[i]) : SR_OK;
}

static bool wants_dx(const SrPlan *plan, const SrPlanNode *node) {
    bool any = false;
    for (int i = 0; i < node->n_in; i++)
        any |= plan->nodes[node->in[i]].needs_grad;
    return any;
}

static SrStatus schedule_backward(SrPlan *plan, SrNodeId id) {
    SrPlanNode *node = &plan->nodes[id];
    unsigned reads = node->op->reads ? node->op->reads(node->params) : 0;
    int x[SR_OP_MAX_IN], y = SR_NO_BUFFER, prepared = SR_NO_BUFFER;
    for (int i = 0; i < node->n_in; i++) {
        x[i] = SR_NO_BUFFER;
        if (!(reads & SR_READS_X(i)))
            continue;
        // May schedule a recomputation and a conversion, which must come before the call.
        SR_TRY(value_in_backward(plan, plan->nodes[node->in[i]].root, &x[i]));
        SR_TRY(convert_input(plan, node, i, &x[i]));
    }
    if (reads & SR_READS_Y)
        SR_TRY(value_in_backward(plan, id, &y));
    if (wants_dx(plan, node))
        SR_TRY(prepare(plan, id, SR_PASS_BACKWARD, &prepared));

    // By index, as new buffers and calls move the arrays.
    SrPlanCall *call;
    int at = plan->n_calls;
    bool temporary[SR_OP_MAX_IN] = {false};
    SR_TRY(new_call(plan, SR_CALL_BACKWARD, id, &call));
    call->y = y;
    call->dy = node->grad;
    call->prepared = prepared;
    call->saved = node->saved;
    for (int i = 0; i < node->n_in; i++) {
        call->x[i] = x[i];
        if (plan->nodes[node->in[i]].needs_grad)
            SR_TRY(place_dx(plan, at, i, &temporary[i]));
    }
    SR_TRY(add_scratch(plan, node, call));
    if (call->dx[0] != SR_NO_BUFFER)
        SR_TRY(share_sums(plan, SR_PASS_BACKWARD));
    for (int i = 0; i < node->n_in; i++) {
        SrNodeId to = plan->nodes[node->in[i]].grad_root;
        if (temporary[i])
            SR_TRY(
                merge_gradient(plan, to, plan->calls[at].dx[i], sr__plan_dx_type(plan, node, i)));
    }
    return SR_OK;
}

static SrStatus schedule_backwards(SrPlan *plan) {
    SR_TRY(schedule_seeds(plan));
    // Readers first, so that a gradient is complete when its node's turn comes.
    for (SrNodeId id = plan->n_nodes - 1; id >= 0; id--) {
        SrPlanNode *node = &plan->nodes[id];
        if (node->has_backward)
            SR_TRY(schedule_backward(plan, id));
        else if (node->is_view && node->grad_root == id && node->grad != SR_NO_BUFFER &&
                 plan->nodes[node->in[0]].needs_grad)
            SR_TRY(merge_gradient(plan, plan->nodes[node->in[0]].grad_root, node->grad,
                                  sr__plan_grad_type(node)));
    }
    // A requested gradient that no loss reaches is zero.
    for (SrNodeId id = 0; id < plan->n_nodes; id++) {
        SrPlanNode *node = &plan->nodes[id];
        if (!node->is_grad_out || plan->nodes[node->grad_root].grad != SR_NO_BUFFER)
            continue;
        SR_TRY(new_gradient(plan, node, &node->grad));
        SrDtype type = sr__plan_grad_type(node);
        SR_TRY(schedule_sum(plan, SR_CALL_ZERO, id, node->grad, type, SR_NO_BUFFER, type));
    }
    return SR_OK;
}

SrStatus sr__pass_schedule(SrPlan *plan) {
    for (SrNodeId id = 0; id < plan->n_nodes; id++) {
        SrPlanNode *node = &plan->nodes[id];
        if (node->op) {
            if (node->live && !node->is_view)
                SR_TRY(schedule_forward(plan, id));
            continue;
        }
        // Unread inputs get memory too, because the caller fills all inputs.
        SR_TRY(new_buffer(plan, typed_bytes(node, node->dtype), &node->value));
        plan->buffers[node->value].whole_run = true;
    }
    plan->n_forward = plan->prepared_from = plan->n_calls;
    return plan->n_losses ? schedule_backwards(plan) : SR_OK;
}
