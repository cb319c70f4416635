// Costs of nodes as their ops declare them.  A plan changes these costs by fusing, views and
// recomputing.
#include "graph/ir/blocks.h"
#include "graph/ir/graph.h"

int64_t sr_graph_flops(const SrGraph *graph, SrNodeId id) {
    const SrNode *node = sr_graph_at(graph, id);
    SrShape x[SR_OP_MAX_IN];
    if (!node->op || !node->op->flops)
        return 0;
    for (int i = 0; i < node->n_in; i++)
        x[i] = sr_graph_at(graph, node->in[i])->shape;
    return node->op->flops(node->params, x, node->n_in, node->shape);
}

static int64_t body_numbers(const SrGraph *body) {
    int64_t n = 0;
    for (SrNodeId id = 0; id < sr_graph_count(body); id++)
        n += sr_graph_numbers(body, id);
    return n;
}

// Shared parameters count at each node that uses them.
int64_t sr_graph_numbers(const SrGraph *graph, SrNodeId id) {
    const SrNode *node = sr_graph_at(graph, id);
    if (node->op == &sr__op_block)
        return body_numbers(((const SrBlockParams *)node->params)->body);
    int64_t n = 0;
    for (int i = 0; i < node->n_w; i++) {
        const SrParam *p = sr_params_at(sr_graph_params(graph), node->w[i]);
        n += p->kind == SR_SLOT_PARAM ? sr_shape_count(p->shape) : 0;
    }
    return n;
}

int64_t sr_graph_bytes(const SrGraph *graph, SrNodeId id) {
    const SrNode *node = sr_graph_at(graph, id);
    return sr_shape_count(node->shape) * (int64_t)sr_dtype_bytes(node->dtype);
}
