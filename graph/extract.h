// Extraction: a graph cut down to what its taps need, with a parameter table of its own.
//
// What torchvision's create_feature_extractor does: outputs are replaced by the taps, dead code goes, and parameters of
// removed nodes leave the table, so that they are neither loaded nor kept in memory.
#ifndef SR_GRAPH_EXTRACT_H
#define SR_GRAPH_EXTRACT_H

#include "base/text.h"
#include "graph/taps.h"

typedef struct {
    int nodes;
    int64_t numbers; // learned
    int64_t flops;   // of one forward, each node as built
} SrGraphCost;
SrGraphCost sr_graph_cost(const SrGraph *graph);

typedef struct {
    SrParams *params; // owned, entries of the nodes that stayed, in their order
    SrGraph *graph;   // owned
    SrTaps train,
        eval; // nodes are those of the new graph; names and order as asked; n 0 where nothing was
    SrArena arena;
    SrGraphCost before, after;
} SrExtraction;

// Taps per mode, either NULL: the mode then has no nodes at all.  They are looked up here.  Inputs always stay.
// Values of an allocated table are copied; otherwise the new table is not allocated either.
SrStatus sr_graph_extract(const SrGraph *graph, const SrTaps *train, const SrTaps *eval,
                          SrExtraction *out);
void sr_extraction_free(SrExtraction *extraction); // a zeroed one is fine
// "28 of 70 nodes, 0.2 of 11.7 M parameters, 0.1 of 0.3 GFLOP stay"
void sr_extraction_report(const SrExtraction *extraction, SrText *out);

// Every batch norm that follows a convolution nobody else reads, folded into it; for evaluation with frozen weights
// only, so the result has eval nodes alone and taps.train is empty.  Needs a table with values.  The convolution takes
// the name of the norm, whose value it gives; its weight keeps its name and shape and gets a bias "<conv>.bias".
// A norm whose convolution is tapped itself, or shared, stays.
// y = a (x * w - mean) + beta with a = gamma / sqrt(var + eps)  =>  w' = a w, b' = beta + a (b - mean).
SrStatus sr_graph_fold_norm(const SrExtraction *from, SrExtraction *out, int *n_folded);

#endif
