// Chooses the environment of OpenMP and OpenBLAS and starts the program again with it.
#include "cli/restart.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/compiler.h"

char *openblas_get_corename(void); // declared by OpenBLAS

const char *sr_blas_core(void) { return openblas_get_corename(); }

const char *sr_blas_core_instead(const char *core, SrCpuLevel level) {
#if defined(__x86_64__)
    if (strcasecmp(core, "Prescott") == 0 && level >= SR_CPU_AVX2)
        return level >= SR_CPU_AVX512 ? "SkylakeX" : "Haswell";
#else
    (void)core, (void)level;
#endif
    return NULL;
}

// Sets a variable that the user left open; returns whether it was changed.
static bool set_if_open(const char *name, const char *value) {
    return !getenv(name) && setenv(name, value, 1) == 0;
}

// Waiting OpenMP threads must not occupy the cores on which loader threads decode; the spin count
// is tens of microseconds, longer than gaps inside a step.  OpenBLAS must not start threads: our
// threads call it, and each of its own maps 128 MiB, in an endless loop if the system refuses
// (ulimit -v).  liblinear computes with its kernels on every processor.
static bool set_all(void) {
    const char *threads = getenv("OPENBLAS_NUM_THREADS");
    const char *core = sr_blas_core_instead(sr_blas_core(), sr_cpu_detect(SR_CPU_PAIRS));
    bool changed = core && set_if_open("OPENBLAS_CORETYPE", core);
    if (!getenv("OMP_WAIT_POLICY") && set_if_open("GOMP_SPINCOUNT", "20000"))
        changed = true;
    if (!threads || strcmp(threads, "1") != 0)
        changed = setenv("OPENBLAS_NUM_THREADS", "1", 1) == 0 || changed;
    return changed;
}

void sr_restart_with_settings(char **argv) {
    static const char *const bound[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"};
    char self[4096]; // the real path keeps the process's name for ps and pkill
    for (int i = 0; i < SR_COUNT(bound); i++)
        if (getenv(bound[i]))
            return;
    if (!set_all())
        return;
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len <= 0)
        return;
    self[len] = '\0';
    execv(self, argv);
}
