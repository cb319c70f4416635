// Makes the process's machine from the processor and the environment, and machines of lower levels.
#include "kernels/machine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static SrMachine machine; // constant once `once` has run
static pthread_once_t once = PTHREAD_ONCE_INIT;

static SrCpuLevel wanted_level(const char *name) {
    if (name && strcmp(name, SR_CPU_EMULATED) == 0)
        return SR_CPU_PAIRS;
    for (int level = SR_CPU_PLAIN; name && level < SR_CPU_LEVELS; level++)
        if (strcmp(name, sr_cpu_name((SrCpuLevel)level)) == 0)
            return (SrCpuLevel)level;
    return SR_CPU_BEST;
}

static void make_default(void) {
    const char *name = getenv("SR_CPU"), *cache = getenv("SR_L2");
    long bytes = cache ? strtol(cache, NULL, 10) : 0;
    machine = (SrMachine){.level = sr_cpu_detect(wanted_level(name)),
                          .emulates_tiles = name && strcmp(name, SR_CPU_EMULATED) == 0,
                          .conv_designs = SR_CONV_ALL,
                          .fp32 = SR_CONV_FP32_AUTO,
                          .pairs = true,
                          .second_cache = bytes > 0 ? (size_t)bytes : sr_cpu_second_cache()};
}

const SrMachine *sr_machine_default(void) {
    pthread_once(&once, make_default);
    return &machine;
}

SrMachine sr_machine_at(SrCpuLevel level) {
    SrMachine m = *sr_machine_default();
    m.level = sr_cpu_detect(level);
    m.emulates_tiles = false;
    return m;
}

const char *sr_machine_name(const SrMachine *m) {
    return m->emulates_tiles ? SR_CPU_EMULATED : sr_cpu_name(m->level);
}
