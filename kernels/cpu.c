// The level of the processor: CPUID through the compiler's own table, which also asks whether the
// operating system saves the wide registers (XGETBV).
#include "kernels/cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"plain", "avx2", "avx512"};

const char *sr_cpu_name(SrCpuLevel level) { return names[level]; }

static SrCpuLevel detect(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return SR_CPU_PLAIN;
    // What Skylake-SP and everything after it has; Knights Landing (no BW, VL, DQ) takes AVX2.
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return SR_CPU_AVX512;
    return SR_CPU_AVX2;
#else
    return SR_CPU_PLAIN;
#endif
}

static SrCpuLevel wanted(void) {
    const char *name = getenv("SR_CPU");
    for (int level = SR_CPU_PLAIN; name && level <= SR_CPU_AVX512; level++)
        if (strcmp(name, names[level]) == 0)
            return (SrCpuLevel)level;
    return SR_CPU_AVX512;
}

// -1: not asked yet.  Two threads that ask at the same moment find the same answer.
static atomic_int current = -1;

SrCpuLevel sr_cpu_level(void) {
    int level = atomic_load_explicit(&current, memory_order_relaxed);
    return level >= 0 ? (SrCpuLevel)level : sr_cpu_set_level(wanted());
}

SrCpuLevel sr_cpu_set_level(SrCpuLevel level) {
    SrCpuLevel best = detect();
    if (level > best)
        level = best;
    atomic_store_explicit(&current, (int)level, memory_order_relaxed);
    return level;
}

int sr_cpu_has_bf16(void) {
#if defined(__x86_64__)
    return sr_cpu_level() == SR_CPU_AVX512 && __builtin_cpu_supports("avx512bf16");
#else
    return 0;
#endif
}
