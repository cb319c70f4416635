// Tests plans of real ops on a small ResNet: fusing, recomputation, segments and threads against
// references in double precision.
#include "base/mem.h"
#include "base/parallel.h"
#include "graph/ir/builder.h"
#include "graph/plan/plan_internal.h"
#include "graph/plan/plan_run.h"
#include "kernels/basic/linear.h"
#include "kernels/conv/conv2d.h"
#include "tests/check.h"
#include "tests/graph/toy.h"

enum { N = 8, SIDE = 16, C = 8 }; // one activation takes 64 KiB, just enough to be recomputed

typedef struct {
    SrParams *params;
    SrGraph *graph;
    SrBuilder *b;
    SrNodeId x, small, loss; // small: a second input of half the size, or SR_NO_NODE
} Net;

static Net begin(void) {
    Net net = {.small = SR_NO_NODE};
    CHECK_OK(sr_params_new(&net.params));
    CHECK_OK(sr_graph_new(net.params, &net.graph));
    CHECK_OK(sr_builder_new(net.graph, &net.b));
    net.x = sr_build_input(net.b, "x", SR_SHAPE(N, SIDE, SIDE, C), SR_F32);
    return net;
}

// Ends the net in loss = mean(last * last).
static void close_net(Net *net, SrNodeId last) {
    CHECK_OK(sr_builder_status(net->b));
    SrNodeId in[] = {last, last}, squared;
    SrNodeSpec square = {.op = &toy_mul, .name = "square", .n_in = 2, .in = in};
    CHECK_OK(sr_graph_add(net->graph, &square, &squared));
    SrNodeSpec mean = {.op = &toy_mean, .name = "loss", .n_in = 1, .in = &squared};
    CHECK_OK(sr_graph_add(net->graph, &mean, &net->loss));
}

static void end(Net net) {
    sr_builder_free(net.b);
    sr_graph_free(net.graph);
    sr_params_free(net.params);
}

static SrNodeId conv_norm(SrBuilder *b, const char *conv, const char *norm, int kernel,
                          SrNodeId x) {
    SrConv2dParams p = {
        .out_channels = C, .kernel_h = kernel, .padding_h = kernel / 2, .padding_w = -1};
    return sr_build(b, "batch_norm", norm, NULL, sr_build(b, "conv2d", conv, &p, x));
}

static SrNodeId block(SrBuilder *b, const char *name, SrNodeId x, bool downsample) {
    sr_builder_push(b, name);
    SrNodeId y = sr_build(b, "relu", "relu", NULL, conv_norm(b, "conv1", "bn1", 3, x));
    y = conv_norm(b, "conv2", "bn2", 3, y);
    if (downsample)
        x = conv_norm(b, "downsample.0", "downsample.1", 1, x);
    y = sr_build_n(b, "add", "add", NULL, (SrNodeId[]){y, x}, 2);
    y = sr_build(b, "relu", "relu", NULL, y);
    sr_builder_pop(b);
    return y;
}

static Net resnet(int blocks) {
    Net net = begin();
    SrNodeId y = net.x;
    char name[32];
    for (int i = 0; i < blocks; i++) {
        snprintf(name, sizeof name, "layer1.%d", i);
        y = block(net.b, name, y, i == 0);
    }
    close_net(&net, y);
    return net;
}

static SrPlan *compile(Net net, SrPlanOptions options) {
    SrPlan *plan = NULL;
    options.mode = options.mode ? options.mode : SR_MODE_TRAIN;
    if (!options.n_losses) {
        options.losses = &net.loss;
        options.n_losses = 1;
    }
    CHECK_OK(sr_params_allocate(net.params));
    sr_params_init(net.params, 4);
    CHECK_OK(sr_plan_compile(net.graph, &options, &plan));
    SrTensor x = sr_plan_input(plan, net.x);
    toy_fill(x.data, sr_shape_count(x.shape), 1);
    if (net.small != SR_NO_NODE)
        toy_fill(sr_plan_input(plan, net.small).data, sr_shape_count(x.shape) / 4, 2);
    return plan;
}

