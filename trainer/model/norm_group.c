// Applies SyncBN (MODEL.SYNC_BN_CONFIG) to the training graph: tells batch norms how many ranks
// add their sums.  All norms of the images' graph are concerned, as VISSL converts trunk, heads
// and their momentum copies.
//
// Replicas of one rank that share batch norms need nothing here: they are one larger batch
// (trainer/config/vissl/sharding.c).
#include <string.h>

#include "kernels/norm/batch_norm.h"
#include "trainer/model/model_internal.h"

SrStatus sr__norm_group_check_loss(const SrConfig *config, const SrLoss *loss) {
    if (config->sync_bn_group <= 1 || !loss->rows_are_compared)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "MODEL.SYNC_BN_CONFIG: %s compares the images of one replica, so the %d replicas of a "
            "rank cannot be joined to one batch; start one rank per replica (mpirun -np), or set "
            "CONVERT_BN_TO_SYNC_BN to False",
            loss->name, config->sync_bn_group);
}

void sr__norm_group_set(const SrConfig *config, SrGraph *graph) {
    for (SrNodeId id = 0; config->sync_bn_ranks > 1 && id < sr_graph_count(graph); id++) {
        const SrNode *node = sr_graph_at(graph, id);
        if (!node->op || strcmp(node->op->name, "batch_norm") != 0)
            continue;
        SrBatchNormParams p = *(const SrBatchNormParams *)node->params;
        p.sync = config->sync_bn_ranks;
        sr_graph_set_params(graph, id, &p);
    }
}
