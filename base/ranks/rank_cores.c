// Cores of this machine for each of its ranks, by sched_setaffinity.
#include "base/ranks/rank_cores.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/ranks/comm.h"

// Allows all cores; the kernel removes those that the control group forbids.
static void allow_all(void) {
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all);
}

// Keeps the i-th of n equal parts of the set, in the order of core numbers.
static void keep_part(cpu_set_t *set, int i, int n) {
    int cores = CPU_COUNT(set), at = 0;
    for (int c = 0; c < CPU_SETSIZE; c++) {
        if (!CPU_ISSET(c, set))
            continue;
        if (at < cores * i / n || at >= cores * (i + 1) / n)
            CPU_CLR(c, set);
        at++;
    }
}

static bool bound_by_default(void) {
    return getenv("OMPI_MCA_orte_bound_at_launch") && !getenv("OMPI_MCA_hwloc_base_binding_policy");
}

int sr_rank_cores(void) {
    int ranks = sr_comm_node_ranks(), mine = sr_comm_node_rank();
    const char *threads = getenv("OMP_NUM_THREADS");
    cpu_set_t set;
    if (sr_comm_size() == 1)
        return 0;
    if (bound_by_default())
        allow_all();
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return threads ? SR_MAX(atoi(threads), 1) : 1;
    int cores = CPU_COUNT(&set);
    if (bound_by_default() && cores >= ranks) {
        keep_part(&set, mine, ranks);
        sched_setaffinity(0, sizeof set, &set);
        cores = CPU_COUNT(&set) * ranks;
    }
    // Ranks that share one set of cores share its threads; bound ranks have sets of their own.
    bool bound = getenv("OMPI_MCA_hwloc_base_binding_policy") || getenv("SLURM_CPU_BIND_LIST");
    int each = bound ? cores : cores / ranks;
    return threads ? SR_MAX(atoi(threads), 1) : SR_MAX(each, 1);
}
