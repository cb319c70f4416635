// Compiles and frees plans, gives callers their inputs and outputs, and counts the cost.
// plan_run.c runs plans.
#include "graph/plan/plan.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "graph/ir/block_op.h"
#include "graph/plan/plan_internal.h"

void sr__plan_shapes(const SrPlan *plan, const SrPlanNode *node, SrShape *x) {
    for (int i = 0; i < node->n_in; i++)
        x[i] = plan->nodes[node->in[i]].shape;
}

SrOpSite sr__plan_site(const SrPlan *plan, const SrPlanNode *node, SrShape *x) {
    sr__plan_shapes(plan, node, x);
    return (SrOpSite){.machine = &plan->machine,
                      .params = node->params,
                      .x = x,
                      .n_in = node->n_in,
                      .type = node->dtype,
                      .design = node->design};
}

void *sr__plan_address(const SrPlan *plan, int buffer) {
    bool there = buffer != SR_NO_BUFFER && plan->memory;
    return there ? plan->memory + plan->buffers[buffer].offset : NULL;
}

// Copies the nodes, so that passes may change them; names and params structs stay the graph's.
static void load_node(SrPlanNode *to, const SrNode *from, SrMode mode) {
    *to = (SrPlanNode){.op = from->op,
                       .name = from->name,
                       .params = from->params,
                       .n_in = from->n_in,
                       .n_w = from->n_w,
                       .shape = from->shape,
                       .dtype = from->dtype,
                       .eval_from = from->eval_from,
                       .optional = from->optional,
                       .live = (from->mode & mode) != 0};
    to->value = to->again = to->grad = to->sums = to->saved = SR_NO_BUFFER;
    memcpy(to->in, from->in, sizeof to->in);
    memcpy(to->w, from->w, sizeof to->w);
}

// Until the dead-code pass, live means that the node exists in this mode.
static SrStatus check_id(const SrPlan *plan, SrNodeId id, const char *what) {
    if (id < 0 || id >= plan->n_nodes)
        SR_FAIL(SR_ERR_CONFIG, "plan: %s node %d does not exist", what, id);
    if (!plan->nodes[id].live)
        SR_FAIL(SR_ERR_CONFIG, "plan: %s %s does not exist in %s mode", what, plan->nodes[id].name,
                plan->mode == SR_MODE_TRAIN ? "train" : "eval");
    return SR_OK;
}

// A loss named twice is one loss.  Losses can be read like outputs.
static SrStatus load_losses(SrPlan *plan, const SrPlanOptions *options) {
    for (int i = 0; i < options->n_losses; i++) {
        SrNodeId id = options->losses[i];
        SR_TRY(check_id(plan, id, "loss"));
        bool again = false;
        for (int k = 0; k < plan->n_losses; k++)
            again |= plan->losses[k] == id;
        if (!again)
            plan->losses[plan->n_losses++] = id;
        plan->nodes[id].is_output = true;
    }
    for (int i = 0; i < options->n_input_grads; i++) {
        SR_TRY(check_id(plan, options->input_grads[i], "input gradient"));
        plan->nodes[options->input_grads[i]].is_grad_out = true;
    }
    return SR_OK;
}

static SrStatus load(SrPlan *plan, const SrGraph *graph, const SrPlanOptions *options) {
    plan->params = sr_graph_params(graph);
    plan->mode = options->mode;
    plan->machine = options->machine ? *options->machine : *sr_machine_default();
    plan->seed = options->seed;
    plan->no_fuse = options->no_fuse;
    plan->keep_bytes = options->keep_bytes;
    plan->splits = options->splits;
    plan->bf16 = options->bf16;
    plan->no_allocate = options->no_allocate;
    if (plan->mode != SR_MODE_TRAIN && plan->mode != SR_MODE_EVAL)
        SR_FAIL(SR_ERR_CONFIG, "plan: the mode must be train or eval");
    plan->n_nodes = sr_graph_count(graph);
    plan->nodes = sr_calloc((size_t)plan->n_nodes + 1, sizeof *plan->nodes);
    size_t n = (size_t)options->n_losses + 1; // an empty list is still a pointer
    plan->losses = sr_arena_alloc(&plan->arena, n * sizeof *plan->losses);
    plan->seeds = sr_arena_alloc(&plan->arena, n * sizeof *plan->seeds);
    SR_TRY_MEMORY(plan->nodes && plan->losses && plan->seeds, "a plan of %d nodes", plan->n_nodes);
    for (SrNodeId id = 0; id < plan->n_nodes; id++) {
        if (sr_graph_at(graph, id)->op == &sr__op_block)
            SR_FAIL(SR_ERR_CONFIG, "plan: %s is a closed block; inline it first",
                    sr_graph_at(graph, id)->name);
        load_node(&plan->nodes[id], sr_graph_at(graph, id), plan->mode);
    }
    for (int i = 0; i < options->n_outputs; i++) {
        SR_TRY(check_id(plan, options->outputs[i], "output"));
        plan->nodes[options->outputs[i]].is_output = true;
    }
    return load_losses(plan, options);
}

