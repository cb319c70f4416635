// Tiny ops that use every corner of the kernel contract, and an interpreter that runs any graph
// in double precision by the ops' references. They serve the tests of graph/ and are not
// registered as plugins.
#ifndef SR_TESTS_GRAPH_TOY_H
#define SR_TESTS_GRAPH_TOY_H

#include "graph/plan/plan.h"

extern const SrOp toy_mul; // a * b; reads both inputs, cannot add to dx
extern const SrOp toy_sum; // a + b; may overwrite a, adds to dx
extern const SrOp
    toy_affine; // w x + b along the last dimension; a state slot counts training forwards
extern const SrOp toy_tanh;  // cheap; backward reads y; may overwrite x
extern const SrOp toy_swish; // cheap, keeps a scale in `saved`, uses scratch
extern const SrOp toy_view;  // (n, c) -> (2 n, c / 2) or back; no kernel
extern const SrOp toy_stop;  // identity without gradient
extern const SrOp toy_mean;  // mean of all numbers, a scalar

// Values of all nodes in double precision, indexed by node; parameters are indexed by table
// entry.
typedef struct {
    const SrGraph *graph;
    SrMode mode;
    uint64_t seed;
    int64_t iteration;
    double **value; // NULL: not computed
    double **param;
} ToyRun;

ToyRun *toy_run_new(const SrGraph *graph, SrMode mode); // copies the present values of the table
void toy_run_free(ToyRun *run);
void toy_run_input(ToyRun *run, SrNodeId input, const float *data);
void toy_run(ToyRun *run); // computes all nodes of the mode

// Fills all memory of the plan that the host did not write with NaN, so that a read before the
// write shows.
void toy_poison(SrPlan *plan);
// Fills v with deterministic numbers in (-1, 1).
void toy_fill(float *v, int64_t n, uint64_t key);

#endif
