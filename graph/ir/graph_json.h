// A graph as JSON.  A node has its op, options that are not the default, inputs, table entries,
// modes and tags; stages and blocks follow.  Values of parameters are in safetensors files instead.
// Printing a parsed graph gives the same text.
#ifndef SR_GRAPH_IR_GRAPH_JSON_H
#define SR_GRAPH_IR_GRAPH_JSON_H

#include "graph/ir/graph.h"

// Prints the whole graph.  SR_ERR_CONFIG: the graph has closed blocks.
SrStatus sr__graph_print_json(const SrGraph *graph, SrText *out);
// Makes the graph that JSON describes and adds its entries to `params`; existing entries must
// agree. The text may come from anywhere: sizes are bounded before their use.  SR_ERR_CONFIG: the
// text is wrong; the message names the node.
SrStatus sr_graph_parse(const char *text, size_t bytes, const char *file, SrParams *params,
                        SrGraph **out);

// Gives a map of the node's options that differ from their defaults.
SrStatus sr__graph_options(const SrNode *node, SrArena *arena, SrYaml **changed);

#endif
