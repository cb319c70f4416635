// The engine of surgery: copies a graph node by node into a new one, with changes.  The old graph
// is never changed.  Internal to graph/.
#ifndef SR_GRAPH_EDIT_REWRITE_H
#define SR_GRAPH_EDIT_REWRITE_H

#include "graph/ir/graph_internal.h"

typedef struct {
    const SrGraph *from;
    SrGraph *to;
    SrNodeId *map;   // (nodes of from) node of `to` that holds its value; SR_NO_NODE: none
    SrNodeId *start; // (nodes of from + 1) number of nodes of `to` before this node's turn
    // (nodes of from) Outermost block to close around each node; negative: none.  Blocks inside a
    // closed one are dropped, and remarks are kept.  NULL: no blocks are closed.
    const int *owner;
    void *arg; // argument of the pass
} SrRewrite;

// Spec of a node with its inputs and table entries in `to`; spec points to the arrays in here.
typedef struct {
    SrNodeSpec spec;
    SrNodeId in[SR_OP_MAX_IN];
    int w[SR_OP_MAX_SLOTS];
} SrRewriteSpec;
SrStatus sr__rewrite_spec(SrRewrite *rw, SrNodeId id, SrRewriteSpec *out);
// Makes the spec without table entries (n_w is 0), which are not added to the new table.
SrStatus sr__rewrite_inputs(SrRewrite *rw, SrNodeId id, SrRewriteSpec *out);
// Adds the node with the tags of `id` and sets map[id] to it.
SrStatus sr__rewrite_add(SrRewrite *rw, SrNodeId id, const SrNodeSpec *spec);
// Copies node `id` unchanged; also copies inputs of the graph.
SrStatus sr__rewrite_copy(SrRewrite *rw, SrNodeId id);

// Copies a graph by calling `each` for every node in order.  `each` sets map[id], or leaves
// SR_NO_NODE to remove the node.  Stages, blocks and the title are copied.  params: table of the
// new graph, usually that of `from`.  map: receives the array, which the caller frees with
// sr_free; NULL: not wanted.
SrStatus sr__rewrite(const SrGraph *from, SrParams *params, SrStatus (*each)(SrRewrite *, SrNodeId),
                     void *arg, const int *owner, SrNodeId **map, SrGraph **out);

// Returns the number of readers of each node; the caller frees the array with sr_free.  NULL: out
// of memory.
int *sr__graph_readers(const SrGraph *graph);

#endif
