// How every pass of surgery works: a graph is never changed, it is copied node by node into a new one.
// Internal to graph/.
#ifndef SR_GRAPH_REWRITE_H
#define SR_GRAPH_REWRITE_H

#include "graph/graph_internal.h"

typedef struct {
    const SrGraph *from;
    SrGraph *to;
    SrNodeId *map;   // (nodes of from) where its value is in `to`; SR_NO_NODE: nowhere
    SrNodeId *start; // (nodes of from + 1) nodes `to` had when the node's turn came
    const int *
        owner; // NULL, or (nodes of from) not negative: the blocks inside here end with this graph, and remarks go along
    void *arg; // the pass's own
} SrRewrite;

// A spec of node `id` with its inputs and table entries as they are in `to`; the arrays live in it.
typedef struct {
    SrNodeSpec spec;
    SrNodeId in[SR_OP_MAX_IN];
    int w[SR_OP_MAX_SLOTS];
} SrRewriteSpec;
SrStatus sr__rewrite_spec(SrRewrite *rw, SrNodeId id, SrRewriteSpec *out);
// Adds it, tags kept; map[id] is the new node.
SrStatus sr__rewrite_add(SrRewrite *rw, SrNodeId id, const SrNodeSpec *spec);
SrStatus sr__rewrite_copy(SrRewrite *rw, SrNodeId id); // both in one, and inputs of the graph

// Calls `each` for every node in order; it sets map[id] by one of the above, or itself, or leaves it SR_NO_NODE to
// remove the node.  Stages, blocks and the title follow.  params: the new graph's table, usually from's own.
// map: NULL, or gets the array, to be freed with sr_free.
SrStatus sr__rewrite(const SrGraph *from, SrParams *params, SrStatus (*each)(SrRewrite *, SrNodeId),
                     void *arg, const int *owner, SrNodeId **map, SrGraph **out);

// How many nodes read each node.  The caller frees it (sr_free); NULL when memory is out.
int *sr__graph_readers(const SrGraph *graph);

#endif
