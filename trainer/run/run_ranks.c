// Logs how ranks share a run's work, and how long they wait for each other.
#include "trainer/run/run_ranks.h"

#include "base/comm.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/parallel.h"
#include "trainer/run/grad_sums.h"

void sr_run_ranks_say(const SrRun *run) {
    int replicas = run->config->replicas, ranks = sr_comm_size(), threads = sr_parallel_threads();
    if (run->config->sync_bn_group > 1)
        sr_info("MODEL.SYNC_BN_CONFIG: %d replicas of %d images are computed as one of %d",
                run->config->sync_bn_group, run->config->train.batchsize_per_replica, run->batch);
    if (run->config->sync_bn_ranks > 1)
        sr_info("batch norms add their sums over groups of %d ranks: their last bits depend on the "
                "number of ranks",
                run->config->sync_bn_ranks);
    if (replicas > 1 && ranks == 1)
        sr_info("%d replicas of %d images a step, one after the other", replicas, run->batch);
    if (ranks == 1)
        return;
    sr_info("%d replicas of %d images a step on %d ranks, %d of them on %s: %d replica%s and %d "
            "thread%s a rank",
            replicas, run->batch, ranks, sr_comm_node_ranks(), sr_comm_host(0), replicas / ranks,
            replicas == ranks ? "" : "s", threads, threads == 1 ? "" : "s");
    bool library = run->config->reduce == 1;
    if (library || !sr_grad_sums_exact(replicas, ranks))
        sr_info("the last bits of sums of gradients depend on the number of ranks: %s",
                library ? "DISTRIBUTED.REDUCE is mpi"
                        : "a rank's share of the replicas is no power of two");
}

void sr_run_ranks_say_sums(const SrRun *run) {
    double exchange, waited;
    if (!sr_replicas_sums(run->replicas, &exchange, &waited))
        return;
    sr_info("gradients between ranks: %.1f ms a step when nothing else goes on, %.1f ms of it "
            "waited for: %.0f %% hidden behind the backward",
            1e3 * exchange, 1e3 * waited, 100 * SR_MAX(1 - waited / exchange, 0));
}
