// Tests every input of the graph fuzzer's corpus as a regression test. Inputs that once failed
// stay in the corpus.
#include "tests/check.h"
#include "tests/fuzz/graph_fuzz.h"
#include "tests/fuzz/seeds.h"

TEST(test_corpus) { seeds_run("graph", 302, graph_fuzz); }

SR_TESTS(graph_fuzz, unit(test_corpus))
