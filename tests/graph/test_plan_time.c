// Tests roofline estimate of a plan's time: half the rate takes twice the time, and each rate
// counts where it is the bound.
#include <math.h>

#include "graph/ir/builder.h"
#include "graph/plan/plan.h"
#include "graph/plan/plan_time.h"
#include "kernels/attention/attention.h"
#include "kernels/basic/linear.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/conv2d.h"
#include "tests/check.h"

TEST(test_roofline) {
    SrParams *params;
    SrGraph *graph;
    SrBuilder *b;
    SrPlan *plan;
    CHECK_OK(sr_params_new(&params));
    CHECK_OK(sr_graph_new(params, &graph));
    CHECK_OK(sr_builder_new(graph, &b));
    SrNodeId x = sr_build_input(b, "x", SR_SHAPE(2, 8, 8, 16), SR_F32);
    SrConv2dParams window = {.out_channels = 16, .kernel_h = 3, .padding_h = 1, .padding_w = 1};
    SrConv2dParams point = {.out_channels = 16, .kernel_h = 1};
    SrNodeId y = sr_build(b, "conv2d", "conv2", &point, sr_build(b, "conv2d", "conv1", &window, x));
    CHECK_OK(sr_builder_status(b));
    SrMachine machine = *sr_machine_default();
    // The direct design reads as many weights as there are parameters; Winograd would read more.
    machine.conv_designs = SR_CONV_DIRECT;
    SrPlanOptions options = {.mode = SR_MODE_EVAL,
                             .outputs = &y,
                             .n_outputs = 1,
                             .machine = &machine,
                             .no_allocate = true};
    CHECK_OK(sr_plan_compile(graph, &options, &plan));

    // 2 images of 8 x 8 pixels need 16 x 16 products of 2 FLOPs for each pixel and each of the 9
    // taps. With 16 channels a 3x3 convolution reaches sqrt(16 / 128) of the machine's rate.
    double flops = 2 * 64 * 16 * 16 * 2, slow = sqrt(8);
    CHECK_NEAR(sr_plan_seconds(plan, &(SrPlanRates){flops, HUGE_VAL, HUGE_VAL}), 9 * slow, 1e-9);
    CHECK_NEAR(sr_plan_seconds(plan, &(SrPlanRates){HUGE_VAL, flops, HUGE_VAL}), 1, 1e-9);
    CHECK_NEAR(sr_plan_seconds(plan, &(SrPlanRates){flops, flops / 2, HUGE_VAL}), 9 * slow + 2,
               1e-9);
    // Each convolution reads and writes 2 * 64 * 16 floats. Its weights are read, written packed,
    // and read again.
    double bytes = 4.0 * (4 * 2 * 64 * 16 + 3 * 10 * 16 * 16);
    CHECK_NEAR(sr_plan_traffic(plan), bytes, 1e-9);
    CHECK_NEAR(sr_plan_seconds(plan, &(SrPlanRates){HUGE_VAL, HUGE_VAL, bytes / 2}), 2, 1e-9);
    sr_plan_free(plan);
    sr_builder_free(b);
    sr_graph_free(graph);
    sr_params_free(params);
}

// Queries, keys and values of attention are one input; its gradient takes four products of the
// size of the forward's two. A linear layer takes one product for the input's gradient and one
// for the weight's.
TEST(test_backward_flops) {
    SrParams *params;
    SrGraph *graph;
    SrBuilder *b;
    SrPlan *plan;
    CHECK_OK(sr_params_new(&params));
    CHECK_OK(sr_graph_new(params, &graph));
    CHECK_OK(sr_builder_new(graph, &b));
    SrNodeId x = sr_build_input(b, "x", SR_SHAPE(2, 5, 8), SR_F32);
    SrLinearParams qkv = {.out_features = 24};
    SrAttentionParams heads = {.num_heads = 2};
    SrNodeId y = sr_build(b, "attention", "heads", &heads, sr_build(b, "linear", "qkv", &qkv, x));
    CHECK_OK(sr_builder_status(b));
    SrPlanOptions options = {.mode = SR_MODE_TRAIN,
                             .losses = &y,
                             .n_losses = 1,
                             .input_grads = &x,
                             .n_input_grads = 1,
                             .no_allocate = true};
    CHECK_OK(sr_plan_compile(graph, &options, &plan));
    SrPlanCost cost = sr_plan_cost(plan);
    int64_t linear = 2 * 2 * 5 * 8 * 24, attention = 2 * 2 * 5 * 5 * 8 * 2;
    CHECK_INT(cost.forward_flops, linear + attention);
    CHECK_INT(cost.backward_flops, 2 * linear + 2 * attention);
    sr_plan_free(plan);
    sr_builder_free(b);
    sr_graph_free(graph);
    sr_params_free(params);
}

SR_TESTS(plan_time, unit(test_roofline), unit(test_backward_flops))
