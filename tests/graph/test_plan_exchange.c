// Tests the exchange of sums between ranks as a step of a plan: its values, when it runs, and what
// a failure says.  A library of this file stands for two ranks, of which the other one has equal
// rows.
#include <string.h>

#include "base/ranks/comm.h"
#include "graph/ir/builder.h"
#include "graph/plan/plan_internal.h"
#include "graph/plan/plan_run.h"
#include "kernels/norm/batch_norm.h"
#include "tests/check.h"

enum { ROWS = 6, CHANNELS = 3 };

static int gathers;     // number of calls of all_gather
static bool apart;      // the other rank does not answer
static bool leave_mark; // the parts of the other rank differ from this rank's

static bool launched(void) { return true; }
static SrStatus start(int *rank, int *size) {
    *rank = 0;
    *size = 2;
    return SR_OK;
}
static void stop(void) {}
static void end_all(int code) { fail_msg("a rank ended all ranks with code %d", code); }
static SrStatus all_gather(const void *mine, size_t bytes, void *all) {
    gathers++;
    if (apart)
        SR_FAIL(SR_ERR_IO, "the cable is cut");
    memcpy(all, mine, bytes);
    memcpy((char *)all + bytes, mine, bytes);
    if (leave_mark)
        *(double *)((char *)all + bytes) += ROWS;
    return SR_OK;
}

static const SrCommLibrary twins = {.name = "twins",
                                    .launched = launched,
                                    .start = start,
                                    .stop = stop,
                                    .abort = end_all,
                                    .all_gather = all_gather};

typedef struct {
    SrParams *params;
    SrGraph *graph;
    SrNodeId x, y;
    SrPlan *plan;
} Net;

// Compiles x -> batch_norm, whose output is the loss, with the gradient of x.
static Net build(int sync, int64_t eval_from) {
    Net n = {0};
    SrBuilder *b;
    CHECK_OK(sr_params_new(&n.params));
    CHECK_OK(sr_graph_new(n.params, &n.graph));
    CHECK_OK(sr_builder_new(n.graph, &b));
    n.x = sr_build_input(b, "x", SR_SHAPE(ROWS, CHANNELS), SR_F32);
    SrBatchNormParams norm = {.eps = 1e-5, .momentum = 0.5, .silu = true, .sync = sync};
    sr_builder_set_eval_from(b, eval_from);
    n.y = sr_build(b, "batch_norm", "layer1.bn1", &norm, n.x);
    CHECK_OK(sr_builder_status(b));
    sr_builder_free(b);
    SrPlanOptions options = {.mode = SR_MODE_TRAIN,
                             .outputs = &n.y,
                             .n_outputs = 1,
                             .losses = &n.y,
                             .n_losses = 1,
                             .input_grads = &n.x,
                             .n_input_grads = 1};
    CHECK_OK(sr_params_allocate(n.params));
    sr_params_init(n.params, 1);
    CHECK_OK(sr_plan_compile(n.graph, &options, &n.plan));
    float *x = sr_plan_input(n.plan, n.x).data, *seed = sr_plan_seed(n.plan, n.y);
    for (int i = 0; i < ROWS * CHANNELS; i++) {
        x[i] = (float)(i * i % 7) - 2;
        seed[i] = (float)(i % 5) - 1;
    }
    return n;
}

static void close(Net *n) {
    sr_plan_free(n->plan);
    sr_graph_free(n->graph);
    sr_params_free(n->params);
}

static float param(const Net *n, const char *name, int i, bool grad) {
    int at = sr_params_find(n->params, name);
    assert_true(at >= 0);
    const SrParam *p = sr_params_at(n->params, at);
    return (grad ? p->grad : (const float *)p->value)[i];
}

static int set_up(void **state) {
    (void)state;
    apart = leave_mark = false;
    SrStatus status = sr_comm_start(&twins);
    gathers = 0; // the start gathers names of machines
    return status == SR_OK ? 0 : -1;
}

static int tear_down(void **state) {
    sr_comm_stop();
    return process_state_restore(state);
}

