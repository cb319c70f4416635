// Fuzz target of graph/: text that users type (queries, lists of layers, lists of blocks) and the
// parser of graphs.
#ifndef SR_TESTS_FUZZ_GRAPH_FUZZ_H
#define SR_TESTS_FUZZ_GRAPH_FUZZ_H

#include <stddef.h>
#include <stdint.h>

// Runs one input, whose first byte chooses the kind of the rest. Aborts if an invariant does not
// hold. Returns 0.
int graph_fuzz(const uint8_t *data, size_t bytes);

#endif
