// Estimate of a step's time: a roofline over the planned calls (graph/plan/plan_time.c), with rates
// that are measured on this program's kernels.  `sslrun bench` runs the step itself.
//
// A peak from the data sheet would promise too much.  Each rate is therefore the one that a kind
// of call reaches at a size that does not fit the caches.  3x3 convolutions give the first rate,
// which is above the nominal peak if Winograd is used.  1x1 convolutions give the second.  Batch
// norms give the rate of memory.
#include "trainer/bench/estimate.h"
#include "base/clock.h"

#include <math.h>
#include <time.h>

#include "base/parallel.h"
#include "graph/ir/builder.h"
#include "graph/plan/plan_run.h"
#include "graph/plan/plan_time.h"
#include "kernels/conv/conv2d.h"
#include "kernels/norm/batch_norm.h"
#include "trainer/bench/forecast.h"
#include "trainer/run/run_plans.h"

enum { SIDE = 28, WIDTH = 128, WIDE = 4 * WIDTH, ROUNDS = 5 };
#define BUDGET_S 0.1 // seconds for a probe

typedef struct {
    SrNodeId (*build)(SrBuilder *b, SrNodeId x);
    int images, channels; // of the probe's input
    bool arithmetic;      // limited by: true: arithmetic; false: memory
} Probe;

static SrNodeId conv(SrBuilder *b, const char *leaf, int channels, int kernel, SrNodeId x) {
    SrConv2dParams p = {.out_channels = channels,
                        .kernel_h = kernel,
                        .padding_h = kernel / 2,
                        .padding_w = kernel / 2};
    return sr_build(b, "conv2d", leaf, &p, x);
}

// Two probes share the convolutions of a bottleneck: the middle one, and the two around it.
static SrNodeId build_windows(SrBuilder *b, SrNodeId x) { return conv(b, "conv2", WIDTH, 3, x); }

static SrNodeId build_matrices(SrBuilder *b, SrNodeId x) {
    return conv(b, "conv3", WIDE, 1, conv(b, "conv1", WIDTH, 1, x));
}

static SrNodeId build_norms(SrBuilder *b, SrNodeId x) {
    const SrBatchNormParams p = {.eps = 1e-5, .momentum = 0.1};
    x = sr_build(b, "batch_norm", "bn1", &p, x);
    x = sr_build(b, "batch_norm", "bn2", &p, sr_build(b, "relu", "relu", NULL, x));
    return sr_build(b, "relu", "relu", NULL, x);
}

// Fills x with usual numbers.  Pages that were never written are all the same page of zeros,
// which is read at another speed.
static void fill(float *x, SrShape shape) {
    for (int64_t i = 0; i < sr_shape_count(shape); i++)
        x[i] = (float)(i % 251) / 125 - 1;
}

// Returns processor time of all threads together, so that other programs on a busy machine do not
// make the kernels look slow.
static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Returns the fastest of a few rounds, because a disturbance only makes a round longer.  On a busy
// machine the budget may allow one round only.
static double time_plan(SrPlan *plan) {
    double fastest = HUGE_VAL, enough = sr_clock() + BUDGET_S;
    for (int i = 0; i < ROUNDS + 1 && (i < 2 || sr_clock() < enough);
         i++) { // the first touches the pages
        double began = cpu_seconds();
        if (sr_plan_forward(plan, i) != SR_OK || sr_plan_backward(plan) != SR_OK)
            break; // the run itself will say why
        if (i > 0)
            fastest = fmin(fastest, cpu_seconds() - began);
    }
    return fastest / sr_parallel_threads();
}

// Runs a probe on (images, SIDE, SIDE, channels), forward and backward.  *rate: FLOP or bytes per
// second.
static SrStatus measure_on(const SrMachine *machine, SrBuilder *b, const Probe *probe,
                           double *rate) {
    SrPlan *plan = NULL;
    SrParams *params = sr_graph_params(sr_builder_graph(b));
    SrShape shape = SR_SHAPE(probe->images, SIDE, SIDE, probe->channels);
    SrNodeId x = sr_build_input(b, "x", shape, SR_F32), y = probe->build(b, x);
    SR_TRY(sr_builder_status(b));
    SR_TRY(sr_params_allocate(params));
    sr_params_init(params, 0);
    SrPlanOptions options = {.mode = SR_MODE_TRAIN,
                             .losses = &y,
                             .n_losses = 1,
                             .input_grads = &x,
                             .n_input_grads = 1,
                             .machine = machine};
    SR_TRY(sr_plan_compile(sr_builder_graph(b), &options, &plan));
    fill(sr_plan_input(plan, x).data, shape);
    fill(sr_plan_seed(plan, y), sr_build_shape(b, y));
    SrPlanCost cost = sr_plan_cost(plan);
    double amount = probe->arithmetic ? (double)(cost.forward_flops + cost.backward_flops)
                                      : sr_plan_traffic(plan);
    *rate = amount / time_plan(plan);
    sr_plan_free(plan);
    return SR_OK;
}

static SrStatus measure(const SrMachine *machine, const Probe *probe, double *rate) {
    SrParams *params = NULL;
    SrGraph *graph = NULL;
    SrBuilder *b = NULL;
    SrStatus status;
    SR_TRY_GOTO(sr_params_new(&params));
    SR_TRY_GOTO(sr_graph_new(params, &graph));
    SR_TRY_GOTO(sr_builder_new(graph, &b));
    SR_TRY_GOTO(measure_on(machine, b, probe, rate));
done:
    sr_builder_free(b);
    sr_graph_free(graph);
    sr_params_free(params);
    return status;
}

// Adds the forward of a frozen trunk, which belongs to the step until the trunk's features are
// kept.
static SrStatus add_frozen_trunk(SrRun *run, const SrPlanRates *rates, double *seconds) {
    SrPlan *dry = NULL;
    SR_TRY(sr_feature_source_dry(&run->trunk, &dry));
    *seconds += sr_plan_seconds(dry, rates);
    sr_plan_free(dry);
    return SR_OK;
}

double sr_estimate_backward_share(const SrRun *run) {
    double forward = (double)run->cost.plan.forward_flops,
           backward = (double)run->cost.plan.backward_flops;
    return backward > 0 ? backward / (forward + backward) : 0;
}

SrStatus sr_estimate_step(SrRun *run, double *seconds) {
    SrPlan *dry = NULL, *loss = NULL;
    SrPlanRates rates;
    const SrMachine *machine = sr_model_machine(run->model);
    SR_TRY(measure(machine, &(Probe){build_windows, 4, WIDTH, true}, &rates.window_flops));
    SR_TRY(measure(machine, &(Probe){build_matrices, 4, WIDE, true}, &rates.matrix_flops));
    SR_TRY(measure(machine, &(Probe){build_norms, 8, WIDE, false}, &rates.bytes));
    SR_TRY(sr_run_compile(run, true, &dry, &loss));
    *seconds = sr_plan_seconds(dry, &rates) * sr_forecast_passes(run->config->replicas,
                                                                 loss && run->cost.kept_bytes == 0,
                                                                 sr_estimate_backward_share(run)) +
               (double)run->cost.update_bytes / rates.bytes +
               (double)run->cost.update_flops / rates.matrix_flops;
    if (loss)
        *seconds += sr_plan_seconds(loss, &rates);
    sr_plan_free(dry);
    sr_plan_free(loss);
    return run->frozen_trunk ? add_frozen_trunk(run, &rates, seconds) : SR_OK;
}