static void step(Net net, SrPlan *plan) {
    sr_params_zero_grad(net.params);
    sr_plan_forward(plan, 0);
    sr_plan_backward(plan);
}

// Returns all gradients and all float state one after another. The caller frees it.
static float *results(Net net, int64_t *n) {
    *n = 0;
    for (int i = 0; i < sr_params_count(net.params); i++)
        *n += sr_shape_count(sr_params_at(net.params, i)->shape);
    float *out = sr_calloc((size_t)*n, sizeof *out), *at = out;
    for (int i = 0; i < sr_params_count(net.params); i++) {
        const SrParam *p = sr_params_at(net.params, i);
        int64_t count = sr_shape_count(p->shape);
        const float *from = p->grad ? p->grad : p->dtype == SR_F32 ? p->value : NULL;
        if (from)
            memcpy(at, from, (size_t)count * sizeof *at);
        at += count;
    }
    return out;
}

static void reset_state(Net net) {
    for (int i = 0; i < sr_params_count(net.params); i++) {
        SrParam *p = sr_params_at(net.params, i);
        if (p->kind == SR_SLOT_STATE)
            memset(p->value, 0, (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype));
    }
}

// Computes one step of a plan with these options from zeroed state and returns results(). The
// caller frees it.
static float *one_step(Net net, SrPlanOptions options, int64_t *n, SrPlanCost *cost) {
    SrPlan *plan = compile(net, options);
    reset_state(net);
    toy_poison(plan);
    step(net, plan);
    *cost = sr_plan_cost(plan);
    float *out = results(net, n);
    sr_plan_free(plan);
    return out;
}

static const SrOp *op_of(const SrPlan *plan, const char *name) {
    for (SrNodeId id = 0; id < plan->n_nodes; id++)
        if (plan->nodes[id].live && strcmp(plan->nodes[id].name, name) == 0)
            return plan->nodes[id].op;
    return NULL;
}

TEST(test_what_is_fused) {
    Net net = resnet(2);
    SrPlan *plan = compile(net, (SrPlanOptions){0});
    // Each block has conv, bn+relu, conv, (conv, bn,) bn+add+relu; square and loss follow.
    CHECK_INT(sr_plan_cost(plan).n_forward, 6 + 4 + 2);
    CHECK_STR(op_of(plan, "layer1.0.relu_1")->name, "batch_norm");
    CHECK_STR(op_of(plan, "layer1.0.downsample.1")->name, "batch_norm");
    CHECK(!op_of(plan, "layer1.0.bn1") && !op_of(plan, "layer1.1.add") &&
          !op_of(plan, "layer1.1.bn2"));
    sr_plan_free(plan);
    plan = compile(net, (SrPlanOptions){.no_fuse = true});
    CHECK_INT(sr_plan_cost(plan).n_forward, 9 + 7 + 2);
    sr_plan_free(plan);
    end(net);
}

