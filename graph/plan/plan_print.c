// Prints a plan as a table: a line per kernel call with its name, op, shapes and the place of its
// output.
#include "graph/plan/plan_print.h"

#include "graph/plan/plan_internal.h"

// Returns the main buffer that a call writes: its output, or the first gradient.
static int main_buffer(const SrPlanCall *call) {
    if (call->kind == SR_CALL_PREPARE)
        return call->prepared;
    if (call->kind != SR_CALL_BACKWARD)
        return call->y;
    for (int i = 0; i < SR_OP_MAX_IN; i++)
        if (call->dx[i] != SR_NO_BUFFER)
            return call->dx[i];
    return SR_NO_BUFFER;
}

// Column "alive": the call after which the bytes are free again.
static void print_call(const SrPlan *plan, int c, SrText *out) {
    const SrPlanCall *call = &plan->calls[c];
    const SrPlanNode *node = &plan->nodes[call->node];
    char shape[SR_SHAPE_TEXT_BYTES];
    sr_text_printf(out, "%5d  %-9s  %-14s  %-18s", c, sr__call_kind_name(call->kind),
                   node->op ? node->op->name : "input",
                   sr_shape_text(node->shape, shape, sizeof shape));
    int buffer = main_buffer(call);
    if (buffer == SR_NO_BUFFER) {
        sr_text_printf(out, "  %-29s  %s\n", "-", node->name);
        return;
    }
    const SrBuffer *b = &plan->buffers[buffer];
    sr_text_printf(out, "  %11zu +%-11zu to %-4d  %s%s\n", b->offset, b->bytes, b->last, node->name,
                   call->dx_add ? " (adds)" : "");
}

SrStatus sr_plan_print(const SrPlan *plan, SrText *out) {
    sr_text_printf(out, "%5s  %-9s  %-14s  %-18s  %11s %-12s %-7s  %s\n", "call", "pass", "op",
                   "shape", "offset", "+bytes", "alive", "node");
    for (int c = 0; c < plan->n_calls; c++)
        print_call(plan, c, out);
    SrPlanCost cost = sr_plan_cost(plan);
    sr_text_printf(out, "%d forward, %d backward, %d recomputed; %.1f + %.1f GFLOP\n",
                   cost.n_forward, cost.n_backward, cost.n_recompute,
                   1e-9 * (double)cost.forward_flops, 1e-9 * (double)cost.backward_flops);
    sr_text_printf(out,
                   "%.1f MiB of activations (%.1f MiB alive at once at most, %.1f MiB without "
                   "sharing)\n",
                   (double)cost.activation_bytes / 0x1p20,
                   (double)sr__plan_live_bytes(plan) / 0x1p20, (double)cost.naive_bytes / 0x1p20);
    return out->failed ? sr_out_of_memory("printing a plan") : SR_OK;
}
