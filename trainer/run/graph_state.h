// The state entries that a forward of a graph moves (running statistics, a teacher's copies of
// them), and a copy of them: for forwards that shall leave no trace.
#ifndef SR_TRAINER_RUN_GRAPH_STATE_H
#define SR_TRAINER_RUN_GRAPH_STATE_H

#include "graph/graph.h"

typedef struct {
    SrParams *params;
    int n;
    int *index;   // (n) table entries
    size_t bytes; // of their values
} SrGraphState;

// Allocates the list; free with sr_graph_state_deinit (a zeroed one is fine).
SrStatus sr_graph_state_init(SrGraphState *state, const SrGraph *graph);
void sr_graph_state_deinit(SrGraphState *state);
// block: state->bytes
void sr_graph_state_save(const SrGraphState *state, void *block);
void sr_graph_state_restore(const SrGraphState *state, const void *block);

#endif
