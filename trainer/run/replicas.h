// The step of several replicas, one after the other through one plan: R x batch images a step in the
// memory of one replica (docs/ARCHITECTURE.md, "Replicas").
//
//   for each replica: its images -> forward -> its rows of the outputs     (running statistics move)
//   the loss over all rows, forward and backward -> a gradient for every row
//   for each replica: forward again (the same bits, nothing moves), backward from its rows' gradients
//
// A loss whose rows are independent needs no second forward: it is run replica by replica, and the
// step's loss is the mean.  As torch's DistributedDataParallel has it, gradients are the mean over
// replicas, batch norms see one replica, and running statistics are those of replica 0.
//
// Gradients are added by a fixed binary tree over replica numbers, ((0+1)+(2+3))+..., so that their
// bits can be had by any power of two of processes.
#ifndef SR_TRAINER_RUN_REPLICAS_H
#define SR_TRAINER_RUN_REPLICAS_H

#include "trainer/model/model.h"

typedef struct SrReplicas SrReplicas;

// The plans of a training graph: *plan of the images' graph, *loss_plan of the loss's where it has one
// of its own, else NULL.  `options` says the rest.
SrStatus sr_replicas_compile(const SrTrainGraph *graph, const SrPlanOptions *options, SrPlan **plan,
                             SrPlan **loss_plan);
// Bytes beside the plans: images and rows of the step, state, sums of gradients.
size_t sr_replicas_bytes(const SrTrainGraph *graph);

// Borrows everything.  For graph->replicas > 1, parameters allocated.
SrStatus sr_replicas_new(const SrTrainGraph *graph, SrPlan *plan, SrPlan *loss_plan, uint64_t seed,
                         SrReplicas **out);
void sr_replicas_free(SrReplicas *replicas);

// What stands in the plan's inputs becomes replica r's for the next step.
void sr_replicas_take(SrReplicas *replicas, int r);
// Labels of replica r as taken; NULL without labels.
const int64_t *sr_replicas_labels(const SrReplicas *replicas, int r);

// Calls back after replica r's first forward, with its outputs in the plan.
typedef struct {
    void (*after_forward)(void *arg, int r);
    void *arg;
} SrReplicaHook;

// Forwards of all replicas and of the loss; returns the loss.
double sr_replicas_forward(SrReplicas *replicas, int64_t iteration, const SrReplicaHook *hook);
// After it: gradients, into a table whose gradients are zero.
void sr_replicas_backward(SrReplicas *replicas, int64_t iteration);
// What the hooks read instead of the plan's outputs; valid from sr_replicas_new on.
const SrLossValue *sr_replicas_values(const SrReplicas *replicas, int *n);

#endif
