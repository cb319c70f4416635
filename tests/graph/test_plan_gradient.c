// Tests gradients of a plan: against values computed by hand, through shared parameters, views
// and several losses, and where they stop.
#include "base/mem.h"
#include "graph/plan/plan_internal.h"
#include "graph/plan/plan_run.h"
#include "tests/check.h"
#include "tests/graph/planned.h"

// loss = mean((w x + b) x): dw is the mean of x^2 over rows, and so on.
TEST(test_gradient) {
    Planned f = planned_begin(5, 2);
    SrNodeId a = planned_add(f, &toy_affine, "a", f.x, -1),
             p = planned_add(f, &toy_mul, "p", a, f.x);
    SrNodeId loss = planned_add(f, &toy_mean, "loss", p, -1);
    SrPlan *plan = planned_compile(
        f,
        (SrPlanOptions){.losses = &loss, .n_losses = 1, .input_grads = &f.x, .n_input_grads = 1});
    planned_fill(plan, f.x);
    planned_step(f, plan, 0);
    const float *x = sr_plan_input(plan, f.x).data, *w = planned_entry(f, "a.weight"),
                *b = planned_entry(f, "a.bias");
    const float *dx = sr_plan_input_grad(plan, f.x).data;
    for (int c = 0; c < 2; c++) {
        double dw = 0, db = 0;
        for (int r = 0; r < 5; r++) {
            dw += (double)x[2 * r + c] * x[2 * r + c] / 10;
            db += (double)x[2 * r + c] / 10;
            CHECK_NEAR(dx[2 * r + c], (2 * w[c] * x[2 * r + c] + b[c]) / 10, 1e-6);
        }
        CHECK_NEAR(planned_gradient(f, "a.weight")[c], dw, 1e-6);
        CHECK_NEAR(planned_gradient(f, "a.bias")[c], db, 1e-6);
    }
    // Gradients accumulate: a second forward and backward adds the same amount.
    float once = planned_gradient(f, "a.weight")[0];
    sr_plan_forward(plan, 1);
    sr_plan_backward(plan);
    CHECK_NEAR(planned_gradient(f, "a.weight")[0], 2 * once, 1e-7);
    CHECK_NEAR(*planned_entry(f, "a.count"), 2, 0);
    planned_check(plan);
    sr_plan_free(plan);
    planned_end(f);
}

TEST(test_same_input_twice) {
    const SrOp *const ops[] = {&toy_sum, &toy_mul};
    for (int k = 0; k < 2; k++) {
        Planned f = planned_begin(2, 3);
        SrNodeId a = planned_add(f, &toy_affine, "a", f.x, -1),
                 t = planned_add(f, &toy_tanh, "t", a, -1);
        SrNodeId y = planned_add(f, ops[k], "y", t, t),
                 loss = planned_add(f, &toy_mean, "loss", y, -1);
        SrPlan *plan = planned_compile(f, (SrPlanOptions){.outputs = &t,
                                                          .n_outputs = 1,
                                                          .losses = &loss,
                                                          .n_losses = 1,
                                                          .input_grads = (SrNodeId[]){t, y},
                                                          .n_input_grads = 2});
        planned_fill(plan, f.x);
        toy_poison(plan);
        planned_step(f, plan, 0);
        const float *v = sr_plan_output(plan, t).data, *dt = sr_plan_input_grad(plan, t).data;
        const float *dy = sr_plan_input_grad(plan, y).data;
        for (int i = 0; i < 6; i++) {
            CHECK_NEAR(dt[i], (k ? 2 * v[i] : 2) / 6, 1e-6);
            CHECK_NEAR(dy[i], 1.0 / 6, 1e-7); // kept, although sum could have overwritten it
        }
        planned_check(plan);
        sr_plan_free(plan);
        planned_end(f);
    }
}

TEST(test_shared_parameters) {
    Planned f = planned_begin(4, 3);
    SrNodeId a = planned_add(f, &toy_affine, "a", f.x, -1),
             t = planned_add(f, &toy_tanh, "t", a, -1);
    SrNodeId again = planned_add_shared(f, &toy_affine, "a@1", "a", t, -1),
             loss = planned_add(f, &toy_mean, "loss", again, -1);
    SrPlan *plan = planned_compile(
        f, (SrPlanOptions){
               .outputs = (SrNodeId[]){a, t}, .n_outputs = 2, .losses = &loss, .n_losses = 1});
    planned_fill(plan, f.x);
    planned_step(f, plan, 0);
    const float *x = sr_plan_input(plan, f.x).data, *v = sr_plan_output(plan, t).data,
                *w = planned_entry(f, "a.weight");
    for (int c = 0; c < 3; c++) {
        double dw = 0;
        for (int r = 0; r < 4; r++) {
            int i = 3 * r + c;
            dw += ((double)v[i] + w[c] * (1 - (double)v[i] * v[i]) * x[i]) / 12;
        }
        CHECK_NEAR(planned_gradient(f, "a.weight")[c], dw, 1e-6);
    }
    CHECK_NEAR(*planned_entry(f, "a.count"), 2, 0);
    sr_plan_free(plan);
    planned_end(f);
}

