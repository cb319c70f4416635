#include "base/mem.h"
#include "graph/plan.h"
#include "graph/plan_internal.h"
#include "tests/check.h"
#include "tests/graph/toy.h"

typedef struct {
    SrParams *params;
    SrGraph *graph;
    SrNodeId x; // (rows, width)
} Fixture;

static Fixture begin(int rows, int width) {
    Fixture f;
    CHECK_OK(sr_params_new(&f.params));
    CHECK_OK(sr_graph_new(f.params, &f.graph));
    CHECK_OK(sr_graph_add_input(f.graph, "x", SR_SHAPE(rows, width), SR_F32, &f.x));
    return f;
}

static void end(Fixture f) {
    sr_graph_free(f.graph);
    sr_params_free(f.params);
}

// Two inputs, or one if b is SR_NO_NODE; slots named after `entries`.
static SrNodeId add_shared(Fixture f, const SrOp *op, const char *name, const char *entries,
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

static SrNodeId add(Fixture f, const SrOp *op, const char *name, SrNodeId a, SrNodeId b) {
    return add_shared(f, op, name, name, a, b);
}

static SrPlan *compile(Fixture f, SrPlanOptions options) {
    SrPlan *plan = NULL;
    if (!options.mode)
        options.mode = SR_MODE_TRAIN;
    CHECK_OK(sr_params_allocate(f.params));
    sr_params_init(f.params, 1);
    CHECK_OK(sr_plan_compile(f.graph, &options, &plan));
    return plan;
}

static void fill_input(SrPlan *plan, SrNodeId x) {
    SrTensor t = sr_plan_input(plan, x);
    toy_fill(t.data, sr_shape_count(t.shape), 0);
}

static float scalar(SrPlan *plan, SrNodeId id) { return *(float *)sr_plan_output(plan, id).data; }

static float *entry(Fixture f, const char *name) {
    return sr_params_at(f.params, sr_params_find(f.params, name))->value;
}

static float *gradient(Fixture f, const char *name) {
    return sr_params_at(f.params, sr_params_find(f.params, name))->grad;
}

// ---- properties of any plan

// Nothing shares an address while both live, by brute force over the printed spans and the calls themselves.
static void check_placement(const SrPlan *plan) {
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

static void step(Fixture f, SrPlan *plan, int64_t iteration) {
    sr_params_zero_grad(f.params);
    sr_plan_forward(plan, iteration);
    sr_plan_backward(plan);
}

// ---- forward, dead code, outputs

static void test_forward(void **state) {
    (void)state;
    Fixture f = begin(3, 4);
    SrNodeId a = add(f, &toy_affine, "a", f.x, -1), t = add(f, &toy_tanh, "t", a, -1);
    SrNodeId v = add(f, &toy_view, "v", t, -1), m = add(f, &toy_mean, "m", v, -1);
    add(f, &toy_swish, "dead", t, -1);
    SrPlan *plan = compile(f, (SrPlanOptions){.outputs = (SrNodeId[]){m, v}, .n_outputs = 2});
    fill_input(plan, f.x);
    sr_plan_forward(plan, 0);
    ToyRun *run = toy_run_new(f.graph, SR_MODE_TRAIN);
    toy_run_input(run, f.x, sr_plan_input(plan, f.x).data);
    toy_run(run);
    CHECK_NEAR(scalar(plan, m), *run->value[m], 1e-6);
    SrTensor y = sr_plan_output(plan, v);
    CHECK(sr_shape_equal(y.shape, SR_SHAPE(6, 2)));
    for (int k = 0; k < 12; k++)
        CHECK_NEAR(((float *)y.data)[k], run->value[v][k], 1e-6);
    CHECK(!sr_plan_output(plan, a).data); // not asked for: its memory holds something else
    SrPlanCost cost = sr_plan_cost(plan);
    CHECK_INT(cost.n_forward, 3); // no view, no dead node
    CHECK_INT(cost.n_backward, 0);
    sr_plan_backward(plan); // a forward-only plan has none
    check_placement(plan);
    toy_run_free(run);
    sr_plan_free(plan);
    end(f);
}

static void test_impure_stays_in_train(void **state) {
    (void)state;
    Fixture f = begin(3, 4);
    SrNodeId t = add(f, &toy_tanh, "t", f.x, -1);
    SrNodeId s = add(f, &toy_swish, "s", f.x, -1);
    add(f, &toy_affine, "counts", t, -1);
    SrPlanOptions options = {.outputs = &s, .n_outputs = 1};
    SrPlan *train = compile(f, options);
    CHECK_INT(sr_plan_cost(train).n_forward, 3);
    sr_plan_forward(train, 0);
    CHECK_NEAR(*entry(f, "counts.count"), 1, 0);
    options.mode = SR_MODE_EVAL;
    SrPlan *eval = compile(f, options);
    CHECK_INT(sr_plan_cost(eval).n_forward, 1);
    sr_plan_free(train);
    sr_plan_free(eval);
    end(f);
}

static void test_modes(void **state) {
    (void)state;
    Fixture f = begin(3, 4);
    SrNodeId t = add(f, &toy_tanh, "t", f.x, -1), only;
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
    end(f);
}

// ---- gradients by hand

// loss = mean((w x + b) x): dw = mean over rows of x^2, and so on.
static void test_gradient(void **state) {
    (void)state;
    Fixture f = begin(5, 2);
    SrNodeId a = add(f, &toy_affine, "a", f.x, -1), p = add(f, &toy_mul, "p", a, f.x);
    SrNodeId loss = add(f, &toy_mean, "loss", p, -1);
    SrPlan *plan = compile(
        f,
        (SrPlanOptions){.losses = &loss, .n_losses = 1, .input_grads = &f.x, .n_input_grads = 1});
    fill_input(plan, f.x);
    step(f, plan, 0);
    const float *x = sr_plan_input(plan, f.x).data, *w = entry(f, "a.weight"),
                *b = entry(f, "a.bias");
    const float *dx = sr_plan_input_grad(plan, f.x).data;
    for (int c = 0; c < 2; c++) {
        double dw = 0, db = 0;
        for (int r = 0; r < 5; r++) {
            dw += (double)x[2 * r + c] * x[2 * r + c] / 10;
            db += (double)x[2 * r + c] / 10;
            CHECK_NEAR(dx[2 * r + c], (2 * w[c] * x[2 * r + c] + b[c]) / 10, 1e-6);
        }
        CHECK_NEAR(gradient(f, "a.weight")[c], dw, 1e-6);
        CHECK_NEAR(gradient(f, "a.bias")[c], db, 1e-6);
    }
    // Accumulation: a second forward and backward adds the same again.
    float once = gradient(f, "a.weight")[0];
    sr_plan_forward(plan, 1);
    sr_plan_backward(plan);
    CHECK_NEAR(gradient(f, "a.weight")[0], 2 * once, 1e-7);
    CHECK_NEAR(*entry(f, "a.count"), 2, 0);
    check_placement(plan);
    sr_plan_free(plan);
    end(f);
}

static void test_same_input_twice(void **state) {
    (void)state;
    const SrOp *const ops[] = {&toy_sum, &toy_mul};
    for (int k = 0; k < 2; k++) {
        Fixture f = begin(2, 3);
        SrNodeId a = add(f, &toy_affine, "a", f.x, -1), t = add(f, &toy_tanh, "t", a, -1);
        SrNodeId y = add(f, ops[k], "y", t, t), loss = add(f, &toy_mean, "loss", y, -1);
        SrPlan *plan = compile(f, (SrPlanOptions){.outputs = &t,
                                                  .n_outputs = 1,
                                                  .losses = &loss,
                                                  .n_losses = 1,
                                                  .input_grads = (SrNodeId[]){t, y},
                                                  .n_input_grads = 2});
        fill_input(plan, f.x);
        toy_poison(plan);
        step(f, plan, 0);
        const float *v = sr_plan_output(plan, t).data, *dt = sr_plan_input_grad(plan, t).data;
        const float *dy = sr_plan_input_grad(plan, y).data;
        for (int i = 0; i < 6; i++) {
            CHECK_NEAR(dt[i], (k ? 2 * v[i] : 2) / 6, 1e-6);
            CHECK_NEAR(dy[i], 1.0 / 6, 1e-7); // kept although sum could have written over it
        }
        check_placement(plan);
        sr_plan_free(plan);
        end(f);
    }
}

static void test_shared_parameters(void **state) {
    (void)state;
    Fixture f = begin(4, 3);
    SrNodeId a = add(f, &toy_affine, "a", f.x, -1), t = add(f, &toy_tanh, "t", a, -1);
    SrNodeId again = add_shared(f, &toy_affine, "a@1", "a", t, -1),
             loss = add(f, &toy_mean, "loss", again, -1);
    SrPlan *plan = compile(
        f, (SrPlanOptions){
               .outputs = (SrNodeId[]){a, t}, .n_outputs = 2, .losses = &loss, .n_losses = 1});
    fill_input(plan, f.x);
    step(f, plan, 0);
    const float *x = sr_plan_input(plan, f.x).data, *v = sr_plan_output(plan, t).data,
                *w = entry(f, "a.weight");
    for (int c = 0; c < 3; c++) {
        double dw = 0;
        for (int r = 0; r < 4; r++) {
            int i = 3 * r + c;
            dw += ((double)v[i] + w[c] * (1 - (double)v[i] * v[i]) * x[i]) / 12;
        }
        CHECK_NEAR(gradient(f, "a.weight")[c], dw, 1e-6);
    }
    CHECK_NEAR(*entry(f, "a.count"), 2, 0);
    sr_plan_free(plan);
    end(f);
}

static void test_frozen_and_stopped(void **state) {
    (void)state;
    Fixture f = begin(4, 3);
    SrNodeId a = add(f, &toy_affine, "a", f.x, -1), s = add(f, &toy_stop, "s", a, -1);
    SrNodeId b = add(f, &toy_affine, "b", s, -1), c = add(f, &toy_affine, "c", b, -1);
    SrNodeId loss = add(f, &toy_mean, "loss", c, -1);
    sr_params_set_trainable(f.params, "b.*", false);
    SrNodeId wanted[] = {a, f.x};
    SrPlan *plan = compile(
        f,
        (SrPlanOptions){.losses = &loss, .n_losses = 1, .input_grads = wanted, .n_input_grads = 2});
    fill_input(plan, f.x);
    toy_poison(plan);
    step(f, plan, 0);
    CHECK(gradient(f, "c.weight")[0] != 0);
    CHECK(!gradient(f, "b.weight"));
    CHECK_NEAR(gradient(f, "a.weight")[0], 0, 0);
    for (int k = 0; k < 2; k++) // asked for, but nothing reaches them: zero
        CHECK_NEAR(((float *)sr_plan_input_grad(plan, wanted[k]).data)[5], 0, 0);
    CHECK_INT(sr_plan_cost(plan).n_backward, 2 + 2); // loss and c; two zeros
    sr_plan_free(plan);
    end(f);
}

// Losses that are not scalars, that read each other, and whose values are used elsewhere.
static void test_seeds(void **state) {
    (void)state;
    Fixture f = begin(2, 2);
    SrNodeId a = add(f, &toy_affine, "a", f.x, -1), v = add(f, &toy_view, "v", a, -1);
    SrNodeId t = add(f, &toy_affine, "t", v, -1), loss = add(f, &toy_mean, "loss", t, -1);
    SrNodeId losses[] = {v, loss, v}, wanted[] = {a, v};
    SrPlan *plan =
        compile(f, (SrPlanOptions){
                       .losses = losses, .n_losses = 3, .input_grads = wanted, .n_input_grads = 2});
    fill_input(plan, f.x);
    float *seed = sr_plan_seed(plan, v);
    for (int i = 0; i < 4; i++)
        seed[i] = (float)i;
    CHECK_NEAR(*sr_plan_seed(plan, loss), 1, 0);
    *sr_plan_seed(plan, loss) = 2;
    CHECK(!sr_plan_seed(plan, a));
    for (int round = 0; round < 2; round++) { // seeds survive a run
        toy_poison(plan);
        step(f, plan, round);
        for (int k = 0; k < 2; k++) {
            const float *g = sr_plan_input_grad(plan, wanted[k]).data;
            for (int i = 0; i < 4; i++)
                CHECK_NEAR(g[i], (float)i + 2 * entry(f, "t.weight")[0] / 4, 1e-6);
        }
    }
    check_placement(plan);
    sr_plan_free(plan);
    end(f);
}

// The gradient at a view is what came through the view, not what its memory collects.
static void test_view_gradient(void **state) {
    (void)state;
    Fixture f = begin(2, 4);
    SrNodeId a = add(f, &toy_affine, "a", f.x, -1), v = add(f, &toy_view, "v", a, -1);
    SrNodeId p = add(f, &toy_mean, "p", v, -1), q = add(f, &toy_mean, "q", a, -1);
    SrNodeId loss = add(f, &toy_sum, "loss", p, q), wanted[] = {v, a};
    for (int n = 0; n <= 2; n++) {
        SrPlan *plan = compile(
            f, (SrPlanOptions){
                   .losses = &loss, .n_losses = 1, .input_grads = wanted, .n_input_grads = n});
        fill_input(plan, f.x);
        step(f, plan, 0);
        if (n > 0)
            CHECK_NEAR(*(float *)sr_plan_input_grad(plan, v).data, 1.0 / 8, 1e-7);
        if (n > 1)
            CHECK_NEAR(*(float *)sr_plan_input_grad(plan, a).data, 2.0 / 8, 1e-7);
        CHECK_NEAR(gradient(f, "a.bias")[0], 2 * 2.0 / 8, 1e-6);
        CHECK_INT(sr_plan_cost(plan).n_backward, 5); // four ops and one sum
        check_placement(plan);
        sr_plan_free(plan);
    }
    end(f);
}

static void test_missing_backward(void **state) {
    (void)state;
    Fixture f = begin(2, 4);
    SrOp broken = toy_tanh;
    broken.backward = NULL;
    SrNodeId a = add(f, &toy_affine, "a", f.x, -1), t = add(f, &broken, "t", a, -1);
    SrPlanOptions options = {.mode = SR_MODE_TRAIN, .losses = &t, .n_losses = 1};
    SrPlan *plan;
    CHECK_FAILS(sr_plan_compile(f.graph, &options, &plan), SR_ERR_CONFIG,
                "t: toy_tanh has no gradient");
    end(f);
}

// ---- any graph: against finite differences, with and without recomputation, on poisoned memory

static uint32_t next(uint32_t *s) { return (*s = *s * 1664525u + 1013904223u) >> 8; }

static SrNodeId random_node(Fixture f, uint32_t *s) {
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
        return add(f, binary[next(s) % 2], name, a, b);
    const SrOp *op = unary[next(s) % 8];
    if (op == &toy_affine && next(s) % 3 == 0) { // weights of another node of this width
        char entries[32];
        snprintf(entries, sizeof entries, "shared%d", sr_shape_last(shape));
        return add_shared(f, op, name, entries, a, -1);
    }
    return add(f, op, name, a, -1);
}

static double loss_at(Fixture f, ToyRun *base, double *const *d, const double *dx, double eps,
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

// <gradient, d> against the central difference along one random direction d over parameters and input.
static void check_direction(Fixture f, SrPlan *plan, SrNodeId loss) {
    int n = sr_params_count(f.params);
    int64_t n_x = sr_shape_count(sr_graph_at(f.graph, f.x)->shape);
    ToyRun *base = toy_run_new(f.graph, SR_MODE_TRAIN);
    toy_run_input(base, f.x, sr_plan_input(plan, f.x).data);
    toy_run(base);
    CHECK_NEAR(scalar(plan, loss), *base->value[loss], 1e-5 * (1 + fabs(*base->value[loss])));
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

static void copy_gradients(Fixture f, float *out) {
    for (int i = 0; i < sr_params_count(f.params); i++) {
        const SrParam *p = sr_params_at(f.params, i);
        size_t count = (size_t)sr_shape_count(p->shape);
        if (p->grad)
            memcpy(out + p->grad_offset, p->grad, count * sizeof(float));
    }
}

// Seed s gives one graph.  Nodes that stop gradients have none to compare with: they are left out of half.
static void one_random_graph(uint32_t s, int rows, int width, int nodes, int *recomputed) {
    Fixture f = begin(rows, width);
    for (int i = 0; i < nodes; i++)
        random_node(f, &s);
    bool stops = false;
    for (SrNodeId id = 0; id < sr_graph_count(f.graph); id++)
        stops |= sr_graph_at(f.graph, id)->op == &toy_stop;
    SrNodeId t = add(f, &toy_tanh, "last", sr_graph_count(f.graph) - 1, -1),
             loss = add(f, &toy_mean, "loss", t, -1);
    SrPlanOptions options = {
        .losses = &loss, .n_losses = 1, .input_grads = &f.x, .n_input_grads = 1};
    size_t grad_floats =
        (size_t)(sr_params_numbers(f.params, true) + 16 * sr_params_count(f.params)) + 1;
    float *grads[2] = {sr_calloc(grad_floats, sizeof(float)),
                       sr_calloc(grad_floats, sizeof(float))};
    size_t bytes[2];
    for (int k = 0; k < 2; k++) {
        options.no_recompute = k == 0;
        SrPlan *plan = compile(f, options);
        check_placement(plan);
        fill_input(plan, f.x);
        toy_poison(plan);
        int64_t calls = sr_mem_calls();
        step(f, plan, 0);
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
    end(f);
}

static void test_random_graphs(void **state) {
    (void)state;
    int recomputed = 0;
    for (uint32_t s = 1; s <= 60; s++)
        one_random_graph(s, 4, 8, 4 + (int)s % 24, &recomputed);
    CHECK_INT(recomputed, 0); // too small to be worth it
    for (uint32_t s = 1; s <= 12; s++)
        one_random_graph(s, 128, 128, 20, &recomputed);
    CHECK(recomputed > 5);
}

// ---- memory

// A chain in which every other value could be recomputed: the plan must really need less.
static void test_recompute_saves(void **state) {
    (void)state;
    Fixture f = begin(256, 256);
    SrNodeId y = f.x;
    char name[32];
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "a%d", i);
        y = add(f, &toy_affine, name, y, -1);
        snprintf(name, sizeof name, "s%d", i);
        y = add(f, &toy_swish, name, y, -1);
    }
    SrNodeId loss = add(f, &toy_mean, "loss", y, -1);
    SrPlanOptions options = {.losses = &loss, .n_losses = 1, .no_allocate = true};
    SrPlan *less = compile(f, options);
    options.no_recompute = true;
    SrPlan *more = compile(f, options);
    SrPlanCost a = sr_plan_cost(less), b = sr_plan_cost(more);
    CHECK_INT(a.n_recompute, 10); // not the last two: nobody reads one, the other is needed at once
    CHECK_INT(b.n_recompute, 0);
    CHECK(a.activation_bytes < b.activation_bytes * 65 / 100);
    CHECK(b.naive_bytes > b.activation_bytes);
    CHECK(!sr_plan_input(less, f.x).data); // a dry run
    sr_plan_forward(less, 0);
    sr_plan_free(less);
    sr_plan_free(more);
    end(f);
}

// A forward-only chain needs two values at a time and one input, however long it is.
static void test_forward_memory(void **state) {
    (void)state;
    Fixture f = begin(256, 256);
    SrNodeId y = f.x;
    char name[32];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "t%d", i);
        y = add(f, &toy_tanh, name, y, -1);
    }
    SrPlan *plan = compile(f, (SrPlanOptions){.mode = SR_MODE_EVAL, .outputs = &y, .n_outputs = 1});
    CHECK_INT(sr_plan_cost(plan).activation_bytes, 3 * 256 * 256 * sizeof(float));
    CHECK_INT(sr_plan_cost(plan).naive_bytes, 21 * 256 * 256 * sizeof(float));
    sr_plan_free(plan);
    end(f);
}

static void test_out_of_memory(void **state) {
    (void)state;
    Fixture f = begin(8, 8);
    SrNodeId a = add(f, &toy_affine, "a", f.x, -1), s = add(f, &toy_swish, "s", a, -1);
    SrNodeId p = add(f, &toy_mul, "p", s, a), loss = add(f, &toy_mean, "loss", p, -1);
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
    end(f);
}

// ---- looking inside

static void test_profile_and_print(void **state) {
    (void)state;
    Fixture f = begin(8, 8);
    SrNodeId a = add(f, &toy_affine, "a", f.x, -1), loss = add(f, &toy_mean, "loss", a, -1);
    SrPlan *plan = compile(f, (SrPlanOptions){.losses = &loss, .n_losses = 1});
    fill_input(plan, f.x);
    step(f, plan, 0);
    sr_plan_profile(plan, true);
    step(f, plan, 0);
    step(f, plan, 0);
    SrPlanTiming t;
    CHECK(sr_plan_profile_at(plan, 3, &t));
    CHECK_STR(t.name, "a");
    CHECK_STR(t.op, "toy_affine");
    CHECK_STR(t.pass, "backward");
    CHECK_INT(t.calls, 2);
    CHECK(t.seconds >= 0 && t.seconds < 1);
    CHECK(t.bytes >= 2 * 8 * 8 * (int64_t)sizeof(float)); // x and dy at least
    CHECK(!sr_plan_profile_at(plan, 4, &t));
    SrText text = SR_TEXT_INIT;
    CHECK_OK(sr_plan_print(plan, &text));
    CHECK(strstr(text.s, "backward   toy_affine      [8, 8]") &&
          strstr(text.s, "2 forward, 2 backward, 0 recomputed"));
    sr_text_deinit(&text);
    sr_plan_free(plan);
    end(f);
}

static void test_find_nonfinite(void **state) {
    (void)state;
    Fixture f = begin(8, 8);
    SrNodeId t = add(f, &toy_tanh, "t", f.x, -1), a = add(f, &toy_affine, "a", t, -1);
    SrNodeId b = add(f, &toy_affine, "b", a, -1), loss = add(f, &toy_mean, "loss", b, -1);
    SrPlan *plan = compile(f, (SrPlanOptions){.losses = &loss, .n_losses = 1});
    fill_input(plan, f.x);
    sr_plan_forward(plan, 0);
    CHECK(!sr_plan_find_nonfinite(plan, 0));
    entry(f, "a.bias")[7] = INFINITY;
    CHECK_STR(sr_plan_find_nonfinite(plan, 0), "a");
    CHECK_NEAR(*entry(f, "a.count"), 1, 0); // put back
    ((float *)sr_plan_input(plan, f.x).data)[3] = NAN;
    CHECK_STR(sr_plan_find_nonfinite(plan, 0), "x");
    sr_plan_free(plan);
    end(f);
}

SR_TESTS(plan, unit(test_forward), unit(test_impure_stays_in_train), unit(test_modes),
         unit(test_gradient), unit(test_same_input_twice), unit(test_shared_parameters),
         unit(test_frozen_and_stopped), unit(test_seeds), unit(test_view_gradient),
         unit(test_missing_backward), unit(test_random_graphs), unit(test_recompute_saves),
         unit(test_forward_memory), unit(test_out_of_memory), unit(test_profile_and_print),
         unit(test_find_nonfinite))
