// The bind pass turns buffer numbers into addresses: it fills the SrOpCall of every scheduled
// call, so that a run only walks the list.
//
// The pass allocates memory: first parameters that have none yet, then one block for the
// activations.  A dry run binds NULL for data, so that shapes, flops and printing work without
// memory.
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "graph/plan/plan_internal.h"
#include "kernels/basic/cast.h"
#include "kernels/core/gemm.h"

// Sums of gradients use the SrOpCall of kernels, with y and one input.
static void run_add(const SrOpCall *call) {
    sr_accumulate(call->machine, call->y.dtype, call->y.data, call->x[0].dtype, call->x[0].data,
                  sr_shape_count(call->y.shape));
}

static void run_copy(const SrOpCall *call) {
    sr_cast(call->machine, call->y.dtype, call->y.data, call->x[0].dtype, call->x[0].data,
            sr_shape_count(call->y.shape));
}

static void run_zero(const SrOpCall *call) {
    memset(call->y.data, 0, (size_t)sr_shape_count(call->y.shape) * sr_dtype_bytes(call->y.dtype));
}

static SrStatus out_of_memory(void) { return sr_out_of_memory("the calls of a plan"); }

// A sum has one input and one output of the node's shape.
static SrStatus bind_sum(SrPlan *plan, SrPlanCall *call) {
    const SrPlanNode *node = &plan->nodes[call->node];
    SrTensor *x = sr_arena_alloc(&plan->arena, sizeof *x);
    if (!x)
        return out_of_memory();
    *x = (SrTensor){node->shape, call->from, sr__plan_address(plan, call->x[0])};
    SrTensor y = {node->shape, call->to, sr__plan_address(plan, call->y)};
    call->args = (SrOpCall){.machine = &plan->machine, .n_in = 1, .x = x, .y = y};
    call->run = call->kind == SR_CALL_ADD    ? run_add
                : call->kind == SR_CALL_ZERO ? run_zero
                                             : run_copy;
    call->flops = call->kind == SR_CALL_ADD ? sr_shape_count(node->shape) : 0;
    return SR_OK;
}

// Values and gradients of the node's table entries; they never move once allocated.
static SrStatus bind_slots(SrPlan *plan, const SrPlanNode *node, SrOpCall *args) {
    size_t n = (size_t)node->n_w;
    SrTensor *w = sr_arena_alloc(&plan->arena, (n + 1) * sizeof *w);
    float **dw = sr_arena_alloc(&plan->arena, (n + 1) * sizeof *dw);
    if (!w || !dw)
        return out_of_memory();
    for (int i = 0; i < node->n_w; i++) {
        const SrParam *p = sr_params_at(plan->params, node->w[i]);
        w[i] = (SrTensor){p->shape, p->dtype, p->value};
        dw[i] = p->trainable ? p->grad : NULL; // may have been frozen after it got memory
    }
    args->n_w = node->n_w;
    args->w = w;
    args->dw = dw;
    return SR_OK;
}

// Inputs have the shapes of their nodes, even if the memory belongs to a view or is not needed.
static SrStatus bind_activations(SrPlan *plan, const SrPlanCall *call, SrOpCall *args) {
    const SrPlanNode *node = &plan->nodes[call->node];
    size_t n = (size_t)node->n_in;
    // One more than needed, so that an op without inputs or slots gets a pointer all the same.
    SrTensor *x = sr_arena_alloc(&plan->arena, (n + 1) * sizeof *x);
    float **dx = sr_arena_alloc(&plan->arena, (n + 1) * sizeof *dx);
    if (!x || !dx)
        return out_of_memory();
    for (int i = 0; i < node->n_in; i++) {
        const SrPlanNode *from = &plan->nodes[node->in[i]];
        x[i] = (SrTensor){from->shape, sr__plan_input_type(node, from),
                          sr__plan_address(plan, call->x[i])};
        dx[i] = sr__plan_address(plan, call->dx[i]);
    }
    args->n_in = node->n_in;
    args->x = x;
    args->dx = dx;
    args->dx_add = call->dx_add;
    args->y = (SrTensor){node->shape, node->dtype, sr__plan_address(plan, call->y)};
    args->dy = sr__plan_address(plan, call->dy);
    args->prepared = sr__plan_address(plan, call->prepared);
    args->sums = sr__sums_in(sr__plan_address(plan, call->sums), node->sum_units);
    if (call->x_sums != SR_NO_BUFFER)
        args->x_sums =
            sr__sums_in(sr__plan_address(plan, call->x_sums), plan->nodes[node->in[0]].sum_units);
    args->saved = sr__plan_address(plan, call->saved);
    args->scratch = sr__plan_address(plan, call->scratch);
    return SR_OK;
}

