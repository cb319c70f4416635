// Runs a plan: walks over the forward or backward calls, with timing or a search for NaNs on
// request.
//
// The passes have fixed order, addresses and shapes; this file decides nothing.
#include "graph/plan/plan_run.h"

#include <math.h>
#include <string.h>

#include "base/bf16.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/ranks/comm.h"
#include "graph/plan/plan_internal.h"

static SrStatus exchange(const SrPlan *plan, const SrPlanCall *call) {
    SrStatus status = sr_comm_sum_among(call->args.scratch, call->exchange.n, call->exchange.ranks);
    return status == SR_OK ? SR_OK
                           : sr_fail_prefix(status, "layer '%s': its sums over ranks",
                                            plan->nodes[call->node].name);
}

// Kernels that draw take the iteration.  Only training passes share sums with other ranks; the rest
// of the arguments never changes.
static SrStatus run_call(const SrPlan *plan, SrPlanCall *call, int64_t iteration) {
    bool train = iteration < call->train_until;
    if (!train && sr__call_is_step(call->kind))
        return SR_OK;
    if (call->kind == SR_CALL_EXCHANGE)
        return exchange(plan, call);
    call->args.iteration = iteration;
    call->args.train = train;
    call->args.exchanged = train ? call->exchange.ranks : 0;
    call->run(&call->args);
    return SR_OK;
}

static SrStatus run_range(SrPlan *plan, int first, int end) {
    SR_ASSERT(plan->memory && first >= 0 && first <= end && end <= plan->n_calls);
    for (int c = first; c < end; c++) {
        SrPlanCall *call = &plan->calls[c];
        double start = plan->profiling ? sr_clock() : 0;
        SR_TRY(run_call(plan, call, plan->iteration));
        if (plan->profiling) {
            call->seconds += sr_clock() - start;
            call->times++;
        }
    }
    return SR_OK;
}

SrStatus sr_plan_forward(SrPlan *plan, int64_t iteration) {
    if (!plan->memory) // a dry run
        return SR_OK;
    plan->iteration = iteration;
    return run_range(plan, 0, plan->n_forward);
}

// An odd constant keeps streams of replicas apart (Weyl's sequence, 2^64 over the golden ratio).
void sr_plan_set_replica(SrPlan *plan, int replica) {
    SR_ASSERT(replica >= 0);
    for (int c = 0; c < plan->n_calls && plan->memory; c++)
        plan->calls[c].args.seed = plan->seed + (uint64_t)replica * 0x9e3779b97f4a7c15u;
}

SrStatus sr_plan_backward(SrPlan *plan) {
    return plan->memory ? run_range(plan, plan->n_forward, plan->n_calls) : SR_OK;
}

SrStatus sr_plan_backward_each(SrPlan *plan, void (*after)(void *arg, int call), void *arg) {
    for (int c = plan->n_forward; c < plan->n_calls && plan->memory; c++) {
        SR_TRY(run_range(plan, c, c + 1));
        after(arg, c - plan->n_forward);
    }
    return SR_OK;
}

static bool has_slot(const SrPlanNode *node, int param) {
    for (int i = 0; i < node->n_w; i++)
        if (node->w[i] == param)
            return true;
    return false;
}

int sr_plan_gradient_done(const SrPlan *plan, int param) {
    for (int c = plan->n_calls - 1; c >= plan->n_forward; c--)
        if (plan->calls[c].kind == SR_CALL_BACKWARD &&
            has_slot(&plan->nodes[plan->calls[c].node], param))
            return c - plan->n_forward;
    return -1;
}

void sr_plan_profile(SrPlan *plan, bool on) { plan->profiling = on; }

bool sr__call_is_step(SrCallKind kind) {
    return kind == SR_CALL_PARTIAL || kind == SR_CALL_EXCHANGE;
}

const char *sr__call_kind_name(SrCallKind kind) {
    static const char *const names[] = {"forward",  "recompute", "backward", "prepare", "partial",
                                        "exchange", "add",       "copy",     "cast",    "zero"};
    return names[kind];
}

bool sr_plan_profile_at(const SrPlan *plan, int i, SrPlanTiming *out) {
    if (i < 0 || i >= plan->n_calls)
        return false;
    const SrPlanCall *call = &plan->calls[i];
    const SrPlanNode *node = &plan->nodes[call->node];
    *out = (SrPlanTiming){.name = node->name,
                          .op = node->op ? node->op->name : "input",
                          .pass = sr__call_kind_name(call->kind),
                          .dtype = node->dtype,
                          .seconds = call->seconds,
                          .calls = call->times,
                          .flops = call->flops,
                          .bytes = (int64_t)sr__call_traffic(plan, call)};
    return true;
}

static bool all_finite(SrDtype type, const void *v, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(type == SR_BF16 ? sr_bf16_float(((const SrBf16 *)v)[i])
                                      : ((const float *)v)[i]))
            return false;
    return true;
}

// Values are checked directly after the node's call, because later its buffer may be reused.
static bool is_finite(const SrPlan *plan, const SrPlanNode *node) {
    const void *data = plan->memory + plan->buffers[plan->nodes[node->root].value].offset;
    bool is_float = node->dtype == SR_F32 || node->dtype == SR_BF16;
    return !is_float || all_finite(node->dtype, data, sr_shape_count(node->shape));
}

// State: running statistics, queues and counters, which a forward pass changes next to activations.
static size_t state_bytes(const SrParam *p) {
    return p->kind == SR_SLOT_STATE && p->value
               ? (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype)
               : 0;
}

// Copies all state entries of the table into the block (out) or back.
static void move_state(SrParams *params, char *block, bool out) {
    for (int i = 0; i < sr_params_count(params); i++) {
        SrParam *p = sr_params_at(params, i);
        size_t bytes = state_bytes(p);
        if (bytes)
            memcpy(out ? block : p->value, out ? p->value : block, bytes);
        block += bytes;
    }
}

// Inputs are checked first: a NaN from the loader must not be blamed on the first convolution.
static const char *first_nonfinite(SrPlan *plan, int64_t iteration) {
    const char *found = NULL;
    for (SrNodeId id = 0; id < plan->n_nodes && !found; id++)
        if (!plan->nodes[id].op && !is_finite(plan, &plan->nodes[id]))
            found = plan->nodes[id].name;
    // The pass runs to the end even after a finding: batch norms may wait for those of other ranks.
    for (int c = 0; c < plan->n_forward; c++) {
        SrPlanCall *call = &plan->calls[c];
        bool fills = call->kind != SR_CALL_PREPARE && !sr__call_is_step(call->kind);
        if (run_call(plan, call, iteration) != SR_OK)
            break; // the ranks are apart, and the run ends by the loss alone
        if (!found && fills && !is_finite(plan, &plan->nodes[call->node]))
            found = plan->nodes[call->node].name;
    }
    return found;
}

const char *sr_plan_find_nonfinite(SrPlan *plan, int64_t iteration) {
    size_t bytes = 0;
    for (int i = 0; i < sr_params_count(plan->params); i++)
        bytes += state_bytes(sr_params_at(plan->params, i));
    char *state = plan->memory ? sr_alloc(bytes) : NULL;
    if (!state)
        return NULL;
    move_state(plan->params, state, true);
    const char *name = first_nonfinite(plan, iteration);
    move_state(plan->params, state, false);
    sr_free(state);
    return name;
}
