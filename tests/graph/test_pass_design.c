// A plan keeps the machine that it was compiled for: two plans of different machines in one
// process give their own bits, in turn and in two threads at once. A build with -fsanitize=thread
// and one OpenMP thread finds no race here.
#include <pthread.h>

#include "base/mem.h"
#include "graph/ir/builder.h"
#include "graph/plan/plan.h"
#include "graph/plan/plan_internal.h"
#include "graph/plan/plan_run.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/conv2d.h"
#include "kernels/norm/batch_norm.h"
#include "tests/check.h"
#include "tests/machine.h"

enum { STEPS = 4 };

// A small network with its own parameters, and the results of a step that it computed alone.
typedef struct {
    SrParams *params;
    SrGraph *graph;
    SrBuilder *b;
    SrPlan *plan;
    SrNodeId x, y;
    SrTensor out;
    float *alone, *gradient; // y, and the gradient of the first convolution
    int64_t n_out, n_gradient;
    bool same; // every later step gave these bits
} Net;

static float *gradient_of(const Net *net) {
    return sr_params_at(net->params, sr_params_find(net->params, "conv1.weight"))->grad;
}

static void step(Net *net) {
    sr_params_zero_grad(net->params);
    sr_plan_forward(net->plan, 0);
    sr_plan_backward(net->plan);
}

static void fill(float *v, int64_t n, float by) {
    for (int64_t i = 0; i < n; i++)
        v[i] = by * (float)(i * 7919 % 61 - 30);
}

static void begin(Net *net, const SrMachine *machine) {
    SrConv2dParams window = {.out_channels = 32, .kernel_h = 3, .padding_h = 1, .padding_w = 1};
    SrConv2dParams point = {.out_channels = 16, .kernel_h = 1};
    SrBatchNormParams norm = {.eps = 1e-5, .momentum = 0.1};
    CHECK_OK(sr_params_new(&net->params));
    CHECK_OK(sr_graph_new(net->params, &net->graph));
    CHECK_OK(sr_builder_new(net->graph, &net->b));
    net->x = sr_build_input(net->b, "x", SR_SHAPE(2, 16, 16, 32), SR_F32);
    SrNodeId y = sr_build(net->b, "conv2d", "conv1", &window, net->x);
    y = sr_build(net->b, "batch_norm", "norm", &norm, y);
    y = sr_build(net->b, "relu", "relu", NULL, y);
    net->y = sr_build(net->b, "conv2d", "conv2", &point, y);
    CHECK_OK(sr_builder_status(net->b));
    CHECK_OK(sr_params_allocate(net->params));
    sr_params_init(net->params, 3);
    SrPlanOptions options = {.mode = SR_MODE_TRAIN,
                             .outputs = &net->y,
                             .n_outputs = 1,
                             .losses = &net->y,
                             .n_losses = 1,
                             .machine = machine};
    CHECK_OK(sr_plan_compile(net->graph, &options, &net->plan));
    SrTensor x = sr_plan_input(net->plan, net->x);
    net->out = sr_plan_output(net->plan, net->y);
    net->n_out = sr_shape_count(net->out.shape);
    net->n_gradient = 32 * 32 * 9;
    fill(x.data, sr_shape_count(x.shape), 0.03f);
    fill(sr_plan_seed(net->plan, net->y), net->n_out, 0.01f);
    step(net);
    net->alone = sr_alloc((size_t)net->n_out * sizeof(float));
    net->gradient = sr_alloc((size_t)net->n_gradient * sizeof(float));
    memcpy(net->alone, net->out.data, (size_t)net->n_out * sizeof(float));
    memcpy(net->gradient, gradient_of(net), (size_t)net->n_gradient * sizeof(float));
    net->same = true;
}

static void end(Net *net) {
    sr_free(net->alone), sr_free(net->gradient);
    sr_plan_free(net->plan);
    sr_builder_free(net->b);
    sr_graph_free(net->graph);
    sr_params_free(net->params);
}

static void step_again(Net *net) {
    step(net);
    net->same &=
        memcmp(net->alone, net->out.data, (size_t)net->n_out * sizeof(float)) == 0 &&
        memcmp(net->gradient, gradient_of(net), (size_t)net->n_gradient * sizeof(float)) == 0;
}

static void *steps(void *arg) {
    for (int i = 0; i < STEPS; i++)
        step_again(arg);
    return NULL;
}

static bool differ(const Net *a, const Net *b) {
    return memcmp(a->alone, b->alone, (size_t)a->n_out * sizeof(float)) != 0;
}

TEST(test_two_machines) {
    SrMachine direct = *sr_machine_default(), transformed = *sr_machine_default();
    direct.conv_designs = SR_CONV_DIRECT;
    transformed.conv_designs = SR_CONV_DIRECT | SR_CONV_WINOGRAD4;
    SrMachine plain = sr_machine_at(SR_CPU_PLAIN);
    plain.conv_designs = 0;
    Net net[3] = {{0}};
    begin(&net[0], &direct);
    begin(&net[1], &transformed);
    begin(&net[2], &plain);
    // The plans have copies, so a change after compiling has no effect.
    direct.conv_designs = transformed.conv_designs = 0;
    CHECK(differ(&net[0], &net[1]) && differ(&net[0], &net[2]) && differ(&net[1], &net[2]));
    for (int i = 0; i < STEPS; i++)
        for (int k = 0; k < 3; k++)
            step_again(&net[k]);
    pthread_t thread[3];
    for (int k = 0; k < 3; k++)
        CHECK_INT(pthread_create(&thread[k], NULL, steps, &net[k]), 0);
    for (int k = 0; k < 3; k++)
        CHECK_INT(pthread_join(thread[k], NULL), 0);
    for (int k = 0; k < 3; k++) {
        CHECK(net[k].same);
        end(&net[k]);
    }
}

// The design is stored in the node, and every call of the node points to it.
TEST(test_design_is_kept) {
    SrMachine machine = *sr_machine_default();
    machine.conv_designs = 0;
    Net net = {0};
    begin(&net, &machine);
    int calls = 0;
    for (int c = 0; c < net.plan->n_calls; c++) {
        const SrPlanCall *call = &net.plan->calls[c];
        const SrPlanNode *node = &net.plan->nodes[call->node];
        if (call->kind >= SR_CALL_ADD || !node->op->design)
            continue;
        calls++;
        CHECK(call->args.design && call->args.design == node->design);
        CHECK_STR(sr_conv_design(call->args.design, SR_CONV_BACKWARD_WEIGHT), "plain");
    }
    CHECK(calls >= 4);
    end(&net);
}

SR_TESTS(pass_design, unit(test_two_machines), unit(test_design_is_kept))
