// Sums of gradients over the replicas of a step, by a fixed binary tree over replica numbers,
// ((0+1)+(2+3))+..., whoever computes which replica.
//
// A rank's replicas arrive one after the other and climb the tree as far as their neighbours are there;
// what a rank ends with is one subtree, and base/comm.h goes on with the tree over ranks.  So bits are
// those of one rank wherever a rank's share is a power of two; other shares cut the tree elsewhere and
// differ in the last bit (sr_grad_sums_exact).
#ifndef SR_TRAINER_RUN_GRAD_SUMS_H
#define SR_TRAINER_RUN_GRAD_SUMS_H

#include "graph/params.h"
#include "graph/plan.h"

typedef struct SrGradSums SrGradSums;

typedef struct {
    int mine;        // replicas of this rank
    bool descending; // they arrive from the last down
    bool own;        // the loss's own graph has gradients, which no replica adds to
    bool library;    // DISTRIBUTED.REDUCE: mpi
} SrGradSumsOptions;

SrStatus sr_grad_sums_new(SrParams *params, const SrGradSumsOptions *options, SrGradSums **out);
void sr_grad_sums_free(SrGradSums *sums);
// What it takes, before parameters are allocated.
size_t sr_grad_sums_bytes(SrParams *params, const SrGradSumsOptions *options);
// Do sums over so many replicas have the same bits for this number of ranks as for one?
bool sr_grad_sums_exact(int replicas, int ranks);

// The table holds the gradient of the loss's own parameters: put aside until sr_grad_sums_end.
void sr_grad_sums_keep_own(SrGradSums *sums);
// The backward of the replica that arrives as number `done`.  With several ranks and the last one, buckets of complete
// gradients leave while it goes on.
void sr_grad_sums_backward(SrGradSums *sums, SrPlan *plan, int done);
// The table holds the gradient of the replica that arrives as number `done` of this rank; after the last
// it holds the rank's sum.
void sr_grad_sums_add(SrGradSums *sums, int done);
// The table's gradients become the sum over all ranks, own ones added, times `factor`.  Collective.
void sr_grad_sums_end(SrGradSums *sums, float factor);

// Seconds: of the one step's exchange that was measured with nothing else going on, and of what a step since then waited
// for in the mean.  false: one rank, or no step has been measured.
bool sr_grad_sums_seconds(const SrGradSums *sums, double *exchange, double *waited);

#endif
