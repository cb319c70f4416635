// Shared by the tests of plans: a small graph of toy ops, its plan, and a check that holds for
// any plan.
#ifndef SR_TESTS_GRAPH_PLANNED_H
#define SR_TESTS_GRAPH_PLANNED_H

#include "graph/plan/plan.h"
#include "tests/graph/toy.h"

typedef struct {
    SrParams *params;
    SrGraph *graph;
    SrNodeId x; // (rows, width)
} Planned;

// Returns a graph with one input x (rows, width).
Planned planned_begin(int rows, int width);
void planned_end(Planned f);

// Adds a node on two inputs, or on one if b is SR_NO_NODE. Its parameters are named after
// `entries`; NULL: after the node.
SrNodeId planned_add_shared(Planned f, const SrOp *op, const char *name, const char *entries,
                            SrNodeId a, SrNodeId b);
SrNodeId planned_add(Planned f, const SrOp *op, const char *name, SrNodeId a, SrNodeId b);

// Compiles a plan for training unless the options say otherwise. Parameters are drawn from seed
// 1. The caller frees it.
SrPlan *planned_compile(Planned f, SrPlanOptions options);
void planned_fill(SrPlan *plan, SrNodeId x);
// Runs the forward and the backward pass; gradients start from zero.
void planned_step(Planned f, SrPlan *plan, int64_t iteration);

float planned_scalar(SrPlan *plan, SrNodeId id);
float *planned_entry(Planned f, const char *name);    // value of the entry
float *planned_gradient(Planned f, const char *name); // gradient of the entry

// Fails if two values share an address while both are live. Compares all printed spans and all
// calls with each other.
void planned_check(const SrPlan *plan);

#endif