// The order is explained in plan_internal.h.
static SrStatus run_passes(SrPlan *plan) {
    SR_TRY(sr__pass_dce(plan));
    SR_TRY(sr__plan_check_fused(plan));
    if (!plan->no_fuse) {
        SR_TRY(sr__pass_fuse_gates(plan));
        SR_TRY(sr__pass_fuse(plan));
        SR_TRY(sr__pass_fuse_depthwise(plan));
    }
    SR_ASSERT(!sr__plan_broken(plan, SR_PLAN_NODES));
    SR_TRY(sr__pass_alias(plan));
    SR_ASSERT(!sr__plan_broken(plan, SR_PLAN_ROOTS));
    SR_TRY(sr__pass_precision(plan));
    SR_TRY(sr__pass_design(plan));
    SR_TRY(sr__pass_gradient(plan));
    SR_TRY(sr__pass_recompute(plan));
    SR_ASSERT(!sr__plan_broken(plan, SR_PLAN_GRADIENTS));
    SR_TRY(sr__pass_schedule(plan));
    SR_ASSERT(!sr__plan_broken(plan, SR_PLAN_CALLS));
    SR_TRY(sr__pass_place(plan));
    SR_ASSERT(!sr__plan_broken(plan, SR_PLAN_PLACES));
    SR_TRY(sr__pass_bind(plan));
    SR_ASSERT(!sr__plan_broken(plan, SR_PLAN_ADDRESSES));
    return SR_OK;
}

SrStatus sr_plan_compile(const SrGraph *graph, const SrPlanOptions *options, SrPlan **out) {
    *out = NULL;
    SrPlan *plan = sr_calloc(1, sizeof *plan);
    SR_TRY_MEMORY(plan, "a plan");
    SrStatus status;
    SR_TRY_GOTO(sr_graph_check(graph)); // cheap compared with one step, and passes rely on it
    SR_TRY_GOTO(load(plan, graph, options));
    SR_TRY_GOTO(run_passes(plan));
    *out = plan;
done:
    if (status != SR_OK)
        sr_plan_free(plan);
    return status;
}

void sr_plan_free(SrPlan *plan) {
    if (!plan)
        return;
    if (plan->memory)
        sr_unmap(plan->memory, plan->memory_bytes);
    sr_arena_deinit(&plan->arena);
    sr_free(plan->nodes);
    sr_free(plan->buffers);
    sr_free(plan->calls);
    sr_free(plan);
}

SrTensor sr_plan_input(SrPlan *plan, SrNodeId input) { return sr_plan_output(plan, input); }

SrTensor sr_plan_output(SrPlan *plan, SrNodeId output) {
    const SrPlanNode *node = &plan->nodes[output], *root = &plan->nodes[node->root];
    bool stays = !root->op || root->is_output; // other buffers are reused
    return (SrTensor){node->shape, node->dtype, stays ? sr__plan_address(plan, root->value) : NULL};
}

float *sr_plan_seed(SrPlan *plan, SrNodeId loss) {
    SR_ASSERT(loss >= 0 && loss < plan->n_nodes);
    for (int k = 0; k < plan->n_losses; k++)
        if (plan->losses[k] == loss)
            return sr__plan_address(plan, plan->seeds[k]);
    return NULL;
}

SrTensor sr_plan_input_grad(SrPlan *plan, SrNodeId id) {
    SR_ASSERT(id >= 0 && id < plan->n_nodes);
    const SrPlanNode *node = &plan->nodes[id];
    int grad = node->is_grad_out ? plan->nodes[node->grad_root].grad : SR_NO_BUFFER;
    return (SrTensor){node->shape, SR_F32, sr__plan_address(plan, grad)};
}

const SrMachine *sr_plan_machine(const SrPlan *plan) { return &plan->machine; }

// The naive plan has no recomputed copies, and no gradient takes over another's buffer.
static size_t naive_bytes(const SrPlan *plan) {
    size_t bytes = plan->shared_bytes;
    for (int i = 0; i < plan->n_buffers; i++)
        bytes += plan->buffers[i].bytes;
    for (SrNodeId id = 0; id < plan->n_nodes; id++)
        if (plan->nodes[id].again != SR_NO_BUFFER)
            bytes -= plan->buffers[plan->nodes[id].again].bytes;
    return bytes;
}

SrPlanCost sr_plan_cost(const SrPlan *plan) {
    SrPlanCost cost = {.activation_bytes = plan->memory_bytes, .naive_bytes = naive_bytes(plan)};
    for (int c = 0; c < plan->n_calls; c++) {
        const SrPlanCall *call = &plan->calls[c];
        if (sr__call_is_step(call->kind))
            continue;
        bool recompute = call->kind == SR_CALL_RECOMPUTE, prepare = call->kind == SR_CALL_PREPARE;
        cost.n_recompute += recompute;
        cost.n_prepare += prepare;
        cost.n_forward += c < plan->n_forward && !prepare;
        cost.n_backward += c >= plan->n_forward && !recompute && !prepare;
        *(c < plan->n_forward ? &cost.forward_flops : &cost.backward_flops) += call->flops;
    }
    return cost;
}
