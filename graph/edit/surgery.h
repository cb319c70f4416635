// Surgery: small changes of a graph.  Each makes a new graph over the same parameter table and
// checks it by sr_graph_check.  The old graph stays unchanged.  Callers find nodes of the new
// graph by name.
//
// Extraction and folding are in extract.h, closed blocks in blocks.h, printing and parsing in
// print.h.
#ifndef SR_GRAPH_EDIT_SURGERY_H
#define SR_GRAPH_EDIT_SURGERY_H

#include "graph/ir/graph.h"

// Sets these bits in the tags of every node whose name matches the glob, and returns the number of
// matches.  Surgery keeps tags.
int sr_graph_tag(SrGraph *graph, const char *glob, unsigned bits);

#define SR_CHAIN_MAX 16
typedef struct {
    int n; // number of nodes; 0: no chain
    SrNodeId at[SR_CHAIN_MAX];
} SrChain;
// Finds the first chain of ops such as "conv2d -> batch_norm -> relu" ("*": any op) whose first
// node is `from` or later.  Each node reads the one before, and no other node reads the inner
// ones. SR_ERR_CONFIG: a bad pattern.
SrStatus sr_graph_find_chain(const SrGraph *graph, const char *pattern, SrNodeId from,
                             SrChain *out);

// An op to put somewhere.  New parameters are called <prefix><node>.<slot>.
typedef struct {
    const char *op;
    const void *params; // NULL: defaults
    const char *leaf;   // append: the new node's own name within the module; unused by replace
    const char *prefix; // of new parameters; NULL: none
    // Table of the new graph: gets the entries of its nodes, without values.  Entries that only the
    // replaced node has are not among them, so that the new op may have their names.  NULL: the
    // table of the old graph
    SrParams *table;
} SrGraft;
// Replaces node `id` by this op, with the inputs and the name of the node.
SrStatus sr_graph_replace(const SrGraph *graph, SrNodeId id, const SrGraft *graft, SrGraph **out);
// Adds a node after `id`; all readers of `id` read the new node.
SrStatus sr_graph_append(const SrGraph *graph, SrNodeId id, const SrGraft *graft, SrGraph **out);
// Copies a graph over another table, which gets the entries of its nodes, without values.
SrStatus sr_graph_copy(const SrGraph *graph, SrParams *table, SrGraph **out);
// Removes node `id`; its readers read its first input.  An input of the graph cannot be erased.
SrStatus sr_graph_erase(const SrGraph *graph, SrNodeId id, SrGraph **out);
// Makes a graph that inverts the chain first .. last, in which each node is the only input of the
// next. The new graph has an input with the shape and name of `last`, then the inverse ops in
// reverse order, each with the name of the value that it restores.  SR_ERR_CONFIG: an op has no
// inverse.
SrStatus sr_graph_invert(const SrGraph *graph, SrNodeId first, SrNodeId last, SrGraph **out);

#endif
