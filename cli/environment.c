// Checks SR_CPU and corrects OMP_NUM_THREADS.
#include "cli/environment.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parallel.h"
#include "kernels/core/cpu.h"

void sr_environment_threads(void) {
    enum { TOO_MANY = 4 }; // threads per processor; more is taken for a slip
    const char *text = getenv("OMP_NUM_THREADS");
    if (!text || !*text)
        return;
    char *end;
    long n = strtol(text, &end, 10), cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (end == text || (*end && *end != ',') || n < 1) {
        sr_warn("OMP_NUM_THREADS=%s is not a number of threads and is ignored", text);
        unsetenv("OMP_NUM_THREADS");
    } else if (n > TOO_MANY * cores) {
        char most[32];
        sr_warn("OMP_NUM_THREADS=%s, but the machine has %ld processors; sslrun uses %ld threads",
                text, cores, TOO_MANY * cores);
        snprintf(most, sizeof most, "%ld", TOO_MANY * cores);
        setenv("OMP_NUM_THREADS", most, 1);
        sr_parallel_set_threads((int)(TOO_MANY * cores));
    }
}

SrStatus sr_environment_check(void) {
    const char *cpu = getenv("SR_CPU");
    bool known = !cpu || !*cpu || strcmp(cpu, SR_CPU_EMULATED) == 0;
    char names[160] = "";
    for (int level = 0; level < SR_CPU_LEVELS; level++) {
        const char *name = sr_cpu_name((SrCpuLevel)level);
        known = known || strcmp(cpu, name) == 0;
        size_t len = strlen(names);
        snprintf(names + len, sizeof names - len, "%s%s", level ? ", " : "", name);
    }
    if (!known)
        SR_FAIL(SR_ERR_CONFIG, "SR_CPU=%s: expected one of %s, " SR_CPU_EMULATED, cpu, names);
    return SR_OK;
}
