// Adds up what the ops of nodes declare as their cost; a closed block costs what its body does.
#include "graph/ir/cost.h"

#include "graph/ir/block_op.h"

static int64_t sum_over_body(const SrNode *block, int64_t (*cost)(const SrGraph *, SrNodeId)) {
    const SrGraph *body = ((const SrBlockParams *)block->params)->body;
    int64_t sum = 0;
    for (SrNodeId id = 0; id < sr_graph_count(body); id++)
        sum += cost(body, id);
    return sum;
}

int64_t sr_graph_flops(const SrGraph *graph, SrNodeId id) {
    const SrNode *node = sr_graph_at(graph, id);
    SrShape x[SR_OP_MAX_IN];
    if (node->op == &sr__op_block)
        return sum_over_body(node, sr_graph_flops);
    if (!node->op || !node->op->flops)
        return 0;
    for (int i = 0; i < node->n_in; i++)
        x[i] = sr_graph_at(graph, node->in[i])->shape;
    return node->op->flops(node->params, x, node->n_in, node->shape);
}

// Shared parameters count at each node that uses them.
int64_t sr_graph_numbers(const SrGraph *graph, SrNodeId id) {
    const SrNode *node = sr_graph_at(graph, id);
    if (node->op == &sr__op_block)
        return sum_over_body(node, sr_graph_numbers);
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

SrGraphCost sr_graph_cost(const SrGraph *graph) {
    SrGraphCost cost = {.nodes = sr_graph_count(graph),
                        .numbers = sr_params_numbers(sr_graph_params(graph), false)};
    for (SrNodeId id = 0; id < cost.nodes; id++)
        cost.flops += sr_graph_flops(graph, id);
    return cost;
}
