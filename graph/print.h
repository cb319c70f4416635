// Graphs as text, for `sslrun graph` and for eyes.
#ifndef SR_GRAPH_PRINT_H
#define SR_GRAPH_PRINT_H

#include "graph/graph.h"

typedef enum {
    SR_GRAPH_NAMES, // one node name a line, what torchvision's get_graph_node_names prints
    SR_GRAPH_TABLE, // name, op, shape, learned numbers, inputs, options that are not the default
    SR_GRAPH_DOT,   // for graphviz, one cluster a module
} SrGraphFormat;

// Stages ("res5") stand behind their node in TABLE and DOT.  SR_ERR_MEMORY is the only failure.
SrStatus sr_graph_print(const SrGraph *graph, SrGraphFormat format, SrText *out);

#endif