// Without gradients a linear layer absorbs the GELU or the sum that follows it. On bfloat16 a sum
// of tokens stays separate.
TEST(test_linear_takes_what_follows) {
    Net net = begin();
    SrLinearParams wide = {.out_features = 24, .bias = true}, back = {.out_features = C};
    SrNodeId x = sr_build_input(net.b, "tokens", SR_SHAPE(3, 50, C), SR_F32);
    SrNodeId act = sr_build(net.b, "gelu", "act", NULL, sr_build(net.b, "linear", "fc1", &wide, x));
    SrNodeId fc2 = sr_build(net.b, "linear", "fc2", &back, act);
    SrNodeId out = sr_build_n(net.b, "add", "add", NULL, (SrNodeId[]){x, fc2}, 2);
    CHECK_OK(sr_builder_status(net.b));
    CHECK_OK(sr_params_allocate(net.params));
    sr_params_init(net.params, 4);
    SrPlan *plan[3];
    for (int i = 0; i < 3; i++) {
        SrPlanOptions options = {.mode = SR_MODE_EVAL,
                                 .outputs = &out,
                                 .n_outputs = 1,
                                 .no_fuse = i == 1,
                                 .bf16 = i == 2};
        CHECK_OK(sr_plan_compile(net.graph, &options, &plan[i]));
        toy_poison(plan[i]);
        SrTensor in = sr_plan_input(plan[i], x);
        toy_fill(in.data, sr_shape_count(in.shape), 5);
        sr_plan_forward(plan[i], 0);
    }
    CHECK_STR(op_of(plan[0], "act")->name, "linear");
    CHECK_STR(op_of(plan[0], "add")->name, "linear");
    CHECK(!op_of(plan[0], "fc1") && !op_of(plan[0], "fc2"));
    CHECK_STR(op_of(plan[2], "act")->name, "linear");
    CHECK_STR(op_of(plan[2], "add")->name, "add");
    const float *fused = sr_plan_output(plan[0], out).data,
                *apart = sr_plan_output(plan[1], out).data,
                *half = sr_plan_output(plan[2], out).data;
    for (int i = 0; i < 3 * 50 * C; i++) {
        CHECK_NEAR(fused[i], apart[i], 1e-5 * (1 + fabs((double)apart[i])));
        CHECK_NEAR(half[i], apart[i], 0.03 * (1 + fabs((double)apart[i])));
    }
    for (int i = 0; i < 3; i++)
        sr_plan_free(plan[i]);
    end(net);
}

// A value that is an output, a tap or a wanted gradient is computed as it was built, without
// fusing.
TEST(test_what_is_not_fused) {
    Net net = resnet(1);
    SrNodeId bn1 = sr_graph_find(net.graph, "layer1.0.bn1"),
             sum = sr_graph_find(net.graph, "layer1.0.add");
    SrNodeId bn2 = sr_graph_find(net.graph, "layer1.0.bn2");
    SrPlan *plan = compile(net, (SrPlanOptions){.outputs = (SrNodeId[]){bn1, sum}, .n_outputs = 2});
    CHECK_INT(sr_plan_cost(plan).n_forward, 9 + 2);
    step(net, plan);
    const float *y = sr_plan_output(plan, bn1).data;
    bool negative = false;
    for (int i = 0; i < 100; i++)
        negative |= y[i] < 0;
    CHECK(negative);
    sr_plan_free(plan);
    // The gradient of bn2 is wanted: the sum still fuses into the other norm.
    plan = compile(net, (SrPlanOptions){.input_grads = &bn2, .n_input_grads = 1});
    CHECK(op_of(plan, "layer1.0.bn2") && !op_of(plan, "layer1.0.downsample.1"));
    sr_plan_free(plan);
    end(net);

    net = begin(); // the value has two readers
    SrNodeId bn = sr_build(net.b, "batch_norm", "bn", NULL, net.x);
    SrNodeId r = sr_build(net.b, "relu", "relu", NULL, bn);
    close_net(&net, sr_build_n(net.b, "add", "add", NULL, (SrNodeId[]){r, bn}, 2));
    plan = compile(net, (SrPlanOptions){0});
    CHECK_INT(sr_plan_cost(plan).n_forward, 5);
    sr_plan_free(plan);
    end(net);

    // Fusing the first norm into its relu would swap two updates of one running mean.
    net = begin();
    SrNodeId a = sr_build(net.b, "batch_norm", "bn", NULL, net.x);
    sr_builder_set_pass(net.b, 1);
    SrNodeId c = sr_build(net.b, "batch_norm", "bn", NULL, a);
    sr_builder_set_pass(net.b, 0);
    close_net(&net, sr_build(net.b, "relu", "relu", NULL, c));
    plan = compile(net, (SrPlanOptions){0});
    CHECK_INT(sr_plan_cost(plan).n_forward, 4); // only the second norm is next to its relu
    sr_plan_free(plan);
    end(net);
}

static void check_equal(const float *a, const float *b, int64_t n, double tolerance) {
    for (int64_t i = 0; i < n; i++)
        CHECK_NEAR(a[i], b[i], tolerance * (1 + fabs((double)b[i])));
}

