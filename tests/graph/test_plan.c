// Tests plans of toy graphs: forward pass, modes, memory, and the cost and spans that they
// report.
#include "base/mem.h"
#include "graph/plan/plan_internal.h"
#include "graph/plan/plan_print.h"
#include "graph/plan/plan_run.h"
#include "tests/check.h"
#include "tests/graph/planned.h"

// ---- forward, dead code, outputs

TEST(test_forward) {
    Planned f = planned_begin(3, 4);
    SrNodeId a = planned_add(f, &toy_affine, "a", f.x, -1),
             t = planned_add(f, &toy_tanh, "t", a, -1);
    SrNodeId v = planned_add(f, &toy_view, "v", t, -1), m = planned_add(f, &toy_mean, "m", v, -1);
    planned_add(f, &toy_swish, "dead", t, -1);
    SrPlan *plan =
        planned_compile(f, (SrPlanOptions){.outputs = (SrNodeId[]){m, v}, .n_outputs = 2});
    planned_fill(plan, f.x);
    sr_plan_forward(plan, 0);
    ToyRun *run = toy_run_new(f.graph, SR_MODE_TRAIN);
    toy_run_input(run, f.x, sr_plan_input(plan, f.x).data);
    toy_run(run);
    CHECK_NEAR(planned_scalar(plan, m), *run->value[m], 1e-6);
    SrTensor y = sr_plan_output(plan, v);
    CHECK(sr_shape_equal(y.shape, SR_SHAPE(6, 2)));
    for (int k = 0; k < 12; k++)
        CHECK_NEAR(((float *)y.data)[k], run->value[v][k], 1e-6);
    CHECK(!sr_plan_output(plan, a).data); // not an output: another value took its memory
    SrPlanCost cost = sr_plan_cost(plan);
    CHECK_INT(cost.n_forward, 3); // neither views nor dead nodes are called
    CHECK_INT(cost.n_backward, 0);
    sr_plan_backward(plan); // a forward-only plan does nothing here
    planned_check(plan);
    toy_run_free(run);
    sr_plan_free(plan);
    planned_end(f);
}

TEST(test_impure_stays_in_train) {
    Planned f = planned_begin(3, 4);
    SrNodeId t = planned_add(f, &toy_tanh, "t", f.x, -1);
    SrNodeId s = planned_add(f, &toy_swish, "s", f.x, -1);
    planned_add(f, &toy_affine, "counts", t, -1);
    SrPlanOptions options = {.outputs = &s, .n_outputs = 1};
    SrPlan *train = planned_compile(f, options);
    CHECK_INT(sr_plan_cost(train).n_forward, 3);
    sr_plan_forward(train, 0);
    CHECK_NEAR(*planned_entry(f, "counts.count"), 1, 0);
    options.mode = SR_MODE_EVAL;
    SrPlan *eval = planned_compile(f, options);
    CHECK_INT(sr_plan_cost(eval).n_forward, 1);
    sr_plan_free(train);
    sr_plan_free(eval);
    planned_end(f);
}

TEST(test_modes) {
    Planned f = planned_begin(3, 4);
    SrNodeId t = planned_add(f, &toy_tanh, "t", f.x, -1), only;
    SrNodeSpec spec = {
        .op = &toy_swish, .name = "train", .n_in = 1, .in = &t, .mode = SR_MODE_TRAIN};
    CHECK_OK(sr_graph_add(f.graph, &spec, &only));
    SrPlan *plan;
    SrPlanOptions options = {.mode = SR_MODE_EVAL, .outputs = &only, .n_outputs = 1};
    CHECK_FAILS(sr_plan_compile(f.graph, &options, &plan), SR_ERR_CONFIG,
                "output train does not exist in eval mode");
    CHECK(!plan);
    only = 55;
    CHECK_FAILS(sr_plan_compile(f.graph, &options, &plan), SR_ERR_CONFIG, "output node 55");
    options.mode = SR_MODE_BOTH;
    CHECK_FAILS(sr_plan_compile(f.graph, &options, &plan), SR_ERR_CONFIG,
                "mode must be train or eval");
    planned_end(f);
}

// ---- memory

// A chain in which every other value can be recomputed needs less memory with recomputation.
TEST(test_recompute_saves) {
    Planned f = planned_begin(256, 256);
    SrNodeId y = f.x;
    char name[32];
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "a%d", i);
        y = planned_add(f, &toy_affine, name, y, -1);
        snprintf(name, sizeof name, "s%d", i);
        y = planned_add(f, &toy_swish, name, y, -1);
    }
    SrNodeId loss = planned_add(f, &toy_mean, "loss", y, -1);
    SrPlanOptions options = {.losses = &loss, .n_losses = 1, .no_allocate = true};
    SrPlan *less = planned_compile(f, options);
    options.keep_bytes = INT64_MAX;
    SrPlan *more = planned_compile(f, options);
    SrPlanCost a = sr_plan_cost(less), b = sr_plan_cost(more);
    CHECK_INT(a.n_recompute, 10); // not the last two: one has no reader, the other is read at once
    CHECK_INT(b.n_recompute, 0);
    CHECK(a.activation_bytes < b.activation_bytes * 65 / 100);
    CHECK(b.naive_bytes > b.activation_bytes);
    CHECK(!sr_plan_input(less, f.x).data); // a dry run has no memory
    sr_plan_forward(less, 0);
    sr_plan_free(less);
    sr_plan_free(more);
    planned_end(f);
}

