// Costs of nodes and graphs as their ops declare them.  A plan changes these costs by fusing, views
// and recomputing (SrPlanCost).
#ifndef SR_GRAPH_IR_COST_H
#define SR_GRAPH_IR_COST_H

#include "graph/ir/graph.h"

// Cost of a node: floating-point operations of its forward pass, learned numbers that it uses, and
// bytes of its value.
int64_t sr_graph_flops(const SrGraph *graph, SrNodeId id);
int64_t sr_graph_numbers(const SrGraph *graph, SrNodeId id);
int64_t sr_graph_bytes(const SrGraph *graph, SrNodeId id);

// Sums over all nodes of a graph.
typedef struct {
    int nodes;
    int64_t numbers; // learned numbers
    int64_t flops;   // floating-point operations of one forward pass, each node as built
} SrGraphCost;
SrGraphCost sr_graph_cost(const SrGraph *graph);

#endif