// Adds a convolution, a norm, `act` and squeeze-and-excitation; *activated gets the node of `act`.
static SrNodeId gated(SrBuilder *b, const char *act, const char *squeeze, const char *gate,
                      SrNodeId x, SrNodeId *activated) {
    SrConv2dParams fc = {
        .out_channels = 3, .kernel_h = 1, .padding_w = -1, .groups = 1, .bias = true};
    *activated = sr_build(b, act, "act", NULL, conv_norm(b, "conv", "bn", 3, x));
    SrNodeId s = sr_build(b, "adaptive_avg_pool2d", "avgpool", NULL, *activated);
    s = sr_build(b, squeeze, "activation", NULL, sr_build(b, "conv2d", "fc1", &fc, s));
    fc.out_channels = C;
    s = sr_build(b, gate, "gate", NULL, sr_build(b, "conv2d", "fc2", &fc, s));
    return sr_build_n(b, "mul", "mul", NULL, (SrNodeId[]){*activated, s}, 2);
}

// A norm, its activation and squeeze-and-excitation become one node, with and without recomputing
// it, and a training step has the same results as with eight nodes.
TEST(test_gates_join_norms) {
    static const char *const names[][3] = {{"relu", "relu", "sigmoid"},
                                           {"silu", "silu", "sigmoid"},
                                           {"hardswish", "relu", "hardsigmoid"}};
    for (int i = 0; i < SR_COUNT(names); i++) {
        Net net = begin();
        SrNodeId act, y = gated(net.b, names[i][0], names[i][1], names[i][2], net.x, &act);
        close_net(&net, conv_norm(net.b, "conv2", "bn2", 1, y));
        int64_t n;
        SrPlanCost cost[3];
        SrPlanOptions options[] = {{.no_fuse = true}, {.keep_bytes = INT64_MAX}, {0}};
        float *result[3];
        for (int k = 0; k < 3; k++)
            result[k] = one_step(net, options[k], &n, &cost[k]);
        CHECK_INT(cost[0].n_forward, 8 + 1 + 2 + 2);
        CHECK_INT(cost[1].n_forward, 2 + 2 + 2);
        check_equal(result[1], result[0], n, 2e-4);
        for (int64_t j = 0; j < n; j++)
            CHECK(result[2][j] == result[1][j]);
        for (int k = 0; k < 3; k++)
            sr_free(result[k]);
        end(net);
    }
}

// The chain stays apart where somebody else reads a value inside it.
TEST(test_gates_stay_apart) {
    Net net = begin();
    SrNodeId act, y = gated(net.b, "relu", "relu", "sigmoid", net.x, &act);
    close_net(&net, y);
    SrPlan *plan = compile(net, (SrPlanOptions){0});
    CHECK_STR(op_of(plan, "mul")->name, "gated_norm");
    sr_plan_free(plan);
    plan = compile(net, (SrPlanOptions){.outputs = &act, .n_outputs = 1});
    CHECK_STR(op_of(plan, "mul")->name, "mul");
    sr_plan_free(plan);
    SrNodeId gate = sr_graph_find(net.graph, "gate");
    plan = compile(net, (SrPlanOptions){.input_grads = &gate, .n_input_grads = 1});
    CHECK_STR(op_of(plan, "mul")->name, "mul");
    sr_plan_free(plan);
    end(net);
}

// An activation after a norm, also with a sum between them, becomes part of the norm's node, and a
// training step has the same results as with three nodes.
TEST(test_activations_join_norms) {
    static const char *const names[] = {"relu", "relu6", "silu", "hardswish", "gelu"};
    for (int i = 0; i < SR_COUNT(names); i++) {
        Net net = begin();
        SrNodeId y = conv_norm(net.b, "conv1", "bn1", 3, net.x);
        y = sr_build(net.b, names[i], "first", NULL, y);
        SrNodeId z = conv_norm(net.b, "conv2", "bn2", 3, y);
        z = sr_build_n(net.b, "add", "add", NULL, (SrNodeId[]){z, y}, 2);
        close_net(&net, sr_build(net.b, names[i], "second", NULL, z));
        SrPlan *plan = compile(net, (SrPlanOptions){0});
        CHECK_STR(op_of(plan, "first")->name, "batch_norm");
        CHECK_STR(op_of(plan, "second")->name, "batch_norm");
        CHECK(!op_of(plan, "bn1") && !op_of(plan, "bn2") && !op_of(plan, "add"));
        sr_plan_free(plan);
        int64_t n, m;
        SrPlanCost cost;
        float *fused = one_step(net, (SrPlanOptions){0}, &n, &cost),
              *apart = one_step(net, (SrPlanOptions){.no_fuse = true}, &m, &cost);
        CHECK_INT(n, m);
        check_equal(fused, apart, n, 1e-4);
        sr_free(fused);
        sr_free(apart);
        end(net);
    }
}

