// A plan's outputs and gradients against the same graph in double precision: the forward number by number, and each
// parameter's gradient along a direction in which no number stands still, against central differences of
// sum(output * seed).  Not for ops alone (tests/kernels/test_op.c checks those number by number).
#ifndef SR_TESTS_GRAPH_GRADIENTS_H
#define SR_TESTS_GRAPH_GRADIENTS_H

#include "graph/plan.h"

typedef struct { // all borrowed
    SrGraph *graph;
    SrParams *params;
    SrPlan *plan; // of the outputs, which are its losses too, for training
    const SrNodeId *inputs, *outputs;
    int n_inputs, n_outputs;
} GradientCheck;

// Inputs and seeds get numbers between -1 and 1.
void gradients_fill(const GradientCheck *c);
// Fails the test, naming the output or the parameter; returns how many parameters learn.
int gradients_check(const GradientCheck *c);

#endif
