// Saves and restores the state that a forward pass changes (running statistics, a teacher's
// copies of them), for forward passes that must leave no trace.
#ifndef SR_TRAINER_RUN_GRAPH_STATE_H
#define SR_TRAINER_RUN_GRAPH_STATE_H

#include "graph/ir/graph.h"

typedef struct {
    SrParams *params;
    int n;
    int *index;   // (n) table entries that the forward pass changes
    size_t bytes; // size of all their values
} SrGraphState;

// Finds the entries; free the list with sr_graph_state_deinit (legal for a zeroed struct).
SrStatus sr_graph_state_init(SrGraphState *state, const SrGraph *graph);
void sr_graph_state_deinit(SrGraphState *state);
// Copy the values to a block of state->bytes, and back.
void sr_graph_state_save(const SrGraphState *state, void *block);
void sr_graph_state_restore(const SrGraphState *state, const void *block);

#endif