TEST(test_fused_equals_unfused) {
    Net net = resnet(3);
    int64_t n;
    SrPlanCost cost, plain_cost;
    for (int mode = 1; mode <= 2; mode++) {
        float *fused = one_step(net, (SrPlanOptions){.mode = (SrMode)mode}, &n, &cost);
        float *plain =
            one_step(net, (SrPlanOptions){.mode = (SrMode)mode, .no_fuse = true}, &n, &plain_cost);
        if (mode == SR_MODE_TRAIN) // in evaluation mode zeroed variances make all values large
            check_equal(fused, plain, n, 1e-6);
        CHECK(cost.n_forward < plain_cost.n_forward);
        CHECK(cost.activation_bytes <= plain_cost.activation_bytes);
        sr_free(fused);
        sr_free(plain);
    }
    end(net);
}

TEST(test_recompute_is_exact) {
    Net net = resnet(4);
    int64_t n;
    SrPlanCost cost, kept_cost;
    for (int fused = 0; fused < 2; fused++) {
        float *again = one_step(net, (SrPlanOptions){.no_fuse = !fused}, &n, &cost);
        float *kept = one_step(net, (SrPlanOptions){.no_fuse = !fused, .keep_bytes = INT64_MAX}, &n,
                               &kept_cost);
        CHECK(memcmp(again, kept, (size_t)n * sizeof(float)) == 0);
        CHECK_INT(kept_cost.n_recompute, 0);
        // Fused, recomputation covers the relu inside each block but the last, the three sums
        // before the last, and the first downsampling norm. Unfused, norms, sums and relus are
        // separate calls.
        CHECK_INT(cost.n_recompute, fused ? 7 : 15);
        CHECK(cost.activation_bytes < kept_cost.activation_bytes);
        sr_free(again);
        sr_free(kept);
    }
    end(net);
}

// Segments recompute convolutions too, and no bit of gradients or statistics changes.
TEST(test_segments_are_exact) {
    Net net = resnet(8);
    int64_t n;
    SrPlanCost cost, kept_cost;
    float *kept = one_step(net, (SrPlanOptions){.keep_bytes = INT64_MAX}, &n, &kept_cost);
    size_t before = kept_cost.activation_bytes;
    for (int splits = 2; splits <= 4; splits += 2) {
        float *again = one_step(net, (SrPlanOptions){.splits = splits}, &n, &cost);
        CHECK(memcmp(again, kept, (size_t)n * sizeof(float)) == 0);
        CHECK_INT(cost.n_recompute, splits == 2 ? 17 : 23);
        CHECK(cost.activation_bytes < before * 9 / 10);
        before = cost.activation_bytes;
        sr_free(again);
    }
    sr_free(kept);
    end(net);
}

TEST(test_threads) {
    Net net = resnet(2);
    int threads = sr_parallel_threads();
    float *out[2];
    int64_t n;
    SrPlanCost cost;
    for (int k = 0; k < 2; k++) {
        sr_parallel_set_threads(k ? 3 : 1);
        out[k] = one_step(net, (SrPlanOptions){0}, &n, &cost);
    }
    sr_parallel_set_threads(threads);
    CHECK(memcmp(out[0], out[1], (size_t)n * sizeof(float)) == 0);
    sr_free(out[0]);
    sr_free(out[1]);
    end(net);
}

