// One training step on a compiled plan, in VISSL's order: inputs, hooks of the loss,
// forward, check of the loss, backward, temporary freezing, clipping, optimiser, hooks of the loss.
// Allocates nothing.
#ifndef SR_TRAINER_RUN_STEP_H
#define SR_TRAINER_RUN_STEP_H

#include "trainer/model/freeze.h"
#include "trainer/model/model.h"
#include "trainer/optim/optim.h"
#include "trainer/run/ema_model.h"
#include "trainer/run/replicas.h"

// Borrows everything; set up by trainer/run/run.c or by hand in tests.
typedef struct {
    SrParams *params;
    const SrTrainGraph *graph;
    SrPlan *plan;         // of graph->graph, in train mode (sr_replicas_compile)
    SrPlan *loss_plan;    // of graph->loss_graph where that is another, else NULL
    SrReplicas *replicas; // NULL: one
    SrReplicaHook hook;   // after each replica's forward
    SrOptim *optim;
    SrEmaModel ema; // n 0: none
    SrFreeze freeze;
    bool clip; // MODEL.GRAD_CLIP
    double clip_norm_type, clip_max_norm;
    bool check_nan;
    int64_t max_iterations;
} SrStep;

typedef struct {
    double lr, lr_head;
    int64_t iteration; // updates done before this step
    int epoch;
} SrStepArgs;

// What the loss's hooks see.
SrLossStep sr_step_view(const SrStep *step, int64_t iteration, int epoch);
// Once parameters have the values the run begins with, drawn and loaded, or (resumed) those of a
// checkpoint: lets the loss look at them.  Before the first sr_step_run.
void sr_step_start(const SrStep *step, int64_t iteration, bool resumed);
// *loss is set even on failure.  Not finite: SR_ERR_RUN with the iteration and the layer where it
// first appeared; parameters, state and optimiser are then as before the step, but for what the
// forward updates.
SrStatus sr_step_run(SrStep *step, const SrStepArgs *args, double *loss);

#endif
