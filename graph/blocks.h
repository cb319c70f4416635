// Closed blocks: a module call shown, and kept, as one node whose graph is inside it, as torch.fx does with leaf
// modules.  A graph with closed blocks is for listing and surgery; inline it before it is compiled.
#ifndef SR_GRAPH_BLOCKS_H
#define SR_GRAPH_BLOCKS_H

#include "graph/graph.h"
#include "graph/taps.h"

// A list of classes to keep closed, as --leaf takes it: "default" (the composites of torchvision.ops, which its
// feature extraction keeps closed), "through" (none), or classes joined by commas, "default" possibly among them.
// A class the graph has no block of: SR_ERR_CONFIG with the nearest and all it has.  Strings live in the arena.
SrStatus sr_leaf_parse(const SrGraph *graph, const char *text, SrArena *arena, SrStrings *out);
// With these classes closed the names inside their blocks are no nodes: SR_ERR_CONFIG for a query that says one, as
// torchvision has it.  Names above the blocks, and stages, mean what they always mean.
SrStatus sr_leaf_check_taps(const SrGraph *graph, const SrStrings *classes, const SrTaps *taps);

// Every outermost block of these classes becomes one node of op `block`, named by its path and standing where its last
// node stood.  A block of which two values are read outside: SR_ERR_CONFIG.
SrStatus sr_graph_close(const SrGraph *graph, const SrStrings *classes, SrGraph **out);
// The closed block `id` (SR_NO_NODE: all of them) replaced by what is inside.
SrStatus sr_graph_inline(const SrGraph *graph, SrNodeId id, SrGraph **out);

// What a closed block holds.  The body belongs to the graph of the node.
typedef struct {
    const SrGraph *body; // inputs first, in the order of the node's inputs
    const char *class_name;
    SrNodeId output; // of the body
    SrShape shape;
    bool channels_last;
} SrBlockParams;
extern const SrOp sr__op_block; // not among the registered ops: nobody can build or run one

// sr_graph_add for a spec of op block, with a copy of its body; internal to graph/.
SrStatus sr__block_copy(SrGraph *to, const SrNodeSpec *spec, SrNodeId *out);

#endif