// Runs the net in double precision on the plan's inputs, with number k of one entry moved by eps.
// The caller frees it.
static ToyRun *run_in_double(Net net, SrPlan *plan, int entry, int64_t k, double eps) {
    ToyRun *run = toy_run_new(net.graph, SR_MODE_TRAIN);
    toy_run_input(run, net.x, sr_plan_input(plan, net.x).data);
    if (net.small != SR_NO_NODE)
        toy_run_input(run, net.small, sr_plan_input(plan, net.small).data);
    run->param[entry][k] += eps;
    toy_run(run);
    return run;
}

static double loss_in_double(Net net, SrPlan *plan, int entry, int64_t k, double eps) {
    ToyRun *run = run_in_double(net, plan, entry, k, eps);
    double loss = *run->value[net.loss];
    toy_run_free(run);
    return loss;
}

// Compares a whole step with double precision: the loss, all state, and by central differences
// the gradient of one weight of each parameter.
static void check_against_double(Net net) {
    SrPlan *plan = compile(net, (SrPlanOptions){0});
    // The reference runs before the plan updates the running statistics.
    ToyRun *run = run_in_double(net, plan, 0, 0, 0);
    step(net, plan);
    CHECK_NEAR(*(float *)sr_plan_output(plan, net.loss).data, *run->value[net.loss], 1e-5);
    for (int i = 0; i < sr_params_count(net.params); i++) {
        const SrParam *p = sr_params_at(net.params, i);
        int64_t k = sr_shape_count(p->shape) / 2;
        if (p->kind == SR_SLOT_STATE && p->dtype == SR_F32)
            CHECK_NEAR(((float *)p->value)[k], run->param[i][k], 1e-5);
        if (p->dtype == SR_I64)
            CHECK_INT(*(int64_t *)p->value, run->param[i][0]);
        if (!p->grad)
            continue;
        double eps = 1e-6, above = loss_in_double(net, plan, i, k, eps),
               below = loss_in_double(net, plan, i, k, -eps);
        double slope = (above - below) / (2 * eps);
        CHECK_NEAR(p->grad[k], slope, 2e-5 + 1e-3 * fabs(slope));
    }
    toy_run_free(run);
    sr_plan_free(plan);
}

TEST(test_against_double) {
    Net net = resnet(2);
    check_against_double(net);
    end(net);
}

static SrNodeId features(Net net, SrNodeId x) {
    SrNodeId y = block(net.b, "layer1", block(net.b, "stem", x, true), false);
    return sr_build(net.b, "flatten", "flatten", NULL,
                    sr_build(net.b, "adaptive_avg_pool2d", "avgpool", NULL, y));
}

// A multi-crop net: one trunk at two resolutions, concatenated features, one head.
static Net two_resolutions(void) {
    Net net = begin();
    SrNodeId y[2] = {features(net, net.x)};
    int n = sr_params_count(net.params);
    sr_builder_set_pass(net.b, 1);
    net.small = sr_build_input(net.b, "x", SR_SHAPE(N, SIDE / 2, SIDE / 2, C), SR_F32);
    y[1] = features(net, net.small);
    sr_builder_set_pass(net.b, 0);
    CHECK_INT(sr_params_count(net.params), n);
    SrLinearParams linear = {.out_features = 5, .bias = true};
    SrNodeId both = sr_build_n(net.b, "concat", "cat", NULL, y, 2);
    close_net(&net, sr_build(net.b, "linear", "fc", &linear, both));
    return net;
}

TEST(test_two_resolutions) {
    Net net = two_resolutions();
    check_against_double(net);
    end(net);
}

// Both resolutions read weights that were packed once per pass, except where activations are few.
// Bits do not change.
TEST(test_prepared_weights_are_shared) {
    Net net = two_resolutions();
    int64_t n;
    SrPlanCost cost, split_cost;
    float *shared = one_step(net, (SrPlanOptions){0}, &n, &cost);
    float *apart = one_step(net, (SrPlanOptions){.splits = 2}, &n, &split_cost);
    CHECK_INT(cost.n_prepare,
              5 + 3); // five convolutions; two read an image, whose gradient is not wanted
    CHECK(split_cost.n_prepare >= 2 * (5 + 3));
    CHECK(memcmp(shared, apart, (size_t)n * sizeof(float)) == 0);
    sr_free(shared);
    sr_free(apart);
    end(net);
}

