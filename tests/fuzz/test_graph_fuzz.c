// Every input the fuzzer was ever given, as a regression test; inputs that broke something stay here for good.
#include "tests/check.h"
#include "tests/fuzz/graph_fuzz.h"
#include "tests/fuzz/seeds.h"

static void test_corpus(void **state) {
    (void)state;
    seeds_run("graph", 302, graph_fuzz);
}

SR_TESTS(graph_fuzz, unit(test_corpus))
