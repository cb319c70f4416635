// Replaces random draws in golden cases: the case records the reference's draws, and the op's own
// code runs with them.
//
// sslrun keys draws by seed, iteration and node, so that no seed gives the draws of another
// program. Each op here is replaced in the graph by a copy whose forward and backward call the
// original so that the result is that of the recorded draw.
#ifndef SR_TESTS_GOLDEN_RECORDED_DRAWS_H
#define SR_TESTS_GOLDEN_RECORDED_DRAWS_H

#include "graph/ir/graph.h"
#include "tests/golden/golden.h"

// Replaces the graph's drop_tokens by one that keeps the tokens of `randperm`, and the k-th
// stochastic_depth that can drop by one that drops image n where uniform<k>[n] < p. Both are
// tensors of the case; a missing one changes nothing. Must be called before plans are compiled,
// for one graph at a time.
SrStatus golden_record_draws(SrGoldenCase *c, SrGraph *graph);

#endif