// Counts the operations of a call.  A forward call counts once.  A backward call counts once for
// each gradient that it makes, where all weights are one, and an input's gradient as often as the
// op says.
static int64_t count_flops(const SrPlan *plan, const SrPlanCall *call) {
    const SrPlanNode *node = &plan->nodes[call->node];
    SrShape x[SR_OP_MAX_IN];
    sr__plan_shapes(plan, node, x);
    int64_t forward = 0;
    if (node->op->flops && call->kind != SR_CALL_PREPARE && !sr__call_is_step(call->kind))
        forward = node->op->flops(node->params, x, node->n_in, node->shape);
    if (call->kind != SR_CALL_BACKWARD)
        return forward;
    int times = 0;
    for (int i = 0; i < node->n_in; i++)
        times += call->dx[i] != SR_NO_BUFFER ? SR_MAX(1, node->op->dx_forwards) : 0;
    return forward * (times + sr__plan_learns(plan, node));
}

static SrStatus bind_call(SrPlan *plan, SrPlanCall *call) {
    if (call->kind >= SR_CALL_ADD) // no op of the graph: add, copy, cast, zero
        return bind_sum(plan, call);
    const SrPlanNode *node = &plan->nodes[call->node];
    call->train_until = plan->mode == SR_MODE_TRAIN ? node->eval_from : INT64_MIN;
    call->args = (SrOpCall){.machine = &plan->machine,
                            .params = node->params,
                            .design = node->design,
                            .again = call->kind == SR_CALL_RECOMPUTE,
                            .seed = plan->seed,
                            .node_key = sr_hash_text(node->name)};
    call->run = call->kind == SR_CALL_BACKWARD   ? node->op->backward
                : call->kind == SR_CALL_PREPARE  ? node->op->prepare[call->pass]
                : call->kind == SR_CALL_PARTIAL  ? node->op->partial[call->pass]
                : call->kind == SR_CALL_EXCHANGE ? NULL // the plan's own
                                                 : node->op->forward;
    call->flops = count_flops(plan, call);
    SR_TRY(bind_slots(plan, node, &call->args));
    return bind_activations(plan, call, &call->args);
}

// A scalar loss starts its gradient at 1; the host may change that.
static void fill_seeds(SrPlan *plan) {
    for (int k = 0; k < plan->n_losses; k++)
        if (sr_shape_count(plan->nodes[plan->losses[k]].shape) == 1)
            *(float *)sr__plan_address(plan, plan->seeds[k]) = 1;
}

SrStatus sr__pass_bind(SrPlan *plan) {
    if (!plan->no_allocate) {
        SR_TRY(sr_gemm_reserve());
        SR_TRY(sr_params_allocate(plan->params));
        plan->memory = sr_map(plan->memory_bytes);
        if (!plan->memory)
            SR_FAIL(SR_ERR_MEMORY,
                    "out of memory: the plan needs %zu MiB for activations; use a "
                    "smaller batch",
                    plan->memory_bytes >> 20);
        fill_seeds(plan);
    }
    for (int c = 0; c < plan->n_calls; c++)
        SR_TRY(bind_call(plan, &plan->calls[c]));
    return SR_OK;
}
