// Closed blocks: module calls that are kept as one node with a graph inside, as torch.fx keeps
// leaf modules.  A graph with closed blocks is for lists and surgery; it must be inlined before
// compilation.
#ifndef SR_GRAPH_IR_BLOCKS_H
#define SR_GRAPH_IR_BLOCKS_H

#include "graph/edit/taps.h"
#include "graph/ir/graph.h"

// Parses a list of classes to keep closed, in the form of --leaf.  "default" is the composites of
// torchvision.ops, which torchvision's feature extraction keeps closed; "through" is none.  Other
// lists are classes joined by commas, and may contain "default".  Strings are the arena's.
// SR_ERR_CONFIG: the graph has no block of a class; the message gives the nearest and all
// classes.
SrStatus sr_leaf_parse(const SrGraph *graph, const char *text, SrArena *arena, SrStrings *out);
// SR_ERR_CONFIG: a tap names a node inside a block of these classes.  As in torchvision such
// nodes cannot be tapped.  Names above the blocks, and stages, keep their meaning.
SrStatus sr_leaf_check_taps(const SrGraph *graph, const SrStrings *classes, const SrTaps *taps);

// Turns every outermost block of these classes into one node of op `block`, named by its path, at
// the place of its last node.  SR_ERR_CONFIG: two values of a block are read outside.
SrStatus sr_graph_close(const SrGraph *graph, const SrStrings *classes, SrGraph **out);
// Replaces the closed block `id` by the nodes inside.  SR_NO_NODE: replaces all closed blocks.
SrStatus sr_graph_inline(const SrGraph *graph, SrNodeId id, SrGraph **out);

#endif
