// Tests random graphs: gradients against finite differences, with and without recomputation, on
// memory that starts as NaN.
#include "base/mem.h"
#include "graph/plan/plan_internal.h"
#include "tests/check.h"
#include "tests/graph/planned.h"

static uint32_t next(uint32_t *s) { return (*s = *s * 1664525u + 1013904223u) >> 8; }

static SrNodeId random_node(Planned f, uint32_t *s) {
    static const SrOp *const unary[] = {&toy_tanh, &toy_swish, &toy_affine, &toy_view,
                                        &toy_tanh, &toy_swish, &toy_affine, &toy_stop};
    static const SrOp *const binary[] = {&toy_mul, &toy_sum};
    char name[32];
    int count = sr_graph_count(f.graph);
    snprintf(name, sizeof name, "n%d", count);
    SrNodeId a = (SrNodeId)(next(s) % (uint32_t)count);
    if (next(s) % 3)
        a = count - 1; // mostly deep
    SrNodeId b = (SrNodeId)(next(s) % (uint32_t)count);
    SrShape shape = sr_graph_at(f.graph, a)->shape;
    if (next(s) % 2 && sr_shape_equal(shape, sr_graph_at(f.graph, b)->shape))
        return planned_add(f, binary[next(s) % 2], name, a, b);
    const SrOp *op = unary[next(s) % 8];
    if (op == &toy_affine && next(s) % 3 == 0) { // shares the weights of another node of this width
        char entries[32];
        snprintf(entries, sizeof entries, "shared%d", sr_shape_last(shape));
        return planned_add_shared(f, op, name, entries, a, -1);
    }
    return planned_add(f, op, name, a, -1);
}

static double loss_at(Planned f, ToyRun *base, double *const *d, const double *dx, double eps,
                      SrNodeId loss) {
    ToyRun *run = toy_run_new(f.graph, SR_MODE_TRAIN);
    for (int i = 0; i < sr_params_count(f.params); i++)
        for (int64_t k = 0; d[i] && k < sr_shape_count(sr_params_at(f.params, i)->shape); k++)
            run->param[i][k] += eps * d[i][k];
    for (int64_t k = 0; k < sr_shape_count(sr_graph_at(f.graph, f.x)->shape); k++)
        run->value[f.x][k] = base->value[f.x][k] + eps * dx[k];
    toy_run(run);
    double value = *run->value[loss];
    toy_run_free(run);
    return value;
}

// <gradient, d> agrees with the central difference along one random direction d of parameters and
// input.
static void check_direction(Planned f, SrPlan *plan, SrNodeId loss) {
    int n = sr_params_count(f.params);
    int64_t n_x = sr_shape_count(sr_graph_at(f.graph, f.x)->shape);
    ToyRun *base = toy_run_new(f.graph, SR_MODE_TRAIN);
    toy_run_input(base, f.x, sr_plan_input(plan, f.x).data);
    toy_run(base);
    CHECK_NEAR(planned_scalar(plan, loss), *base->value[loss],
               1e-5 * (1 + fabs(*base->value[loss])));
    double **d = sr_calloc((size_t)n + 1, sizeof *d), dot = 0, size = 0;
    uint32_t s = 5;
    for (int i = 0; i < n; i++) {
        const SrParam *p = sr_params_at(f.params, i);
        int64_t count = sr_shape_count(p->shape);
        d[i] = p->grad ? sr_calloc((size_t)count, sizeof(double)) : NULL;
        for (int64_t k = 0; d[i] && k < count; k++) {
            d[i][k] = (double)(next(&s) % 1000) / 500 - 1;
            dot += d[i][k] * (double)p->grad[k];
            size += fabs(d[i][k] * (double)p->grad[k]);
        }
    }
    double *dx = sr_calloc((size_t)n_x, sizeof *dx);
    const float *gx = sr_plan_input_grad(plan, f.x).data;
    for (int64_t k = 0; k < n_x; k++) {
        dx[k] = (double)(next(&s) % 1000) / 500 - 1;
        dot += dx[k] * (double)gx[k];
        size += fabs(dx[k] * (double)gx[k]);
    }
    double eps = 1e-5;
    double slope =
        (loss_at(f, base, d, dx, eps, loss) - loss_at(f, base, d, dx, -eps, loss)) / (2 * eps);
    CHECK_NEAR(dot, slope, 2e-4 * size + 1e-7);
    for (int i = 0; i < n; i++)
        sr_free(d[i]);
    sr_free(d);
    sr_free(dx);
    toy_run_free(base);
}

static void copy_gradients(Planned f, float *out) {
    for (int i = 0; i < sr_params_count(f.params); i++) {
        const SrParam *p = sr_params_at(f.params, i);
        size_t count = (size_t)sr_shape_count(p->shape);
        if (p->grad)
            memcpy(out + p->grad_offset, p->grad, count * sizeof(float));
    }
}

// Checks the graph of seed s. Nodes that stop gradients cannot be compared with differences; half
// of the graphs have none.
static void one_random_graph(uint32_t s, int rows, int width, int nodes, int *recomputed) {
    Planned f = planned_begin(rows, width);
    for (int i = 0; i < nodes; i++)
        random_node(f, &s);
    bool stops = false;
    for (SrNodeId id = 0; id < sr_graph_count(f.graph); id++)
        stops |= sr_graph_at(f.graph, id)->op == &toy_stop;
    SrNodeId t = planned_add(f, &toy_tanh, "last", sr_graph_count(f.graph) - 1, -1),
             loss = planned_add(f, &toy_mean, "loss", t, -1);
    SrPlanOptions options = {
        .losses = &loss, .n_losses = 1, .input_grads = &f.x, .n_input_grads = 1};
    size_t grad_floats =
        (size_t)(sr_params_numbers(f.params, true) + 16 * sr_params_count(f.params)) + 1;
    float *grads[2] = {sr_calloc(grad_floats, sizeof(float)),
                       sr_calloc(grad_floats, sizeof(float))};
    size_t bytes[2];
    for (int k = 0; k < 2; k++) {
        options.keep_bytes = k == 0 ? INT64_MAX : 0;
        SrPlan *plan = planned_compile(f, options);
        planned_check(plan);
        planned_fill(plan, f.x);
        toy_poison(plan);
        int64_t calls = sr_mem_calls();
        planned_step(f, plan, 0);
        CHECK_INT(sr_mem_calls(), calls);
        copy_gradients(f, grads[k]);
        bytes[k] = sr_plan_cost(plan).activation_bytes;
        *recomputed += sr_plan_cost(plan).n_recompute;
        if (k == 0 && !stops)
            check_direction(f, plan, loss);
        sr_plan_free(plan);
    }
    CHECK(memcmp(grads[0], grads[1], grad_floats * sizeof(float)) == 0);
    CHECK(bytes[1] <= bytes[0] + bytes[0] / 4); // greedy placement may lose a little
    sr_free(grads[0]);
    sr_free(grads[1]);
    planned_end(f);
}

TEST(test_random_graphs) {
    int recomputed = 0;
    for (uint32_t s = 1; s <= 60; s++)
        one_random_graph(s, 4, 8, 4 + (int)s % 24, &recomputed);
    CHECK_INT(recomputed, 0); // the graph is too small to be recomputed
    for (uint32_t s = 1; s <= 12; s++)
        one_random_graph(s, 128, 128, 20, &recomputed);
    CHECK_INT(recomputed, 12);
}

SR_TESTS(plan_random, unit(test_random_graphs))
