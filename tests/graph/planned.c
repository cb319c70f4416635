// Builds and compiles small graphs of toy ops, and checks a plan's memory by brute force
// (planned.h).
#include "tests/graph/planned.h"

#include "graph/plan/plan_internal.h"
#include "graph/plan/plan_run.h"
#include "tests/check.h"

Planned planned_begin(int rows, int width) {
    Planned f;
    CHECK_OK(sr_params_new(&f.params));
    CHECK_OK(sr_graph_new(f.params, &f.graph));
    CHECK_OK(sr_graph_add_input(f.graph, "x", SR_SHAPE(rows, width), SR_F32, &f.x));
    return f;
}

void planned_end(Planned f) {
    sr_graph_free(f.graph);
    sr_params_free(f.params);
}

SrNodeId planned_add_shared(Planned f, const SrOp *op, const char *name, const char *entries,
                            SrNodeId a, SrNodeId b) {
    SrNodeId in[] = {a, b}, id;
    int w[SR_OP_MAX_SLOTS];
    SrNodeSpec spec = {.op = op, .name = name, .n_in = b < 0 ? 1 : 2, .in = in, .w = w};
    if (op->slots) {
        SrSlot slots[SR_OP_MAX_SLOTS];
        SrShape shape = sr_graph_at(f.graph, a)->shape;
        spec.n_w = op->slots(NULL, &shape, 1, slots);
        for (int i = 0; i < spec.n_w; i++) {
            char full[64];
            snprintf(full, sizeof full, "%s.%s", entries, slots[i].name);
            CHECK_OK(sr_params_add(f.params, full, &slots[i], &w[i]));
        }
    }
    CHECK_OK(sr_graph_add(f.graph, &spec, &id));
    return id;
}

SrNodeId planned_add(Planned f, const SrOp *op, const char *name, SrNodeId a, SrNodeId b) {
    return planned_add_shared(f, op, name, name, a, b);
}

SrPlan *planned_compile(Planned f, SrPlanOptions options) {
    SrPlan *plan = NULL;
    if (!options.mode)
        options.mode = SR_MODE_TRAIN;
    CHECK_OK(sr_params_allocate(f.params));
    sr_params_init(f.params, 1);
    CHECK_OK(sr_plan_compile(f.graph, &options, &plan));
    return plan;
}

void planned_fill(SrPlan *plan, SrNodeId x) {
    SrTensor t = sr_plan_input(plan, x);
    toy_fill(t.data, sr_shape_count(t.shape), 0);
}

float planned_scalar(SrPlan *plan, SrNodeId id) { return *(float *)sr_plan_output(plan, id).data; }

float *planned_entry(Planned f, const char *name) {
    return sr_params_at(f.params, sr_params_find(f.params, name))->value;
}

float *planned_gradient(Planned f, const char *name) {
    return sr_params_at(f.params, sr_params_find(f.params, name))->grad;
}

void planned_check(const SrPlan *plan) {
    for (int i = 0; i < plan->n_buffers; i++) {
        const SrBuffer *a = &plan->buffers[i];
        CHECK(a->offset % 64 == 0 && a->offset + a->bytes <= plan->memory_bytes && a->first >= 0);
        for (int j = 0; j < i; j++) {
            const SrBuffer *b = &plan->buffers[j];
            bool together = a->first <= b->last && b->first <= a->last;
            CHECK(!together || a->offset + a->bytes <= b->offset ||
                  b->offset + b->bytes <= a->offset);
        }
    }
    for (int c = 0; c < plan->n_calls; c++) {
        const SrPlanCall *call = &plan->calls[c];
        for (int i = 0; i < SR_OP_MAX_IN; i++)
            CHECK(call->x[i] < 0 ||
                  (plan->buffers[call->x[i]].first <= c && c <= plan->buffers[call->x[i]].last));
    }
    CHECK(sr__plan_live_bytes(plan) <= plan->memory_bytes);
    CHECK(plan->memory_bytes <= sr_plan_cost(plan).naive_bytes + 64);
}

void planned_step(Planned f, SrPlan *plan, int64_t iteration) {
    sr_params_zero_grad(f.params);
    sr_plan_forward(plan, iteration);
    sr_plan_backward(plan);
}
