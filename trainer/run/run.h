// Builds all parts of a training run from the configuration: data, model, graph, plan, optimiser,
// schedules.  `sslrun check` builds them without data and memory.
#ifndef SR_TRAINER_RUN_RUN_H
#define SR_TRAINER_RUN_RUN_H

#include "trainer/data/data_split.h"
#include "trainer/run/checkpoint.h"
#include "trainer/run/feed.h"
#include "trainer/run/step.h"
#include "trainer/run/teacher_feed.h"
#include "trainer/schedules/schedule.h"

typedef enum {
    SR_RUN_TRAIN, // data, memory, everything
    SR_RUN_BENCH, // no data: the inputs are filled by the caller
    SR_RUN_CHECK, // no data, no activation memory: builds, plans and counts
} SrRunMode;

// Cost of a run, known before the first step.  Memory is in bytes.
typedef struct {
    int64_t parameters, trainable; // numbers in trunk, heads and all other parts that learn
    size_t parameter_bytes;        // their values and gradients
    // States of the optimiser (momentum); running statistics of trunk and heads
    size_t optimizer_bytes, statistics_bytes;
    size_t update_bytes;       // memory that the optimiser reads and writes in a step
    size_t loss_bytes;         // queues, a momentum encoder
    size_t loader_bytes;       // batches ahead of the step
    size_t replica_bytes;      // images, rows and sums of gradients of several replicas
    size_t kept_bytes;         // kept activations of further replicas.  0: they are recomputed
    size_t teacher_file_bytes; // file of DISTILLATION.CACHED_VIEWS.  0: none, or unknown
    size_t blas_bytes;         // part of OpenBLAS's work space that matrix products touch
    SrPlanCost plan;
    size_t available_bytes; // free memory of this machine or its control group.  0: unknown
} SrRunCost;

// Step over a smaller last batch: its graph and plan.
typedef struct {
    int batch;
    SrTrainGraph graph;
    SrPlan *plan;
    SrTeacherFeed teacher;
    SrStep step;
} SrRunTail;

typedef struct {
    const SrConfig *config; // borrowed
    SrRunMode mode;
    SrArena arena;
    // Only n_views, h and w are set with TEST_ONLY and in modes other than SR_RUN_TRAIN.
    SrSplit train;
    SrModel *model;
    bool frozen_trunk; // inputs of the graph are features of `trunk`
    SrFeatureSource trunk;
    SrFeed feed; // fills the plan
    // With DISTILLATION.CACHED_VIEWS: the teacher, the file of its outputs (NULL: none), and the
    // epoch whose images and views are shown.
    SrTeacherFeed teacher;
    SrTeacherCache *teacher_cache;
    int64_t shown_epoch;
    SrTrainGraph graph;
    SrPlan *plan, *loss_plan; // loss_plan is NULL: the loss has no graph of its own
    SrReplicas *replicas;     // NULL: one replica
    SrOptim *optim;
    SrEmaModel ema; // HOOKS.EMA_MODEL
    SrLora lora;    // MODEL.LORA
    // Schedules of rates and weight decays.  lr_head is lr and a decay is NULL where none is set.
    SrSchedule *lr, *lr_head, *decay, *decay_head;
    SrStep step;
    // Step of an epoch's last batch, if DROP_LAST=False makes it smaller.  batch is 0: there is
    // none
    SrRunTail tail;
    SrRunCost cost;
    int batch;       // images per replica
    int step_images; // images of all replicas
    int step_loaded; // images read from the data set per step; more if the collator merges some
    int64_t steps_per_epoch; // 0 without data
    int64_t max_iterations;
} SrRun;

// Builds a run.  A configuration whose parameters are all frozen can only be checked: its cost is
// that of one forward pass.
SrStatus sr_run_open(const SrConfig *config, SrRunMode mode, SrRun **out);
void sr_run_close(SrRun *run);
// Prepares for the first step, once parameters have the values that the run begins with, after
// `iteration` steps.  The loss sees the parameters, a frozen trunk is compiled, and its features
// are kept if possible.
SrStatus sr_run_begin(SrRun *run, int64_t iteration, bool resumed);
// Returns the view of the run that a loss's before_epoch gets.
SrEpoch sr_run_epoch(SrRun *run, int64_t iteration, int epoch);
// Returns the tail if it runs batch number `at` of an epoch, else NULL.
SrRunTail *sr_run_tail_at(SrRun *run, int64_t at);
// Return the step of batch number `at`, and its plan's inputs for sr_feed_next.
SrStep *sr_run_step_at(SrRun *run, int64_t at);
SrFeedTarget sr_run_target_at(SrRun *run, int64_t at);
// Checks that each output has a score for every class of the split.  which: "TRAIN" or "TEST".
// Returns SR_OK in a run without labels.
SrStatus sr_run_check_classes(const SrRun *run, const SrSplit *split, const char *which);
// Compiles the plan of a step; the caller owns it.  dry: without memory.
SrStatus sr_run_compile(SrRun *run, bool dry, SrPlan **out, SrPlan **loss);
// Starts an epoch at its step number `at`.  Order and views are those of the epoch; with
// DISTILLATION.CACHED_VIEWS = K, those of epoch mod K.
SrStatus sr_run_start_epoch(SrRun *run, int64_t epoch, int64_t at);
// Loads the images of step number `at` of its epoch, for all replicas of this rank.  *end: there
// are no images left.  *labels gets those of the last replica, valid until the next call.
SrStatus sr_run_load(SrRun *run, int64_t at, bool *end, const int64_t **labels, double *wait_s);
SrCheckpointParts sr_run_parts(SrRun *run);

// Gets the learning rates for the update after `iteration` others, and sets the decays in the
// optimiser.
void sr_run_rates(SrRun *run, int64_t iteration, double *lr, double *lr_head);

// Writes two lines: "24.6 M parameters: 24.5 M trained, ..." and "  memory: activations 1.2 GB,
// ...". The second has no line end.
void sr_run_cost_text(const SrRun *run, SrText *out);
// Writes the cost as fields of an open JSON object.
void sr_run_cost_json(const SrRun *run, SrText *out);

size_t sr_run_state_bytes(const SrRunCost *cost); // optimiser, statistics, loss
size_t sr_run_bytes(const SrRunCost *cost);       // all of it together

// Compiles the plan of a graph's teacher, in evaluation mode.  The caller owns it.  dry: without
// memory.
SrStatus sr__run_compile_teacher(const SrRun *run, const SrTrainGraph *graph, bool dry,
                                 SrPlan **out);

// run_check.c: SR_ERR_CONFIG for batch norms over a single row, and for an evaluated layer that
// the trunk lacks.
SrStatus sr__run_check_norms(const SrRun *run);
SrStatus sr__run_check_layer(SrRun *run);
// run_rates.c: builds run->lr and the other schedules.  lr_head has its own schedule only with
// head_optimizer_params.use_different_lr, as in VISSL.
SrStatus sr__run_build_schedules(SrRun *run);
SrStatus sr__run_compile(const SrRun *run, const SrTrainGraph *graph, bool dry, SrPlan **out,
                         SrPlan **loss);
// run_cost.c: fill run->cost from the table and from dry plans, and check it.  SR_ERR_MEMORY: the
// run needs more memory than is free.
SrStatus sr__run_count_cost(SrRun *run);
SrStatus sr__run_check_memory(const SrRun *run);

#endif
