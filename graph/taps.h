// Taps: which nodes of a graph a person wants the values of, and under which names.
#ifndef SR_GRAPH_TAPS_H
#define SR_GRAPH_TAPS_H

#include "graph/graph.h"

typedef struct {
    const char *query; // "layer4", "layer1.0.relu_1", "res5"
    const char *name;  // of the output; the query unless renamed
    SrNodeId node;     // SR_NO_NODE before sr_taps_find
} SrTap;
typedef struct {
    int n;
    SrTap *v; // in the order asked for
} SrTaps;

// "layer1,layer4:deep" : queries joined by commas, each renamed by a colon.  Empty list, empty name, one name for two
// outputs: SR_ERR_CONFIG.  Strings live in the arena.
SrStatus sr_taps_parse(const char *text, SrArena *arena, SrTaps *out);
// Looks all queries up (sr_graph_query) among the nodes of this mode.  Two queries may meet one node: both outputs then
// hold its value.  A node of the other mode only: SR_ERR_CONFIG that says so.
SrStatus sr_taps_find(const SrGraph *graph, SrMode mode, SrTaps *taps);

// Internal to graph/: a copy in the arena (`from` may be NULL), and the same taps after a rewrite.
SrStatus sr__taps_copy(const SrTaps *from, SrArena *arena, SrTaps *to);
void sr__taps_move(SrTaps *taps, const SrNodeId *map);

#endif
