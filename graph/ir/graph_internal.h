// Inside of SrGraph, for the files of graph/ that make, search and rewrite graphs.
#ifndef SR_GRAPH_IR_GRAPH_INTERNAL_H
#define SR_GRAPH_IR_GRAPH_INTERNAL_H

#include "graph/ir/graph.h"
#include "graph/ir/name_map.h"

typedef struct {
    const char *name;
    SrNodeId id;
} SrAlias;

struct SrGraph {
    SrParams *params; // borrowed
    SrArena arena;    // names, params structs
    SrNode *nodes;
    int count, capacity;
    SrNameMap by_name;
    SrAlias *aliases;
    int n_aliases, aliases_capacity;
    SrNameMap by_alias; // alias -> node
    const char *title;  // NULL unless set
    SrBlock *blocks;
    int n_blocks, blocks_capacity;
    SrRemark *remarks;
    int n_remarks, remarks_capacity;
    SrNameMap by_remark;
    SrGraph **bodies; // of closed blocks, freed with this graph
    int n_bodies;
};

// Copies an op's params with all their strings and lists into the arena.  from NULL: the defaults.
SrStatus sr__params_copy(SrArena *arena, const SrOp *op, const char *name, const void *from,
                         const void **out);

// Makes `body` live as long as `graph`.
SrStatus sr__graph_own(SrGraph *graph, SrGraph *body);

// Returns the node of exactly this name, not an alias.  SR_NO_NODE: none.
SrNodeId sr__graph_named(const SrGraph *graph, const char *name);
// Returns the node of exactly this alias.  SR_NO_NODE: none.
SrNodeId sr__graph_alias(const SrGraph *graph, const char *alias);

// Tells whether a node or a remark has exactly this name.
bool sr__graph_has_name(const SrGraph *graph, const char *name);

#endif
