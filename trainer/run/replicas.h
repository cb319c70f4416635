// The step of several replicas, one after the other through one plan: R x batch images a step in the
// memory of one replica (docs/design/architecture.md, "Replicas").
//
//   for each replica: its images -> forward -> its rows of the outputs     (running statistics move)
//   the loss over all rows, forward and backward -> a gradient for every row
//   for each replica: forward again (the same bits, nothing moves), backward from its rows' gradients
//                     (sr_replicas_keep: no forward again, but the memory of all)
//
// A loss whose rows are independent needs no second forward: it is run replica by replica, and the
// step's loss is the mean.  As torch's DistributedDataParallel has it, gradients are the mean over
// replicas, batch norms see one replica, and running statistics are those of replica 0.
//
// Each rank (base/comm.h) runs its share, neighbours in number; rows, kept values and sums of gradients
// (grad_sums.h) cross between ranks, the loss's graph is run by every rank alike.
#ifndef SR_TRAINER_RUN_REPLICAS_H
#define SR_TRAINER_RUN_REPLICAS_H

#include "trainer/model/model.h"

typedef struct SrReplicas SrReplicas;

// The plans of a training graph: *plan of the images' graph, *loss_plan of the loss's where it has one
// of its own, else NULL.  `options` says the rest.
SrStatus sr_replicas_compile(const SrTrainGraph *graph, const SrPlanOptions *options, SrPlan **plan,
                             SrPlan **loss_plan);
// Replicas of this rank whose second forward further plans would save.
int sr_replicas_again(const SrTrainGraph *graph);
// Bytes beside the plans: images and rows of the step, state, sums of gradients.
size_t sr_replicas_bytes(const SrTrainGraph *graph);

// Borrows everything.  For graph->replicas > 1, parameters allocated.
SrStatus sr_replicas_new(const SrTrainGraph *graph, SrPlan *plan, SrPlan *loss_plan, uint64_t seed,
                         SrReplicas **out);
// From here on activations of all replicas of this rank are kept, in a plan each, and no forward is run again: the same
// bits.  Nothing to do where no forward would be.
SrStatus sr_replicas_keep(SrReplicas *replicas, const SrPlanOptions *options);
void sr_replicas_free(SrReplicas *replicas);

int sr_replicas_mine(const SrReplicas *replicas); // of this rank
// What stands in the plan's inputs becomes replica i's of this rank for the next step.  labels: the classes of its
// images (or columns of 1, 0, -1), for those who count; NULL: nobody will.
void sr_replicas_take(SrReplicas *replicas, int i, const int64_t *labels);
// Labels of this rank's replica i as taken.
const int64_t *sr_replicas_labels(const SrReplicas *replicas, int i);

// Before the loss's before_step: indices and whatever else of a batch its graph knows are this step's, of the replicas of
// all ranks.  Collective.
void sr_replicas_begin(SrReplicas *replicas);

// Calls back after the first forward of this rank's replica i, with its outputs in the plan.
typedef struct {
    void (*after_forward)(void *arg, int i);
    void *arg;
} SrReplicaHook;

// Seconds of a step's exchange of gradients, and of that what it waited for (grad_sums.h); false: none is known.
bool sr_replicas_sums(const SrReplicas *replicas, double *exchange, double *waited);

// Forwards of all replicas and of the loss; returns the loss.  This and the next are collective.
double sr_replicas_forward(SrReplicas *replicas, int64_t iteration, const SrReplicaHook *hook);
// After it: gradients, into a table whose gradients are zero.
void sr_replicas_backward(SrReplicas *replicas, int64_t iteration);
// What the hooks read instead of the plan's outputs; valid from sr_replicas_new on.
const SrLossValue *sr_replicas_values(const SrReplicas *replicas, int *n);

#endif
