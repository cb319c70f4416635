// Recorded draws for ops that draw: a golden case gives what the reference drew, and the op's own code runs on it.
//
// Our draws are keyed by seed, iteration and node, so those of another program cannot be reached by a seed.  Each op
// here is replaced in the graph by a copy whose forward and backward call the op's own in such a way that the result is
// that of the recorded draw.
#ifndef SR_TESTS_GOLDEN_RECORDED_DRAWS_H
#define SR_TESTS_GOLDEN_RECORDED_DRAWS_H

#include "graph/graph.h"
#include "tests/golden/golden.h"

// Replaces the graph's drop_tokens by one that keeps the tokens of `randperm`, and the k-th stochastic_depth that can
// drop something by one that drops image n where uniform<k>[n] < p.  Both tensors are the case's; one that is missing
// changes nothing.  Before plans are compiled.  One graph at a time.
SrStatus golden_record_draws(SrGoldenCase *c, SrGraph *graph);

#endif
