// What a training run refuses before it begins, because it would train on something else than was asked for.
#include <string.h>

#include "trainer/run/run.h"

// The variance of one row is 0 and its mean the row itself, so that everything behind is the same for all images.
// torch.nn.BatchNorm refuses it with "Expected more than 1 value per channel when training".
static const char *single_row(const SrGraph *graph) {
    for (int i = 0; graph && i < sr_graph_count(graph); i++) {
        const SrNode *node = sr_graph_at(graph, i);
        bool trains = node->mode & SR_MODE_TRAIN && node->eval_from > 0;
        if (!node->op || strcmp(node->op->name, "batch_norm") != 0 || !trains)
            continue;
        if (sr_shape_count(node->shape) / sr_shape_last(node->shape) <= 1)
            return node->name;
    }
    return NULL;
}

SrStatus sr__run_check_norms(const SrRun *run) {
    const char *norm = single_row(run->graph.graph);
    if (norm)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.TRAIN.BATCHSIZE_PER_REPLICA is %d: the batch norm %s gets one row, "
                "and one row has no statistics; set it to 2 or more",
                run->batch, norm);
    norm = single_row(run->tail.graph.graph);
    if (norm)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.TRAIN.DROP_LAST=False leaves a last batch of %d for batch norm %s, "
                "and one row has no statistics; set it to True, or another "
                "BATCHSIZE_PER_REPLICA",
                run->tail.batch, norm);
    return SR_OK;
}
