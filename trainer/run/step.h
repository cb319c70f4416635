// Runs one training step on a compiled plan, in VISSL's order: inputs, hooks of the loss,
// forward, check of the loss, backward, gradients of adapters, temporary freezing, clipping,
// optimiser, sums of adapters, hooks of the loss.  Allocates nothing.
#ifndef SR_TRAINER_RUN_STEP_H
#define SR_TRAINER_RUN_STEP_H

#include "trainer/model/freeze.h"
#include "trainer/model/lora.h"
#include "trainer/model/model.h"
#include "trainer/model/train_graph.h"
#include "trainer/optim/optim.h"
#include "trainer/run/ema_model.h"
#include "trainer/run/ranks/replicas.h"

// Borrows everything; set up by trainer/run/run.c or by hand in tests.
typedef struct {
    SrParams *params;
    const SrTrainGraph *graph;
    SrPlan *plan;         // plan of graph->graph, in train mode (sr_replicas_compile)
    SrPlan *loss_plan;    // plan of graph->loss_graph.  NULL: both are one graph
    SrReplicas *replicas; // NULL: one replica
    SrReplicaHook hook;   // called after each replica's forward pass
    SrOptim *optim;
    SrEmaModel ema; // n is 0: none
    SrLora lora;    // n is 0: none
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

// Returns the view of a step that the loss's hooks get.
SrLossStep sr_step_view(const SrStep *step, int64_t iteration, int epoch);
// Shows the loss the parameters before the first sr_step_run: drawn and loaded, or (resumed)
// those of a checkpoint.
void sr_step_start(const SrStep *step, int64_t iteration, bool resumed);
// Runs a step.  *loss is set even on failure.  SR_ERR_RUN: the loss is not finite; the message
// names the iteration and the first layer that is not.  Parameters and optimiser are then as
// before the step, and so is the state, except for what the forward pass changes.
SrStatus sr_step_run(SrStep *step, const SrStepArgs *args, double *loss);

#endif
