// Checks a plan against the same graph in double precision: outputs number by number, and the
// gradient of each parameter along a direction in which every number moves, against central
// differences of sum(output * seed). Single ops have their own check, number by number, in
// tests/kernels/test_op.c.
#ifndef SR_TESTS_GRAPH_GRADIENTS_H
#define SR_TESTS_GRAPH_GRADIENTS_H

#include "graph/plan/plan.h"

typedef struct { // all pointers are borrowed
    SrGraph *graph;
    SrParams *params;
    SrPlan *plan; // training plan; its outputs are its losses
    const SrNodeId *inputs, *outputs;
    int n_inputs, n_outputs;
} GradientCheck;

// Fills inputs and seeds with numbers between -1 and 1.
void gradients_fill(const GradientCheck *c);
// Fails the test on a difference and names the output or the parameter. Returns the number of
// trainable parameters.
int gradients_check(const GradientCheck *c);

#endif