// A forward-only chain needs two values at a time and one input, for any length.
TEST(test_forward_memory) {
    Planned f = planned_begin(256, 256);
    SrNodeId y = f.x;
    char name[32];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "t%d", i);
        y = planned_add(f, &toy_tanh, name, y, -1);
    }
    SrPlan *plan =
        planned_compile(f, (SrPlanOptions){.mode = SR_MODE_EVAL, .outputs = &y, .n_outputs = 1});
    CHECK_INT(sr_plan_cost(plan).activation_bytes, 3 * 256 * 256 * sizeof(float));
    CHECK_INT(sr_plan_cost(plan).naive_bytes, 21 * 256 * 256 * sizeof(float));
    sr_plan_free(plan);
    planned_end(f);
}

TEST(test_out_of_memory) {
    Planned f = planned_begin(8, 8);
    SrNodeId a = planned_add(f, &toy_affine, "a", f.x, -1),
             s = planned_add(f, &toy_swish, "s", a, -1);
    SrNodeId p = planned_add(f, &toy_mul, "p", s, a),
             loss = planned_add(f, &toy_mean, "loss", p, -1);
    CHECK_OK(sr_params_allocate(f.params));
    int64_t live = sr_mem_live();
    bool done = false;
    for (int n = 1; !done && n < 200; n++) {
        SrPlanOptions options = {.mode = SR_MODE_TRAIN, .losses = &loss, .n_losses = 1};
        SrPlan *plan;
        sr_mem_fail_at(n);
        SrStatus status = sr_plan_compile(f.graph, &options, &plan);
        sr_mem_fail_at(0);
        done = status == SR_OK;
        CHECK(done || (status == SR_ERR_MEMORY && !plan));
        sr_plan_free(plan);
        CHECK_INT(sr_mem_live(), live);
    }
    CHECK(done);
    planned_end(f);
}

// ---- looking inside

TEST(test_profile_and_print) {
    Planned f = planned_begin(8, 8);
    SrNodeId a = planned_add(f, &toy_affine, "a", f.x, -1),
             loss = planned_add(f, &toy_mean, "loss", a, -1);
    SrPlan *plan = planned_compile(f, (SrPlanOptions){.losses = &loss, .n_losses = 1});
    planned_fill(plan, f.x);
    planned_step(f, plan, 0);
    sr_plan_profile(plan, true);
    planned_step(f, plan, 0);
    planned_step(f, plan, 0);
    SrPlanTiming t;
    CHECK(sr_plan_profile_at(plan, 3, &t));
    CHECK_STR(t.name, "a");
    CHECK_STR(t.op, "toy_affine");
    CHECK_STR(t.pass, "backward");
    CHECK_INT(t.calls, 2);
    CHECK(t.seconds >= 0 && t.seconds < 1);
    CHECK(t.bytes >= 2 * 8 * 8 * (int64_t)sizeof(float)); // at least x and dy
    CHECK(!sr_plan_profile_at(plan, 4, &t));
    SrText text = SR_TEXT_INIT;
    CHECK_OK(sr_plan_print(plan, &text));
    CHECK(strstr(text.s, "backward   toy_affine      [8, 8]") &&
          strstr(text.s, "2 forward, 2 backward, 0 recomputed"));
    sr_text_deinit(&text);
    sr_plan_free(plan);
    planned_end(f);
}

TEST(test_find_nonfinite) {
    Planned f = planned_begin(8, 8);
    SrNodeId t = planned_add(f, &toy_tanh, "t", f.x, -1),
             a = planned_add(f, &toy_affine, "a", t, -1);
    SrNodeId b = planned_add(f, &toy_affine, "b", a, -1),
             loss = planned_add(f, &toy_mean, "loss", b, -1);
    SrPlan *plan = planned_compile(f, (SrPlanOptions){.losses = &loss, .n_losses = 1});
    planned_fill(plan, f.x);
    sr_plan_forward(plan, 0);
    CHECK(!sr_plan_find_nonfinite(plan, 0));
    planned_entry(f, "a.bias")[7] = INFINITY;
    CHECK_STR(sr_plan_find_nonfinite(plan, 0), "a");
    CHECK_NEAR(*planned_entry(f, "a.count"), 1, 0); // the state was restored
    ((float *)sr_plan_input(plan, f.x).data)[3] = NAN;
    CHECK_STR(sr_plan_find_nonfinite(plan, 0), "x");
    sr_plan_free(plan);
    planned_end(f);
}

SR_TESTS(plan, unit(test_forward), unit(test_impure_stays_in_train), unit(test_modes),
         unit(test_recompute_saves), unit(test_forward_memory), unit(test_out_of_memory),
         unit(test_profile_and_print), unit(test_find_nonfinite))
