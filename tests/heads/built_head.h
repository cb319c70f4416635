// A head alone on one input, for tests: graph, parameters, and a plan if the test compiles one.
#ifndef SR_TESTS_HEADS_BUILT_HEAD_H
#define SR_TESTS_HEADS_BUILT_HEAD_H

#include "graph/plan.h"
#include "heads/head.h"

typedef struct {
    SrArena arena;
    SrParams *params;
    SrGraph *graph;
    SrPlan *plan; // the test's, freed with the rest; NULL: none
    SrNodeId x, out[SR_HEAD_MAX_OUT];
    int n_out;
} BuiltHead;

// arguments: flow YAML for the head's option table.  What the table says of them, and the head of them and of `shape`, is
// returned; anything else that goes wrong fails the test.
SrStatus built_head_init(BuiltHead *t, const SrHeadSettings *settings, const char *name,
                         const char *arguments, SrShape shape);
void built_head_draw(BuiltHead *t, uint64_t seed); // memory and initial values for the parameters
void built_head_deinit(BuiltHead *t);

#endif
