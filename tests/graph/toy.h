// Tiny ops that use every corner of the kernel contract, and an interpreter that runs any graph in double
// precision through the ops' references.  For the tests of graph/; not registered as plugins.
#ifndef SR_TESTS_GRAPH_TOY_H
#define SR_TESTS_GRAPH_TOY_H

#include "graph/plan.h"

extern const SrOp toy_mul; // a * b; reads both, cannot add to dx
extern const SrOp toy_sum; // a + b; in place on a, adds to dx
extern const SrOp
    toy_affine; // w x + b along the last dimension; counts its train forwards in a state slot
extern const SrOp toy_tanh;  // cheap, reads y, in place
extern const SrOp toy_swish; // cheap, keeps a scale in `saved`, uses scratch
extern const SrOp toy_view;  // (n, c) -> (2 n, c / 2) or back; no kernel
extern const SrOp toy_stop;  // identity without gradient
extern const SrOp toy_mean;  // -> scalar

// Every node of the graph in double.  Fields are indexed by node and by table entry.
typedef struct {
    const SrGraph *graph;
    SrMode mode;
    uint64_t seed;
    int64_t iteration;
    double **value; // NULL where not computed
    double **param;
} ToyRun;

ToyRun *toy_run_new(const SrGraph *graph, SrMode mode); // copies the table's present values
void toy_run_free(ToyRun *run);
void toy_run_input(ToyRun *run, SrNodeId input, const float *data);
void toy_run(ToyRun *run); // all nodes of the mode

// All memory of the plan that the host has not filled becomes NaN: whoever reads before writing shows.
void toy_poison(SrPlan *plan);
// Deterministic numbers in (-1, 1).
void toy_fill(float *v, int64_t n, uint64_t key);

#endif
