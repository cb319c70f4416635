// A small graph of toy ops, its plan, and what holds for any plan: what the tests of plans share.
#ifndef SR_TESTS_GRAPH_PLANNED_H
#define SR_TESTS_GRAPH_PLANNED_H

#include "graph/plan.h"
#include "tests/graph/toy.h"

typedef struct {
    SrParams *params;
    SrGraph *graph;
    SrNodeId x; // (rows, width)
} Planned;

// A graph with the one input x.
Planned planned_begin(int rows, int width);
void planned_end(Planned f);

// A node on two inputs, or one if b is SR_NO_NODE; its slots are called after `entries`, or after the node.
SrNodeId planned_add_shared(Planned f, const SrOp *op, const char *name, const char *entries,
                            SrNodeId a, SrNodeId b);
SrNodeId planned_add(Planned f, const SrOp *op, const char *name, SrNodeId a, SrNodeId b);

// For training unless the options say otherwise; parameters are drawn from seed 1.
SrPlan *planned_compile(Planned f, SrPlanOptions options);
void planned_fill(SrPlan *plan, SrNodeId x);
void planned_step(Planned f, SrPlan *plan, int64_t iteration); // gradients from zero

float planned_scalar(SrPlan *plan, SrNodeId id);
float *planned_entry(Planned f, const char *name);    // value, of the entry's shape
float *planned_gradient(Planned f, const char *name); // the same of its gradient

// Nothing shares an address while both live, by brute force over the printed spans and the calls themselves.
void planned_check(const SrPlan *plan);

#endif
