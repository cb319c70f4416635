// The fuzz target of graph/: what people type (queries, lists of layers, lists of blocks) and the parser of graphs.
#ifndef SR_TESTS_FUZZ_GRAPH_FUZZ_H
#define SR_TESTS_FUZZ_GRAPH_FUZZ_H

#include <stddef.h>
#include <stdint.h>

// The first byte chooses what the rest is.  Ends the process where an invariant does not hold.
int graph_fuzz(const uint8_t *data, size_t bytes);

#endif
