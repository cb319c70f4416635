// Everything a training run stands on, built once from the configuration: data, model, graph, plan,
// optimiser, schedules. Also the dry version without data or memory, for `sslrun check`.
#ifndef SR_TRAINER_RUN_RUN_H
#define SR_TRAINER_RUN_RUN_H

#include "trainer/run/checkpoint.h"
#include "trainer/run/data_split.h"
#include "trainer/run/feed.h"
#include "trainer/run/step.h"
#include "trainer/schedules/schedule.h"

typedef enum {
    SR_RUN_TRAIN, // data, memory, everything
    SR_RUN_BENCH, // no data: the inputs are filled by the caller
    SR_RUN_CHECK, // no data, no activation memory: builds, plans and counts
} SrRunMode;

// What a run costs, before the first step.
typedef struct {
    int64_t parameters, trainable; // of trunk and heads, and whatever else learns
    size_t parameter_bytes;        // their values and gradients
    size_t optimizer_bytes,
        statistics_bytes; // momentum and the like; running statistics of trunk and heads
    size_t update_bytes;  // what the optimiser reads and writes in a step
    size_t loss_bytes;    // queues, a momentum encoder
    size_t loader_bytes;  // batches ahead of the step
    size_t replica_bytes; // images, rows and sums of gradients of several replicas
    size_t kept_bytes;    // activations of further replicas (DISTRIBUTED.MEMORY); 0: computed again
    size_t blas_bytes;    // what products of matrices touch of OpenBLAS's work space
    SrPlanCost plan;
    size_t available_bytes; // free memory of this machine (or of its control group); 0: unknown
} SrRunCost;

// A step over a number of images: its graph, the plan of it, what a step needs.
typedef struct {
    int batch;
    SrTrainGraph graph;
    SrPlan *plan;
    SrStep step;
} SrRunTail;

typedef struct {
    const SrConfig *config; // borrowed
    SrRunMode mode;
    SrArena arena;
    SrSplit train; // empty but for n_views, h, w outside of SR_RUN_TRAIN, and with TEST_ONLY
    SrModel *model;
    bool frozen_trunk; // the graph begins with the trunk's features
    SrFrozenTrunk trunk;
    SrFeed feed; // fills the plan
    SrTrainGraph graph;
    SrPlan *plan, *loss_plan; // loss_plan: NULL unless the loss has a graph of its own
    SrReplicas *replicas;     // NULL: one
    SrOptim *optim;
    SrEmaModel ema; // HOOKS.EMA_MODEL
    SrSchedule *lr, *lr_head, *decay,
        *decay_head; // lr_head: lr unless configured; decay: NULL unless configured
    SrStep step;
    SrRunTail
        tail; // of an epoch's last batch where DROP_LAST=False leaves it smaller; else batch 0
    SrRunCost cost;
    int batch;       // images of a replica
    int step_images; // of all replicas
    int step_loaded; // images of the data set a step takes; more where the collator merges some
    int64_t steps_per_epoch; // 0 without data
    int64_t max_iterations;
} SrRun;

// A configuration whose parameters are all frozen can only be checked: its cost is one forward.
SrStatus sr_run_open(const SrConfig *config, SrRunMode mode, SrRun **out);
void sr_run_close(SrRun *run);
// Once parameters have the values a run begins with, after `iteration` steps of a checkpoint
// (resumed) or none: the loss looks at them, a frozen trunk is compiled and its features are kept
// where that is possible.  Before the first step.
SrStatus sr_run_begin(SrRun *run, int64_t iteration, bool resumed);
// What a loss's before_epoch gets.
SrEpoch sr_run_epoch(SrRun *run, int64_t iteration, int epoch);
// The tail if it is what runs batch number `at` of an epoch, else NULL.
SrRunTail *sr_run_tail_at(SrRun *run, int64_t at);
// The step of that batch, and its plan's inputs, for sr_feed_next.
SrStep *sr_run_step_at(SrRun *run, int64_t at);
SrFeedTarget sr_run_target_at(SrRun *run, int64_t at);
// Labels of the split against the scores of each output; which: "TRAIN" or "TEST".  A run without labels: fine.
SrStatus sr_run_check_classes(const SrRun *run, const SrSplit *split, const char *which);
// The plan of a step; dry: without memory.  The run does not own it.
SrStatus sr_run_compile(SrRun *run, bool dry, SrPlan **out, SrPlan **loss);
// The images of step number `at` of its epoch, of all replicas, to where the step takes them.  *end: there are none left;
// labels: of the last replica, until the next call.
SrStatus sr_run_load(SrRun *run, int64_t at, bool *end, const int64_t **labels, double *wait_s);
SrStatus sr_run_compile_trunk(SrRun *run,
                              SrPlan **out); // of a frozen trunk alone, always without memory
SrCheckpointParts sr_run_parts(SrRun *run);

// Learning rates (and decay, set in the optimiser) for the update after `iteration` others; per
// step or per epoch.
void sr_run_rates(SrRun *run, int64_t iteration, double *lr, double *lr_head);

// "24.6 M parameters: 24.5 M trained, ... a step", then "  memory: activations 1.2 GB, ...": two lines, no end.
void sr_run_cost_text(const SrRun *run, SrText *out);
// The same as JSON fields of an object already begun.
void sr_run_cost_json(const SrRun *run, SrText *out);

size_t sr_run_state_bytes(const SrRunCost *cost); // optimiser, statistics, loss
size_t sr_run_bytes(const SrRunCost *cost);       // all of it together

// For run.c (run_check.c): batch norms over a single row, and a layer of the evaluation that the trunk has not.
SrStatus sr__run_check_norms(const SrRun *run);
SrStatus sr__run_check_layer(SrRun *run);
// For run.c (run_rates.c): run->lr and the others.  VISSL uses lr_head only where
// head_optimizer_params.use_different_lr says so.
SrStatus sr__run_build_schedules(SrRun *run);
SrStatus sr__run_compile(const SrRun *run, const SrTrainGraph *graph, bool dry, SrPlan **out,
                         SrPlan **loss);
// For run.c (run_cost.c): fills run->cost from the table and from dry plans; SR_ERR_MEMORY where it does not fit.
SrStatus sr__run_count_cost(SrRun *run);
SrStatus sr__run_check_memory(const SrRun *run);

#endif
