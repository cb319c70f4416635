// Graphs as text, for `sslrun graph` and for eyes.
#ifndef SR_GRAPH_PRINT_H
#define SR_GRAPH_PRINT_H

#include "base/text.h"
#include "graph/graph.h"

typedef enum {
    SR_GRAPH_NAMES, // one node name a line, what torchvision's get_graph_node_names prints
    SR_GRAPH_LIST,  // "NAME [N, C, H, W]" a line, the shape in torchvision's axis order
    SR_GRAPH_TABLE, // name, op, shape, learned numbers, FLOPs, bytes, inputs, options that are not the default
    SR_GRAPH_DOT,  // for graphviz, one cluster a module
    SR_GRAPH_CODE, // one call a line: "bn1 = batch_norm(conv1)"
    SR_GRAPH_JSON, // everything; sr_graph_parse reads it
} SrGraphFormat;

// Stages ("res5") stand behind their node in TABLE and DOT.  `mode`: nodes of these modes only.  SR_ERR_MEMORY is the
// only failure, but for JSON of a graph with closed blocks (SR_ERR_CONFIG).
SrStatus sr_graph_print_mode(const SrGraph *graph, SrGraphFormat format, unsigned mode,
                             SrText *out);
SrStatus sr_graph_print(const SrGraph *graph, SrGraphFormat format, SrText *out); // of both modes

// "train and eval: the same 70 nodes", "eval is train without 3 nodes: ...": how the two views differ.
SrStatus sr_graph_print_modes(const SrGraph *graph, SrText *out);

// The graph JSON describes, its entries added to `params`, which must not clash.  Text from anywhere: whatever is wrong
// with it is SR_ERR_CONFIG with the node; sizes are bounded before they are trusted.
SrStatus sr_graph_parse(const char *text, size_t bytes, const char *file, SrParams *params,
                        SrGraph **out);

// For the print formats that have files of their own.  *changed: those of the node's options that are not at their
// default, as a map.
SrStatus sr__graph_options(const SrNode *node, SrArena *arena, SrYaml **changed);
SrStatus sr__graph_print_json(const SrGraph *graph, SrText *out);

#endif
