// Taps: the nodes of a graph whose values a user wants, and the names of the outputs.
#ifndef SR_GRAPH_EDIT_TAPS_H
#define SR_GRAPH_EDIT_TAPS_H

#include "graph/ir/layer_name.h"

typedef struct {
    const char *query; // such as "layer4", "layer1.0.relu_1" or "res5"
    const char *name;  // name of the output; the query unless renamed
    SrNodeId node;     // SR_NO_NODE before sr_taps_find
    SrLayerName found; // in the graph that sr_taps_find was given
} SrTap;
typedef struct {
    int n;
    SrTap *v; // in the order asked for
} SrTaps;

// Parses "layer1,layer4:deep": queries joined by commas, with an optional new name after a colon.
// Strings are the arena's.  SR_ERR_CONFIG: an empty list, an empty name, or one name for two
// outputs.
SrStatus sr_taps_parse(const char *text, SrArena *arena, SrTaps *out);
// Looks up the queries that have no node yet, among the nodes of this mode (sr_layer_find).  Two
// queries may give one node, and both outputs then hold its value.  SR_ERR_CONFIG: unknown, or a
// node of the other mode only.
SrStatus sr_taps_find(const SrGraph *graph, SrMode mode, SrLayerNames first, SrTaps *taps);

// Internal to graph/.  sr__taps_copy copies taps into the arena; from NULL: no taps.  sr__taps_move
// replaces nodes by map[node] after a rewrite.
SrStatus sr__taps_copy(const SrTaps *from, SrArena *arena, SrTaps *to);
void sr__taps_move(SrTaps *taps, const SrNodeId *map);

#endif
