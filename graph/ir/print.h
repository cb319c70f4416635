// Prints graphs as text, for `sslrun graph`.
#ifndef SR_GRAPH_IR_PRINT_H
#define SR_GRAPH_IR_PRINT_H

#include "base/text/text.h"
#include "graph/ir/graph.h"

typedef enum {
    SR_GRAPH_NAMES, // a node name per line, as torchvision's get_graph_node_names
    SR_GRAPH_LIST,  // "NAME [N, C, H, W]" per line, in torchvision's axis order
    // Columns: name, op, shape, learned numbers, FLOPs, bytes, inputs, options that are not
    // default.
    SR_GRAPH_TABLE,
    SR_GRAPH_DOT,  // for graphviz, a cluster per module
    SR_GRAPH_CODE, // a call per line: "bn1 = batch_norm(conv1)"
    SR_GRAPH_JSON, // the whole graph, which sr_graph_parse reads
} SrGraphFormat;

// Prints the nodes of these modes.  TABLE and DOT show stages ("res5") after their node.
// SR_ERR_CONFIG: JSON of a graph with closed blocks.  SR_ERR_MEMORY.
SrStatus sr_graph_print_mode(const SrGraph *graph, SrGraphFormat format, unsigned mode,
                             SrText *out);
SrStatus sr_graph_print(const SrGraph *graph, SrGraphFormat format,
                        SrText *out); // nodes of both modes

// Prints how the modes differ: "train and eval: the same 70 nodes", "eval is train without 3
// nodes: ...".
SrStatus sr_graph_print_modes(const SrGraph *graph, SrText *out);

#endif
