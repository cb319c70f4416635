// Finds the state entries that a forward pass changes, and copies their values.
#include "trainer/run/graph_state.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"

static size_t bytes_of(const SrParam *p) {
    return (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype);
}

// Only ops with side effects write to their slots.
static void mark(const SrGraph *graph, bool *moved) {
    SrParams *params = sr_graph_params(graph);
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++) {
        const SrNode *node = sr_graph_at(graph, id);
        for (int i = 0; node->op && (node->op->flags & SR_OP_IMPURE) && i < node->n_w; i++)
            moved[node->w[i]] = sr_params_at(params, node->w[i])->kind == SR_SLOT_STATE;
    }
}

SrStatus sr_graph_state_init(SrGraphState *state, const SrGraph *graph) {
    SrParams *params = sr_graph_params(graph);
    int count = sr_params_count(params);
    *state = (SrGraphState){.params = params};
    bool *moved = sr_calloc((size_t)count + 1, sizeof *moved);
    state->index = sr_calloc((size_t)count + 1, sizeof *state->index);
    if (!moved || !state->index) {
        sr_free(moved);
        sr_graph_state_deinit(state);
        return sr_out_of_memory("a list of state entries");
    }
    mark(graph, moved);
    for (int i = 0; i < count; i++) {
        if (!moved[i])
            continue;
        state->index[state->n++] = i;
        state->bytes += bytes_of(sr_params_at(params, i));
        SR_ASSERT(state->n <= count);
    }
    sr_free(moved);
    return SR_OK;
}

void sr_graph_state_deinit(SrGraphState *state) {
    sr_free(state->index);
    *state = (SrGraphState){.n = 0};
}

void sr_graph_state_save(const SrGraphState *state, void *block) {
    for (int i = 0; i < state->n; i++) {
        const SrParam *p = sr_params_at(state->params, state->index[i]);
        memcpy(block, p->value, bytes_of(p));
        block = (char *)block + bytes_of(p);
    }
}

void sr_graph_state_restore(const SrGraphState *state, const void *block) {
    for (int i = 0; i < state->n; i++) {
        const SrParam *p = sr_params_at(state->params, state->index[i]);
        memcpy(p->value, block, bytes_of(p));
        block = (const char *)block + bytes_of(p);
    }
}