TEST(test_steps_do_not_allocate) {
    Net net = resnet(2);
    SrPlan *plan = compile(net, (SrPlanOptions){0});
    step(net, plan);
    int64_t calls = sr_mem_calls();
    step(net, plan);
    CHECK_INT(sr_mem_calls(), calls);
    sr_plan_free(plan);
    end(net);
}

// Adds a convolution, a norm, `act` ("": none) and a depthwise convolution; *middle gets the node
// that the latter reads.
static SrNodeId depthwise(SrBuilder *b, const char *act, int kernel, int stride, SrNodeId x,
                          SrNodeId *middle) {
    SrConv2dParams p = {.out_channels = C, .groups = C, .kernel_h = kernel, .stride_h = stride};
    p.padding_h = kernel / 2;
    p.padding_w = -1;
    *middle = conv_norm(b, "conv", "bn", 3, x);
    if (*act)
        *middle = sr_build(b, act, "act", NULL, *middle);
    return sr_build(b, "conv2d", "depthwise", &p, *middle);
}

// A norm and its activation join the depthwise convolution after them, and a training step has the
// same results as with three nodes.
TEST(test_norms_join_depthwise) {
    static const struct {
        const char *act;
        int kernel, stride;
    } cases[] = {{"silu", 3, 1}, {"relu", 5, 2}, {"hardswish", 7, 1}, {"", 3, 2}};
    for (int i = 0; i < SR_COUNT(cases); i++) {
        Net net = begin();
        SrNodeId middle,
            y = depthwise(net.b, cases[i].act, cases[i].kernel, cases[i].stride, net.x, &middle);
        close_net(&net, conv_norm(net.b, "conv2", "bn2", 1, y));
        int64_t n;
        SrPlanCost cost[2];
        SrPlanOptions options[] = {{.no_fuse = true}, {0}};
        float *result[2];
        for (int k = 0; k < 2; k++)
            result[k] = one_step(net, options[k], &n, &cost[k]);
        CHECK_INT(cost[0].n_forward, (*cases[i].act ? 4 : 3) + 2 + 2);
        CHECK_INT(cost[1].n_forward, 2 + 2 + 2);
        check_equal(result[1], result[0], n, 2e-4);
        sr_free(result[0]);
        sr_free(result[1]);
        end(net);
    }
}

// The norm stays apart where its value has another reader, and without gradients.
TEST(test_norms_stay_apart_from_depthwise) {
    Net net = begin();
    SrNodeId middle, y = depthwise(net.b, "silu", 3, 1, net.x, &middle);
    close_net(&net, y);
    SrPlanOptions options[] = {
        {0},
        {.outputs = &middle, .n_outputs = 1},
    };
    for (int i = 0; i < SR_COUNT(options); i++) {
        SrPlan *plan = compile(net, options[i]);
        CHECK_STR(op_of(plan, "depthwise")->name, i ? "conv2d" : "normed_depthwise");
        sr_plan_free(plan);
    }
    SrPlan *plan;
    CHECK_OK(sr_plan_compile(
        net.graph, &(SrPlanOptions){.mode = SR_MODE_EVAL, .outputs = &y, .n_outputs = 1}, &plan));
    CHECK_STR(op_of(plan, "depthwise")->name, "conv2d");
    sr_plan_free(plan);
    end(net);
}

SR_TESTS(pass_fuse, unit(test_norms_join_depthwise), unit(test_norms_stay_apart_from_depthwise),
         unit(test_what_is_fused), unit(test_linear_takes_what_follows),
         unit(test_what_is_not_fused), unit(test_activations_join_norms),
         unit(test_gates_join_norms), unit(test_gates_stay_apart), unit(test_fused_equals_unfused),
         unit(test_recompute_is_exact), unit(test_segments_are_exact), unit(test_threads),
         unit(test_against_double), unit(test_two_resolutions),
         unit(test_prepared_weights_are_shared), unit(test_steps_do_not_allocate))
