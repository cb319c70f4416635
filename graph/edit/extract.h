// Extraction: a graph cut down to what its taps need, with a parameter table of its own.
//
// Works like torchvision's create_feature_extractor: taps replace the outputs, and dead code goes.
// Parameters of removed nodes leave the table, so that they are neither loaded nor kept in memory.
#ifndef SR_GRAPH_EDIT_EXTRACT_H
#define SR_GRAPH_EDIT_EXTRACT_H

#include "base/text/text.h"
#include "graph/edit/taps.h"
#include "graph/ir/cost.h"

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

#endif