TEST(test_frozen_and_stopped) {
    Planned f = planned_begin(4, 3);
    SrNodeId a = planned_add(f, &toy_affine, "a", f.x, -1),
             s = planned_add(f, &toy_stop, "s", a, -1);
    SrNodeId b = planned_add(f, &toy_affine, "b", s, -1),
             c = planned_add(f, &toy_affine, "c", b, -1);
    SrNodeId loss = planned_add(f, &toy_mean, "loss", c, -1);
    sr_params_set_trainable(f.params, "b.*", false);
    SrNodeId wanted[] = {a, f.x};
    SrPlan *plan = planned_compile(
        f,
        (SrPlanOptions){.losses = &loss, .n_losses = 1, .input_grads = wanted, .n_input_grads = 2});
    planned_fill(plan, f.x);
    toy_poison(plan);
    planned_step(f, plan, 0);
    CHECK(planned_gradient(f, "c.weight")[0] != 0);
    CHECK(!planned_gradient(f, "b.weight"));
    CHECK_NEAR(planned_gradient(f, "a.weight")[0], 0, 0);
    for (int k = 0; k < 2; k++) // requested, but no loss depends on them: zero
        CHECK_NEAR(((float *)sr_plan_input_grad(plan, wanted[k]).data)[5], 0, 0);
    CHECK_INT(sr_plan_cost(plan).n_backward, 2 + 2); // loss and c; two fills with zero
    sr_plan_free(plan);
    planned_end(f);
}

// Losses may be no scalars, may read each other, and may be used by other nodes.
TEST(test_seeds) {
    Planned f = planned_begin(2, 2);
    SrNodeId a = planned_add(f, &toy_affine, "a", f.x, -1),
             v = planned_add(f, &toy_view, "v", a, -1);
    SrNodeId t = planned_add(f, &toy_affine, "t", v, -1),
             loss = planned_add(f, &toy_mean, "loss", t, -1);
    SrNodeId losses[] = {v, loss, v}, wanted[] = {a, v};
    SrPlan *plan = planned_compile(
        f, (SrPlanOptions){
               .losses = losses, .n_losses = 3, .input_grads = wanted, .n_input_grads = 2});
    planned_fill(plan, f.x);
    float *seed = sr_plan_seed(plan, v);
    for (int i = 0; i < 4; i++)
        seed[i] = (float)i;
    CHECK_NEAR(*sr_plan_seed(plan, loss), 1, 0);
    *sr_plan_seed(plan, loss) = 2;
    CHECK(!sr_plan_seed(plan, a));
    for (int round = 0; round < 2; round++) { // seeds survive a run
        toy_poison(plan);
        planned_step(f, plan, round);
        for (int k = 0; k < 2; k++) {
            const float *g = sr_plan_input_grad(plan, wanted[k]).data;
            for (int i = 0; i < 4; i++)
                CHECK_NEAR(g[i], (float)i + 2 * planned_entry(f, "t.weight")[0] / 4, 1e-6);
        }
    }
    planned_check(plan);
    sr_plan_free(plan);
    planned_end(f);
}

// The gradient at a view is the one that came through the view, without what other readers add to
// the shared memory.
TEST(test_view_gradient) {
    Planned f = planned_begin(2, 4);
    SrNodeId a = planned_add(f, &toy_affine, "a", f.x, -1),
             v = planned_add(f, &toy_view, "v", a, -1);
    SrNodeId p = planned_add(f, &toy_mean, "p", v, -1), q = planned_add(f, &toy_mean, "q", a, -1);
    SrNodeId loss = planned_add(f, &toy_sum, "loss", p, q), wanted[] = {v, a};
    for (int n = 0; n <= 2; n++) {
        SrPlan *plan = planned_compile(
            f, (SrPlanOptions){
                   .losses = &loss, .n_losses = 1, .input_grads = wanted, .n_input_grads = n});
        planned_fill(plan, f.x);
        planned_step(f, plan, 0);
        if (n > 0)
            CHECK_NEAR(*(float *)sr_plan_input_grad(plan, v).data, 1.0 / 8, 1e-7);
        if (n > 1)
            CHECK_NEAR(*(float *)sr_plan_input_grad(plan, a).data, 2.0 / 8, 1e-7);
        CHECK_NEAR(planned_gradient(f, "a.bias")[0], 2 * 2.0 / 8, 1e-6);
        CHECK_INT(sr_plan_cost(plan).n_backward, 5); // four ops and one sum
        planned_check(plan);
        sr_plan_free(plan);
    }
    planned_end(f);
}

TEST(test_missing_backward) {
    Planned f = planned_begin(2, 4);
    SrOp broken = toy_tanh;
    broken.backward = NULL;
    SrNodeId a = planned_add(f, &toy_affine, "a", f.x, -1), t = planned_add(f, &broken, "t", a, -1);
    SrPlanOptions options = {.mode = SR_MODE_TRAIN, .losses = &t, .n_losses = 1};
    SrPlan *plan;
    CHECK_FAILS(sr_plan_compile(f.graph, &options, &plan), SR_ERR_CONFIG,
                "t: toy_tanh has no gradient");
    planned_end(f);
}

SR_TESTS(plan_gradient, unit(test_gradient), unit(test_same_input_twice),
         unit(test_shared_parameters), unit(test_frozen_and_stopped), unit(test_seeds),
         unit(test_view_gradient), unit(test_missing_backward))
