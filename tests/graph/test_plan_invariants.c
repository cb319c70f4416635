// Tests that a broken plan is noticed: a whole plan has no broken invariant, and every change that
// a mistake in a pass could make is named.
#include "graph/plan/plan_internal.h"

#include <string.h>

#include "tests/check.h"
#include "tests/graph/planned.h"

// Changes one place of the plan, expects the sentence, and takes the change back.
#define BREAK(plan, place, value, sentence)                                      \
    do {                                                                         \
        __typeof__(place) before_ = (place);                                     \
        (place) = (value);                                                       \
        const char *broken_ = sr__plan_broken((plan), SR_PLAN_ADDRESSES);        \
        if (!broken_ || !strstr(broken_, (sentence)))                            \
            fail_msg("%s: %s", #place, broken_ ? broken_ : "nothing is broken"); \
        (place) = before_;                                                       \
    } while (0)

static int find_call(const SrPlan *plan, SrCallKind kind) {
    for (int c = 0; c < plan->n_calls; c++)
        if (plan->calls[c].kind == kind)
            return c;
    fail_msg("the plan has no call of kind %s", sr__call_kind_name(kind));
    return -1;
}

// Returns two buffers that are alive in one call.
static void find_pair(const SrPlan *plan, int *a, int *b) {
    const SrPlanCall *call = &plan->calls[find_call(plan, SR_CALL_BACKWARD)];
    *a = call->dy;
    *b = call->dx[0] != call->dy ? call->dx[0] : call->y;
    CHECK(*a >= 0 && *b >= 0 && *a != *b);
}

TEST(test_broken_plans) {
    Planned f = planned_begin(3, 4);
    SrNodeId a = planned_add(f, &toy_affine, "a", f.x, -1),
             s = planned_add(f, &toy_swish, "s", a, -1), v = planned_add(f, &toy_view, "v", s, -1),
             m = planned_add(f, &toy_mean, "m", v, -1);
    SrPlan *plan = planned_compile(f, (SrPlanOptions){.losses = &m, .n_losses = 1});
    CHECK(!sr__plan_broken(plan, SR_PLAN_ADDRESSES));
    SrPlanNode *n = plan->nodes;
    BREAK(plan, n[a].in[0], m, "comes after it");
    BREAK(plan, n[a].live, false, "not computed");
    BREAK(plan, n[f.x].n_in, 1, "an input of the graph reads");
    BREAK(plan, n[a].n_in, SR_OP_MAX_IN + 1, "too many inputs");
    BREAK(plan, n[v].root, v, "uses the memory of another");
    BREAK(plan, n[m].root, v, "the root of a view is a view");
    BREAK(plan, n[v].shape, SR_SHAPE(5, 2), "another number of elements");
    BREAK(plan, n[v].has_backward, true, "a view has a backward call");
    BREAK(plan, n[f.x].has_backward, true, "without a gradient");
    BREAK(plan, n[v].kept, true, "instead of its root's");
    BREAK(plan, n[f.x].recompute, true, "is recomputed");
    int forward = find_call(plan, SR_CALL_FORWARD), backward = find_call(plan, SR_CALL_BACKWARD);
    SrPlanCall *call = plan->calls;
    BREAK(plan, call[forward].node, plan->n_nodes, "a call belongs to a node");
    BREAK(plan, call[forward].kind, SR_CALL_BACKWARD, "a call");
    BREAK(plan, plan->n_forward, plan->n_calls + 1, "more forward calls than calls");
    BREAK(plan, plan->n_forward, 0, "wrong side of the loss");
    BREAK(plan, call[forward].x[0], plan->n_buffers, "does not exist");
    BREAK(plan, call[forward].x[0], call[backward].dx[0], "no call has filled");
    int one, other;
    find_pair(plan, &one, &other);
    SrBuffer *b = plan->buffers;
    BREAK(plan, b[one].offset, b[other].offset, "share bytes");
    BREAK(plan, b[one].offset, b[one].offset + 1, "cache line");
    BREAK(plan, b[one].offset, plan->memory_bytes, "outside the plan's memory");
    BREAK(plan, b[one].last, b[one].first - 1, "the span of a buffer");
    BREAK(plan, call[forward].run, NULL, "has no kernel");
    BREAK(plan, call[forward].args.y.data, &one, "outside the plan's memory");
    CHECK(!sr__plan_broken(plan, SR_PLAN_ADDRESSES));
    sr_plan_free(plan);
    planned_end(f);
}

SR_TESTS(plan_invariants, unit(test_broken_plans))
