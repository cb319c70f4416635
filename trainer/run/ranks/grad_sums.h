// Sums gradients over the replicas of a step, by a fixed binary tree over replica numbers,
// ((0+1)+(2+3))+..., whichever rank computes a replica.
//
// A rank's replicas arrive one after the other; each is added to its neighbour's subtree once
// that is complete.  A rank ends with one subtree, and base/ranks/comm.h continues the tree over
// ranks.  So bits are those of one rank if a rank's share is a power of two.  Other shares cut
// the tree elsewhere and differ in the last bit (sr_grad_sums_exact).
#ifndef SR_TRAINER_RUN_RANKS_GRAD_SUMS_H
#define SR_TRAINER_RUN_RANKS_GRAD_SUMS_H

#include "graph/ir/params.h"
#include "graph/plan/plan.h"

typedef struct SrGradSums SrGradSums;

typedef struct {
    int mine;        // replicas of this rank
    bool descending; // replicas arrive from the last to the first
    bool own;        // the loss's own graph has gradients, which no replica adds to
    bool library;    // DISTRIBUTED.REDUCE is mpi
} SrGradSumsOptions;

SrStatus sr_grad_sums_new(SrParams *params, const SrGradSumsOptions *options, SrGradSums **out);
void sr_grad_sums_free(SrGradSums *sums);
// Returns the bytes that the sums need; parameters need not be allocated.
size_t sr_grad_sums_bytes(SrParams *params, const SrGradSumsOptions *options);
// True if sums over `replicas` have the same bits with `ranks` ranks as with one.
bool sr_grad_sums_exact(int replicas, int ranks);

// Stores the table's gradients, those of the loss's own parameters, until sr_grad_sums_end.
void sr_grad_sums_keep_own(SrGradSums *sums);
// Runs the backward pass of the replica that arrives as number `done`.  During a rank's last one,
// buckets of complete gradients are already sent to other ranks.  SR_ERR_RUN: sr_plan_backward.
SrStatus sr_grad_sums_backward(SrGradSums *sums, SrPlan *plan, int done);
// Adds the table's gradients, those of the replica that arrives as number `done`.  After the last
// one the table holds the rank's sum.
void sr_grad_sums_add(SrGradSums *sums, int done);
// Makes the table's gradients the sum over all ranks, plus the stored ones, times `factor`.
// Collective.
void sr_grad_sums_end(SrGradSums *sums, float factor);

// Gets the seconds of the exchange, measured in one step while nothing else ran, and the mean
// seconds that later steps waited for it.  False: there is one rank, or no step was measured yet.
bool sr_grad_sums_seconds(const SrGradSums *sums, double *exchange, double *waited);

#endif
