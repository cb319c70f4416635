// Tests precision of a plan's values: which are bfloat16, where conversions stand, and that the
// results agree with those of the plan on floats.
#include "base/mem.h"
#include "graph/ir/builder.h"
#include "graph/plan/plan_internal.h"
#include "graph/plan/plan_run.h"
#include "kernels/basic/linear.h"
#include "kernels/basic/scale.h"
#include "kernels/conv/conv2d.h"
#include "kernels/norm/batch_norm.h"
#include "kernels/norm/layer_norm.h"
#include "kernels/pool/pool2d.h"
#include "tests/check.h"
#include "tests/graph/toy.h"

typedef struct {
    SrParams *params;
    SrGraph *graph;
    SrNodeId x, conv, relu, scale, last, pooled, out;
} Net;

// Builds two convolutions with a residual around the second. The op scale, which has no bfloat16
// kernel, stands between them and the pooling.
static Net build(void) {
    Net n;
    SrBuilder *b;
    CHECK_OK(sr_params_new(&n.params));
    CHECK_OK(sr_graph_new(n.params, &n.graph));
    CHECK_OK(sr_builder_new(n.graph, &b));
    n.x = sr_build_input(b, "x", SR_SHAPE(3, 9, 8, 4), SR_F32);
    SrConv2dParams conv = {.out_channels = 8, .kernel_h = 3, .padding_h = 1, .padding_w = -1};
    SrBatchNormParams norm = {.eps = 1e-5, .momentum = 0.1};
    n.conv = sr_build(b, "conv2d", "conv1", &conv, n.x);
    n.relu = sr_build(b, "relu", "relu", NULL, sr_build(b, "batch_norm", "bn1", &norm, n.conv));
    SrNodeId second =
        sr_build(b, "batch_norm", "bn2", &norm, sr_build(b, "conv2d", "conv2", &conv, n.relu));
    SrScaleParams twice = {.factor = 2};
    SrNodeId gelu = sr_build(b, "gelu", "gelu", NULL,
                             sr_build_n(b, "add", "add", NULL, (SrNodeId[]){second, n.relu}, 2));
    n.scale = sr_build(b, "scale", "scale", &twice, gelu);
    n.last = sr_build(b, "conv2d", "conv3", &conv, n.scale);
    SrAdaptivePool2dParams pool = {1, 1};
    n.pooled = sr_build(b, "adaptive_avg_pool2d", "avgpool", &pool, n.last);
    n.out = sr_build(b, "flatten", "flatten", NULL, n.pooled);
    CHECK_OK(sr_builder_status(b));
    sr_builder_free(b);
    return n;
}

static void free_net(Net n) {
    sr_graph_free(n.graph);
    sr_params_free(n.params);
}

static SrPlan *compile(const Net *n, bool bf16, const SrNodeId *grad) {
    SrPlanOptions options = {.mode = SR_MODE_TRAIN,
                             .outputs = &n->out,
                             .n_outputs = 1,
                             .losses = &n->out,
                             .n_losses = 1,
                             .input_grads = grad,
                             .n_input_grads = grad != NULL,
                             .bf16 = bf16};
    SrPlan *plan = NULL;
    CHECK_OK(sr_params_allocate(n->params));
    sr_params_init(n->params, 1);
    CHECK_OK(sr_plan_compile(n->graph, &options, &plan));
    return plan;
}

static int calls_of(const SrPlan *plan, SrCallKind kind) {
    int n = 0;
    for (int c = 0; c < plan->n_calls; c++)
        n += plan->calls[c].kind == kind;
    return n;
}

TEST(test_types) {
    Net n = build();
    SrPlan *floats = compile(&n, false, NULL), *plan = compile(&n, true, NULL);
    for (SrNodeId id = 0; id < floats->n_nodes; id++)
        CHECK_INT(floats->nodes[id].dtype, SR_F32);
    CHECK_INT(calls_of(floats, SR_CALL_CAST), 0);
    CHECK_INT(plan->nodes[n.conv].dtype, SR_BF16);
    CHECK_INT(plan->nodes[n.relu].dtype, SR_BF16);
    CHECK_INT(plan->nodes[n.last].dtype, SR_BF16);
    CHECK_INT(plan->nodes[n.scale].dtype, SR_F32);  // has no bfloat16 kernel
    CHECK_INT(plan->nodes[n.pooled].dtype, SR_F32); // the host reads it through the view
    // Casts: x, into scale, out of scale; in the backward pass x and the output of scale. The
    // pooling reads either type.
    CHECK_INT(calls_of(plan, SR_CALL_CAST), 5);
    CHECK_INT(2 * plan->buffers[plan->nodes[n.conv].value].bytes,
              floats->buffers[floats->nodes[n.conv].value].bytes);
    for (int c = 0; c < plan->n_calls; c++) { // every call has tensors of one type
        const SrPlanCall *call = &plan->calls[c];
        SrDtype type = call->node == n.pooled ? SR_BF16 : plan->nodes[call->node].dtype;
        for (int i = 0; call->kind <= SR_CALL_BACKWARD && i < call->args.n_in; i++)
            CHECK_INT(call->args.x[i].dtype, type);
    }
    sr_plan_free(floats);
    sr_plan_free(plan);
    free_net(n);
}

