// The parts of a training run: data, model, graph, plan, optimiser, schedules.  run.h builds them.
#ifndef SR_TRAINER_RUN_RUN_PARTS_H
#define SR_TRAINER_RUN_RUN_PARTS_H

#include "trainer/data/data_split.h"
#include "trainer/model/train_graph.h"
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
    int64_t update_flops;      // operations of the optimiser's products in a step
    size_t loss_bytes;         // queues, a momentum encoder
    size_t loader_bytes;       // batches ahead of the step
    size_t replica_bytes;      // images, rows and sums of gradients of several replicas
    size_t kept_bytes;         // kept activations of further replicas.  0: they are recomputed
    size_t teacher_file_bytes; // file of DISTILLATION.CACHED_VIEWS.  0: none, or unknown
    size_t blas_bytes;         // part of OpenBLAS's work space that matrix products touch; 0: ours
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
    SrConfig *stage;        // the same, if it is that of a stage; owned.  NULL: it is not
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

// Returns the tail if it runs batch number `at` of an epoch, else NULL.
static inline SrRunTail *sr_run_tail_at(SrRun *run, int64_t at) {
    return run->tail.batch > 0 && at + 1 == run->steps_per_epoch ? &run->tail : NULL;
}

#endif
