// Extraction: a graph cut down to what its taps need, with a parameter table of its own.
//
// Works like torchvision's create_feature_extractor: taps replace the outputs, and dead code goes.
// Parameters of removed nodes leave the table, so that they are neither loaded nor kept in memory.
#ifndef SR_GRAPH_EDIT_EXTRACT_H
#define SR_GRAPH_EDIT_EXTRACT_H

#include "base/text/text.h"
#include "graph/edit/taps.h"

typedef struct {
    int nodes;
    int64_t numbers; // learned numbers
    int64_t flops;   // floating-point operations of one forward pass, each node as built
} SrGraphCost;
SrGraphCost sr_graph_cost(const SrGraph *graph);

typedef struct {
    SrParams *params; // entries of the nodes that stayed, in their order; owned
    SrGraph *graph;   // owned
    // Taps with the nodes of the new graph, in the order of the request.  n 0: none were requested.
    SrTaps train, eval;
    SrArena arena;
    SrGraphCost before, after;
} SrExtraction;

// Extracts what the taps of each mode need.  Taps without a node are looked up, torchvision's
// names first.  Taps NULL: the mode has no nodes in the new graph.  Inputs always stay.  Values of
// an allocated table are copied; if the old table is not allocated, the new one is not either.
SrStatus sr_graph_extract(const SrGraph *graph, const SrTaps *train, const SrTaps *eval,
                          SrExtraction *out);
void sr_extraction_free(SrExtraction *extraction); // legal for a zeroed struct
// Prints "28 of 70 nodes, 0.2 of 11.7 M parameters, 0.1 of 0.3 GFLOP stay".
void sr_extraction_report(const SrExtraction *extraction, SrText *out);

// Folds every batch norm into the convolution before it, if the norm is the convolution's only
// reader. That is valid for evaluation with frozen weights: the result has eval nodes only, and
// out->train is empty.  The table must have values.  The convolution takes the name of the norm,
// whose value it gives.  Its weight keeps name and shape, and it gets a bias "<conv>.bias".  A
// norm whose convolution is tapped or shared stays.  With a = gamma / sqrt(var + eps):
//     y = a (x * w + b - mean) + beta, so w' = a w and b' = beta + a (b - mean)
SrStatus sr_graph_fold_norm(const SrExtraction *from, SrExtraction *out, int *n_folded);

#endif
