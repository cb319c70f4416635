// The op of a closed block: one node with a graph inside (graph/ir/blocks.h).  Internal to graph/.
#ifndef SR_GRAPH_IR_BLOCK_OP_H
#define SR_GRAPH_IR_BLOCK_OP_H

#include "graph/ir/graph.h"

typedef struct {
    const SrGraph *body; // graph inside, with inputs first, in the node's order; owned by its graph
    const char *class_name;
    SrNodeId output; // node of the body that gives the block's value
    SrShape shape;
    bool channels_last;
} SrBlockParams;
extern const SrOp sr__op_block; // not registered: builders cannot add it, and plans cannot run it

#endif
