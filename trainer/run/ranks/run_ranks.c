// Logs how ranks share a run's work, and how long they wait for each other.
#include "trainer/run/ranks/run_ranks.h"

#include "base/compiler.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/ranks/comm.h"
#include "trainer/config/config_types.h"
#include "trainer/run/ranks/grad_sums.h"
#include "trainer/run/ranks/replicas.h"
#include "trainer/run/run_parts.h"

void sr_run_ranks_say(const SrRun *run) {
    int replicas = run->config->replicas, ranks = sr_comm_size(), threads = sr_parallel_threads();
    if (run->config->sync_bn_group > 1)
        sr_info("MODEL.SYNC_BN_CONFIG: %d replicas of %d images are computed as one replica of %d "
                "images",
                run->config->sync_bn_group, run->config->train.batchsize_per_replica, run->batch);
    if (run->config->sync_bn_ranks > 1)
        sr_info("batch norms add their sums over groups of %d ranks, so their last bits depend on "
                "the number of ranks",
                run->config->sync_bn_ranks);
    if (replicas > 1 && ranks == 1)
        sr_info("each step has %d replicas of %d images, computed one after the other", replicas,
                run->batch);
    if (ranks == 1)
        return;
    sr_info("each step has %d replicas of %d images on %d ranks, %d of them on %s: %d replica%s "
            "and %d thread%s per rank",
            replicas, run->batch, ranks, sr_comm_node_ranks(), sr_comm_host(0), replicas / ranks,
            replicas == ranks ? "" : "s", threads, threads == 1 ? "" : "s");
    bool library = run->config->reduce == SR_REDUCE_MPI;
    if (library || !sr_grad_sums_exact(replicas, ranks))
        sr_info("the last bits of sums of gradients depend on the number of ranks: %s",
                library ? "DISTRIBUTED.REDUCE is mpi"
                        : "a rank's share of the replicas is not a power of two");
}

void sr_run_ranks_say_sums(const SrRun *run) {
    double exchange, waited;
    if (!sr_replicas_sums(run->replicas, &exchange, &waited))
        return;
    sr_info("exchange of gradients: %.1f ms per step on its own, %.1f ms of it not hidden: the "
            "backward pass hides %.0f %%",
            1e3 * exchange, 1e3 * waited, 100 * SR_MAX(1 - waited / exchange, 0));
}