// Twice the same rows have the mean and variance of one copy. The unbiased variance counts 2 ROWS
// rows, and gradients of weights stay sums over the own rows.
TEST(test_values) {
    Net alone = build(0, INT64_MAX), shared = build(2, INT64_MAX);
    CHECK_OK(sr_plan_forward(alone.plan, 0));
    CHECK_OK(sr_plan_backward(alone.plan));
    CHECK_INT(gathers, 0);
    CHECK_OK(sr_plan_forward(shared.plan, 0));
    CHECK_INT(gathers, 1);
    CHECK_OK(sr_plan_backward(shared.plan));
    CHECK_INT(gathers, 2);
    const float *y[2] = {sr_plan_output(alone.plan, alone.y).data,
                         sr_plan_output(shared.plan, shared.y).data};
    const float *dx[2] = {sr_plan_input_grad(alone.plan, alone.x).data,
                          sr_plan_input_grad(shared.plan, shared.x).data};
    for (int i = 0; i < ROWS * CHANNELS; i++) {
        CHECK_NEAR(y[0][i], y[1][i], 1e-6);
        CHECK_NEAR(dx[0][i], dx[1][i], 1e-6);
    }
    for (int c = 0; c < CHANNELS; c++) {
        double own = param(&alone, "layer1.bn1.running_var", c, false) - 0.5,
               both = param(&shared, "layer1.bn1.running_var", c, false) - 0.5;
        CHECK_NEAR(own * (ROWS - 1) / ROWS, both * (2 * ROWS - 1) / (2 * ROWS), 1e-6);
        CHECK_NEAR(param(&alone, "layer1.bn1.weight", c, true),
                   param(&shared, "layer1.bn1.weight", c, true), 1e-5);
    }
    close(&alone);
    close(&shared);
}

// Rows of the other rank that sum to ROWS more move the mean of channel 0 by a half.
TEST(test_other_rows) {
    Net n = build(2, INT64_MAX);
    CHECK_OK(sr_plan_forward(n.plan, 0));
    double before = param(&n, "layer1.bn1.running_mean", 0, false);
    leave_mark = true;
    CHECK_OK(sr_plan_forward(n.plan, 1));
    double mean = 2 * before;
    CHECK_NEAR(param(&n, "layer1.bn1.running_mean", 0, false), 0.5 * before + 0.5 * (mean + 0.5),
               1e-5);
    close(&n);
}

// A norm that is frozen from iteration 3 on uses its running statistics and exchanges nothing.
TEST(test_evaluation) {
    Net n = build(2, 3);
    CHECK_OK(sr_plan_forward(n.plan, 2));
    CHECK_OK(sr_plan_backward(n.plan));
    CHECK_INT(gathers, 2);
    CHECK_OK(sr_plan_forward(n.plan, 3));
    CHECK_OK(sr_plan_backward(n.plan));
    CHECK_INT(gathers, 2);
    close(&n);
}

// The steps are counted with their pass.
TEST(test_cost) {
    Net n = build(2, INT64_MAX);
    SrPlanCost cost = sr_plan_cost(n.plan);
    CHECK_INT(cost.n_forward, 1);
    CHECK_INT(cost.n_backward, 1);
    CHECK_INT(n.plan->n_calls, 6);
    close(&n);
}

TEST(test_failure) {
    Net n = build(2, INT64_MAX);
    apart = true;
    CHECK_FAILS(sr_plan_forward(n.plan, 0), SR_ERR_IO, "layer 'layer1.bn1'");
    CHECK(strstr(sr_status_message(), "the cable is cut"));
    apart = false;
    CHECK_OK(sr_plan_forward(n.plan, 0));
    apart = true;
    CHECK_FAILS(sr_plan_backward(n.plan), SR_ERR_IO, "the cable is cut");
    close(&n);
}

#define twin(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
SR_TESTS(plan_exchange, twin(test_values), twin(test_other_rows), twin(test_evaluation),
         twin(test_cost), twin(test_failure))
