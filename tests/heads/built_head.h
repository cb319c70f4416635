// A head alone on one input, for tests: graph, parameters, and a plan if the test compiles one.
#ifndef SR_TESTS_HEADS_BUILT_HEAD_H
#define SR_TESTS_HEADS_BUILT_HEAD_H

#include "graph/plan/plan.h"
#include "heads/head.h"

typedef struct {
    SrArena arena;
    SrParams *params;
    SrGraph *graph;
    SrPlan *plan; // set by the test, freed with the rest; NULL: none
    SrNodeId x, out[SR_HEAD_MAX_OUT];
    int n_out;
} BuiltHead;

// arguments: YAML in flow style for the head's option table. Returns the status of parsing them
// and of building the head on `shape`; any other failure fails the test.
SrStatus built_head_init(BuiltHead *t, const SrHeadSettings *settings, const char *name,
                         const char *arguments, SrShape shape);
// Allocates the parameters and draws their initial values.
void built_head_draw(BuiltHead *t, uint64_t seed);
void built_head_deinit(BuiltHead *t);

#endif
