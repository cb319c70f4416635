// Runs a step of several replicas, one after the other through one plan: R x batch images per
// step in the memory of one replica (docs/design/architecture.md, "Replicas").
//
//   for each replica: its images -> forward -> its rows   (running statistics move)
//   the loss over all rows, forward and backward -> a gradient for every row
//   for each replica: forward again (same bits, nothing moves), backward from its gradients
//                     (sr_replicas_keep: no forward again, but the memory of all)
//
// A loss whose rows are independent needs no second forward: it runs replica by replica, and the
// step's loss is the mean.  Gradients are the mean over replicas, batch norms see one replica,
// and running statistics are those of replica 0, as in torch's DistributedDataParallel.
//
// Each rank (base/ranks/comm.h) runs consecutive replicas.  Rows, kept values and sums of gradients
// (grad_sums.h) cross between ranks; every rank runs the whole graph of the loss.
#ifndef SR_TRAINER_RUN_RANKS_REPLICAS_H
#define SR_TRAINER_RUN_RANKS_REPLICAS_H

#include "trainer/model/model.h"
#include "trainer/model/train_graph.h"

typedef struct SrReplicas SrReplicas;

// Compiles the plans of a training graph: *plan for the images' graph, *loss_plan for the loss's
// graph, NULL if both are one.  In evaluation mode *plan is one forward to options->outputs.
SrStatus sr_replicas_compile(const SrTrainGraph *graph, const SrPlanOptions *options, SrPlan **plan,
                             SrPlan **loss_plan);
// Compiles the plan of the graph's teacher, in evaluation mode.
SrStatus sr_replicas_compile_teacher(const SrTrainGraph *graph, const SrPlanOptions *options,
                                     SrPlan **out);
// Returns the number of this rank's replicas that need a second forward without sr_replicas_keep.
int sr_replicas_again(const SrTrainGraph *graph);
// Returns the bytes in addition to the plans: images and rows of the step, state, sums of
// gradients.
size_t sr_replicas_bytes(const SrTrainGraph *graph);

// Needs graph->replicas > 1 and allocated parameters.  Borrows everything.
SrStatus sr_replicas_new(const SrTrainGraph *graph, SrPlan *plan, SrPlan *loss_plan, uint64_t seed,
                         SrReplicas **out);
// Keeps the activations of all replicas of this rank from now on, each in its own plan, so that
// no forward runs twice.  The bits are the same.  Does nothing if no forward would run twice.
SrStatus sr_replicas_keep(SrReplicas *replicas, const SrPlanOptions *options);
void sr_replicas_free(SrReplicas *replicas);

int sr_replicas_mine(const SrReplicas *replicas); // number of this rank's replicas
// Takes the plan's inputs as those of this rank's replica i for the next step.  labels: classes
// of its images (or columns of 1, 0, -1), for meters; NULL: no meter counts.
void sr_replicas_take(SrReplicas *replicas, int i, const int64_t *labels);
// Returns the labels of this rank's replica i, as they were taken.
const int64_t *sr_replicas_labels(const SrReplicas *replicas, int i);

// Gathers indices and other batch values of all ranks' replicas for the loss's graph, before the
// loss's before_step.  Collective.
void sr_replicas_begin(SrReplicas *replicas);

// Calls back after the first forward of this rank's replica i, with its outputs in the plan.
typedef struct {
    void (*after_forward)(void *arg, int i);
    void *arg;
} SrReplicaHook;

// Gets the seconds of a step's exchange of gradients, and the part that the step waited for
// (grad_sums.h).  False: unknown.
bool sr_replicas_sums(const SrReplicas *replicas, double *exchange, double *waited);

// Runs the forward of all replicas and of the loss, and gets the loss.  Collective.  SR_ERR_RUN,
// here and in the backward: ranks could not exchange the sums of a layer (sr_plan_forward).
SrStatus sr_replicas_forward(SrReplicas *replicas, int64_t iteration, const SrReplicaHook *hook,
                             double *loss);
// Computes gradients after the forward; the table's gradients must be zero.  Collective.
SrStatus sr_replicas_backward(SrReplicas *replicas, int64_t iteration);
// Returns the values that the hooks read instead of the plan's outputs; valid from
// sr_replicas_new on.
const SrLossValue *sr_replicas_values(const SrReplicas *replicas, int *n);

#endif