// In a token network, products with weights and the values made of products alone are bfloat16;
// residual sums are float.
TEST(test_tokens) {
    Net n = {0};
    SrBuilder *b;
    CHECK_OK(sr_params_new(&n.params));
    CHECK_OK(sr_graph_new(n.params, &n.graph));
    CHECK_OK(sr_builder_new(n.graph, &b));
    SrLinearParams linear = {.out_features = 8, .bias = true};
    n.x = sr_build_input(b, "x", SR_SHAPE(2, 5, 8), SR_F32);
    SrLayerNormParams eps = {1e-5};
    SrNodeId norm = sr_build(b, "layer_norm", "norm", &eps, n.x);
    SrNodeId fc1 = sr_build(b, "linear", "fc1", &linear, norm);
    SrNodeId gelu = sr_build(b, "gelu", "gelu", NULL, fc1);
    SrNodeId fc2 = sr_build(b, "linear", "fc2", &linear, gelu);
    SrNodeId sum = sr_build_n(b, "add", "add", NULL, (SrNodeId[]){n.x, fc2}, 2);
    SrNodeId last = sr_build(b, "layer_norm", "last", &eps, sum);
    n.out = sr_build(b, "linear", "head", &linear, last);
    CHECK_OK(sr_builder_status(b));
    sr_builder_free(b);
    SrPlan *plan = compile(&n, true, NULL);
    CHECK_INT(plan->nodes[fc1].dtype, SR_BF16);
    CHECK_INT(plan->nodes[gelu].dtype, SR_BF16);
    CHECK_INT(plan->nodes[fc2].dtype, SR_BF16);
    CHECK_INT(plan->nodes[sum].dtype, SR_F32);
    CHECK_INT(plan->nodes[norm].dtype, SR_BF16); // only a product reads it
    CHECK_INT(plan->nodes[last].dtype, SR_F32);
    CHECK_INT(plan->nodes[n.out].dtype, SR_F32); // the host reads it
    CHECK_INT(calls_of(plan, SR_CALL_CAST), 0);  // norms and sums read either type
    sr_plan_free(plan);
    free_net(n);
}

static void run(const Net *n, SrPlan *plan) {
    SrTensor x = sr_plan_input(plan, n->x);
    toy_poison(plan);
    toy_fill(x.data, sr_shape_count(x.shape), 5);
    toy_fill(sr_plan_seed(plan, n->out), 3 * 8, 6);
    sr_params_zero_grad(n->params);
    sr_plan_forward(plan, 0);
    sr_plan_backward(plan);
}

static void check_near(const char *what, const float *a, const float *b, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++) { // fmax here ends gcc 12 for aarch64 in an internal error
        double size = fabs((double)b[i]);
        largest = size > largest ? size : largest;
    }
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= 0.04 * largest + 1e-6))
            fail_msg("%s[%lld] is %g, expected about %g", what, (long long)i, (double)a[i],
                     (double)b[i]);
}

// Compares the output, the gradients of all parameters, and the gradients of the input and of an
// inner value; the last two are floats.
static void compare_with_floats(const Net *n, SrNodeId grad) {
    SrPlan *floats = compile(n, false, &grad), *plan = compile(n, true, &grad);
    CHECK_INT(plan->nodes[grad].dtype, SR_F32);
    run(n, floats);
    float *kept[32];
    for (int i = 0; i < sr_params_count(n->params); i++) {
        SrParam *p = sr_params_at(n->params, i);
        kept[i] = sr_alloc((size_t)sr_shape_count(p->shape) * sizeof(float));
        if (p->grad)
            memcpy(kept[i], p->grad, (size_t)sr_shape_count(p->shape) * sizeof(float));
    }
    run(n, plan);
    check_near("out", sr_plan_output(plan, n->out).data, sr_plan_output(floats, n->out).data,
               3 * 8);
    SrTensor a = sr_plan_input_grad(plan, grad), b = sr_plan_input_grad(floats, grad);
    CHECK_INT(a.dtype, SR_F32);
    check_near("gradient", a.data, b.data, sr_shape_count(a.shape));
    for (int i = 0; i < sr_params_count(n->params); i++) {
        SrParam *p = sr_params_at(n->params, i);
        if (p->grad)
            check_near(p->name, p->grad, kept[i], sr_shape_count(p->shape));
        sr_free(kept[i]);
    }
    sr_plan_free(floats);
    sr_plan_free(plan);
}

TEST(test_computes_what_floats_do) {
    Net n = build();
    compare_with_floats(&n, n.x);
    compare_with_floats(&n, n.relu);
    free_net(n);
}

SR_TESTS(pass_precision, unit(test_types), unit(test_tokens), unit(test_computes_what_floats_do))
