// Writes a trunk's evaluation graph as ONNX: walks over the nodes, and each op writes its own
// (kernels/core/op_onnx.h).
#include "trainer/model/export_onnx.h"

#include <string.h>

#include "formats/onnx.h"
#include "kernels/core/op_onnx.h"

typedef struct {
    const SrTaps *taps;
    const SrGraph *graph;
    SrParams *params;
    SrOnnx onnx;
    const char **values; // (nodes) name of each node's value
    SrNodeId at;         // the node being written
} Export;

// ---- names --------------------------------------------------------------------------------------

static bool is_tap_name(const Export *e, const char *name) {
    for (int i = 0; i < e->taps->n; i++)
        if (strcmp(e->taps->v[i].name, name) == 0)
            return true;
    return false;
}

// Gives each value its node's name, unless an output has it: a tap may have the name of another
// node (VISSL's conv1).
static SrStatus name_values(Export *e) {
    int n = sr_graph_count(e->graph);
    e->values = sr_arena_alloc(&e->onnx.arena, (size_t)(n + 1) * sizeof *e->values);
    SR_TRY_MEMORY(e->values, "an ONNX graph");
    for (int i = 0; i < n; i++) {
        const char *name = sr_graph_at(e->graph, i)->name;
        e->values[i] =
            is_tap_name(e, name) ? sr_arena_printf(&e->onnx.arena, "%s:value", name) : name;
        SR_TRY_MEMORY(e->values[i], "an ONNX graph");
    }
    return SR_OK;
}

// ---- nodes --------------------------------------------------------------------------------------

// True if an earlier node is bound to entry w of the table and so wrote it.
static bool is_written(const Export *e, int w) {
    for (int i = 0; i < e->at; i++) {
        const SrNode *other = sr_graph_at(e->graph, i);
        for (int k = 0; k < other->n_w; k++)
            if (other->w[k] == w)
                return true;
    }
    return false;
}

// Writes one node, through the hook of its op.
static SrStatus export_op(Export *e, const SrNode *node) {
    SrShape x[SR_OP_MAX_IN];
    SrTensor w[SR_OP_MAX_SLOTS];
    const char *in[SR_OP_MAX_IN], *w_name[SR_OP_MAX_SLOTS];
    bool w_written[SR_OP_MAX_SLOTS];
    for (int i = 0; i < node->n_in; i++) {
        x[i] = sr_graph_at(e->graph, node->in[i])->shape;
        in[i] = e->values[node->in[i]];
    }
    for (int i = 0; i < node->n_w; i++) {
        const SrParam *p = sr_params_at(e->params, node->w[i]);
        w[i] = (SrTensor){p->shape, p->dtype, p->value};
        w_name[i] = p->name;
        w_written[i] = is_written(e, node->w[i]);
    }
    SrOnnxCall call = {.file = &e->onnx,
                       .node = node->name,
                       .op = node->op->name,
                       .params = node->params,
                       .n_in = node->n_in,
                       .x = x,
                       .in = in,
                       .y = node->shape,
                       .out = e->values[e->at],
                       .w = w,
                       .w_name = w_name,
                       .w_written = w_written};
    return node->op->onnx ? node->op->onnx(&call) : sr__onnx_unsupported(&call, "");
}

// ---- the graph ----------------------------------------------------------------------------------

static SrStatus export_node(Export *e, const SrNode *node) {
    if (!node->op) {
        sr_onnx_input(&e->onnx, node->name, sr__onnx_shape(node->shape));
        return SR_OK;
    }
    return export_op(e, node);
}

// Writes each output as a named copy: a node may have several taps, or a tap another node's name.
static SrStatus export_taps(Export *e) {
    for (int i = 0; i < e->taps->n; i++) {
        const SrTap *tap = &e->taps->v[i];
        if (!sr_graph_at(e->graph, tap->node)->op &&
            strcmp(tap->name, sr_graph_at(e->graph, tap->node)->name) == 0)
            SR_FAIL(SR_ERR_CONFIG,
                    "layer '%s' is the input itself; give the output another name, as in x:image",
                    tap->name);
        const SrNode *node = sr_graph_at(e->graph, tap->node);
        bool tokens = node->channels_last && node->shape.rank == 4; // torch has the same order
        sr_onnx_node(&e->onnx, tokens ? "Transpose" : "Identity", &e->values[tap->node], 1,
                     tap->name);
        if (tokens)
            sr_onnx_ints(&e->onnx, "perm", (const int64_t[]){0, 2, 3, 1}, 4);
        sr_onnx_end(&e->onnx);
        sr_onnx_output(&e->onnx, tap->name, tokens ? node->shape : sr__onnx_shape(node->shape));
    }
    return SR_OK;
}

static SrStatus export_graph(Export *e) {
    SR_TRY(name_values(e));
    for (e->at = 0; e->at < sr_graph_count(e->graph); e->at++)
        SR_TRY(export_node(e, sr_graph_at(e->graph, e->at)));
    return export_taps(e);
}

SrStatus sr_export_onnx(const SrExtraction *extraction, const char *title, const char *path) {
    Export e = {
        .taps = &extraction->eval, .graph = extraction->graph, .params = extraction->params};
    sr_onnx_init(&e.onnx, title);
    SrStatus status = export_graph(&e);
    if (status == SR_OK)
        status = sr_onnx_save(&e.onnx, path);
    sr_onnx_deinit(&e.onnx);
    return status;
}
