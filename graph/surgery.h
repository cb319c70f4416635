// Surgery: small changes of a graph, each giving a new graph over the same parameter table, checked by sr_graph_check
// before it is handed out.  The old graph stays as it was.  Ids of the new graph are found by name.
//
// Extraction and folding are in extract.h, closed blocks in blocks.h, printing and parsing in print.h.
#ifndef SR_GRAPH_SURGERY_H
#define SR_GRAPH_SURGERY_H

#include "graph/graph.h"

// Sets these bits in the tags of every node whose name matches the glob; returns how many.  Tags survive all passes.
int sr_graph_tag(SrGraph *graph, const char *glob, unsigned bits);

#define SR_CHAIN_MAX 16
typedef struct {
    int n; // 0: none
    SrNodeId at[SR_CHAIN_MAX];
} SrChain;
// The first chain of ops like "conv2d -> batch_norm -> relu" ("*": any op) whose first node is `from` or later: each
// node reads the one before, and nobody else reads the inner ones.  Bad pattern: SR_ERR_CONFIG.
SrStatus sr_graph_find_chain(const SrGraph *graph, const char *pattern, SrNodeId from,
                             SrChain *out);

// An op to put somewhere.  New parameters are called <node>.<slot>.
typedef struct {
    const char *op;
    const void *params; // NULL: defaults
    const char *leaf;   // append: the new node's own name within the module; unused by replace
} SrGraft;
// Node `id` becomes this op on the same inputs, under the same name.
SrStatus sr_graph_replace(const SrGraph *graph, SrNodeId id, const SrGraft *graft, SrGraph **out);
// A new node after `id`, read by all who read `id` before.
SrStatus sr_graph_append(const SrGraph *graph, SrNodeId id, const SrGraft *graft, SrGraph **out);
// Without node `id`: who read it reads its first input.  An input of the graph cannot be erased.
SrStatus sr_graph_erase(const SrGraph *graph, SrNodeId id, SrGraph **out);
// The inverse of the chain first .. last (each the only input of the next) as a graph of its own: an input of last's
// shape, called as last is, then the inverse ops in reverse order, each called as the value it restores.  An op without
// an inverse: SR_ERR_CONFIG.
SrStatus sr_graph_invert(const SrGraph *graph, SrNodeId first, SrNodeId last, SrGraph **out);

#endif
