// Extraction: cuts a graph down to what its taps need, and copies the table entries that stay.
#include "graph/edit/extract.h"

#include <string.h>

#include "base/mem.h"
#include "graph/edit/rewrite.h"
#include "graph/ir/cost.h"

// Marks the nodes that the taps of one mode need, from the end to the beginning.
static void mark(const SrGraph *graph, unsigned mode, const SrTaps *taps, unsigned *modes) {
    for (int i = 0; i < taps->n; i++)
        modes[taps->v[i].node] |= mode;
    for (SrNodeId id = sr_graph_count(graph) - 1; id >= 0; id--) {
        const SrNode *node = sr_graph_at(graph, id);
        for (int i = 0; (modes[id] & mode) && i < node->n_in; i++)
            modes[node->in[i]] |= mode;
    }
}

static SrStatus keep_marked(SrRewrite *rw, SrNodeId id) {
    const unsigned *modes = rw->arg;
    if (!sr_graph_at(rw->from, id)->op)
        return sr__rewrite_copy(rw, id);
    if (!modes[id])
        return SR_OK;
    SrRewriteSpec copy;
    SR_TRY(sr__rewrite_spec(rw, id, &copy));
    copy.spec.mode = modes[id];
    return sr__rewrite_add(rw, id, &copy.spec);
}

static bool has_values(SrParams *params) {
    for (int i = 0; i < sr_params_count(params); i++)
        if (sr_params_at(params, i)->value)
            return true;
    return false;
}

static SrStatus extract(const SrGraph *graph, unsigned *modes, SrExtraction *out) {
    SrNodeId *map;
    SR_TRY(sr_taps_find(graph, SR_MODE_TRAIN, SR_NAMES_NODES, &out->train));
    SR_TRY(sr_taps_find(graph, SR_MODE_EVAL, SR_NAMES_NODES, &out->eval));
    mark(graph, SR_MODE_TRAIN, &out->train, modes);
    mark(graph, SR_MODE_EVAL, &out->eval, modes);
    SR_TRY(sr_params_new(&out->params));
    SR_TRY(sr__rewrite(graph, out->params, keep_marked, modes, NULL, &map, &out->graph));
    sr__taps_move(&out->train, map);
    sr__taps_move(&out->eval, map);
    sr_free(map);
    out->before = sr_graph_cost(graph);
    out->after = sr_graph_cost(out->graph);
    return has_values(sr_graph_params(graph)) ? sr_params_copy(out->params, sr_graph_params(graph))
                                              : SR_OK;
}

SrStatus sr_graph_extract(const SrGraph *graph, const SrTaps *train, const SrTaps *eval,
                          SrExtraction *out) {
    unsigned *modes = sr_calloc((size_t)sr_graph_count(graph) + 1, sizeof *modes);
    SrStatus status;
    *out = (SrExtraction){.params = NULL};
    SR_TRY_GOTO(modes ? SR_OK : sr_out_of_memory("an extraction"));
    SR_TRY_GOTO(sr__taps_copy(train, &out->arena, &out->train));
    SR_TRY_GOTO(sr__taps_copy(eval, &out->arena, &out->eval));
    SR_TRY_GOTO(out->train.n + out->eval.n > 0
                    ? SR_OK
                    : sr_fail(SR_ERR_CONFIG, "an extraction without layers"));
    SR_TRY_GOTO(extract(graph, modes, out));
done:
    sr_free(modes);
    if (status != SR_OK)
        sr_extraction_free(out);
    return status;
}

void sr_extraction_free(SrExtraction *e) {
    sr_graph_free(e->graph);
    sr_params_free(e->params);
    sr_arena_deinit(&e->arena);
    *e = (SrExtraction){.params = NULL};
}

void sr_extraction_report(const SrExtraction *e, SrText *out) {
    sr_text_printf(out,
                   "%d of %d nodes, %.2f of %.2f M parameters and %.3f of %.3f GFLOP are needed",
                   e->after.nodes, e->before.nodes, (double)e->after.numbers * 1e-6,
                   (double)e->before.numbers * 1e-6, (double)e->after.flops * 1e-9,
                   (double)e->before.flops * 1e-9);
}
