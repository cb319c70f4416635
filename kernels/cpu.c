// The level of the processor: CPUID through the compiler's own table, which also asks whether the
// operating system saves the wide registers (XGETBV).
#include "kernels/cpu.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif

static const char *const names[] = {"plain", "avx2", "avx512", "avx512bf16", "amx"};
_Static_assert(SR_COUNT(names) == SR_CPU_LEVELS, "a name for each level");

const char *sr_cpu_name(SrCpuLevel level) { return names[level]; }

#if defined(__x86_64__) && defined(__linux__)
// The processor has tiles of bfloat16 (CPUID leaf 7: EDX 22, 24) and the system saves them (XCR0 17, 18).
static bool tiles_exist(void) {
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> 22 & 1) || !(d >> 24 & 1))
        return false;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) // OSXSAVE
        return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low >> 17 & 3) == 3;
}

// Linux 5.16 and later; asked for once, holds for all threads.
static bool tiles_granted(void) {
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    if (syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0)
        return true;
    sr_info("cpu: the system refuses the tile registers (%s); going on without", strerror(errno));
    return false;
}

// 0: not asked yet, 1: no, 2: yes.
static bool has_tiles(void) {
    static atomic_int answer;
    if (!atomic_load(&answer))
        atomic_store(&answer, tiles_exist() && tiles_granted() ? 2 : 1);
    return atomic_load(&answer) == 2;
}
#else
static bool has_tiles(void) { return false; }
#endif

static SrCpuLevel detect(SrCpuLevel most) {
    (void)most;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return SR_CPU_PLAIN;
    // What Skylake-SP and everything after it has; Knights Landing (no BW, VL, DQ) takes AVX2.
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
        if (!__builtin_cpu_supports("avx512bf16"))
            return SR_CPU_AVX512;
        return most >= SR_CPU_AMX && has_tiles() ? SR_CPU_AMX : SR_CPU_AVX512BF16;
    }
    return SR_CPU_AVX2;
#else
    return SR_CPU_PLAIN;
#endif
}

static bool emulated; // sr_cpu_emulate_tiles

void sr_cpu_emulate_tiles(bool on) { emulated = on; }

bool sr_cpu_emulates_tiles(void) { return emulated; }

static SrCpuLevel wanted(void) {
    const char *name = getenv("SR_CPU");
    if (name && strcmp(name, SR_CPU_EMULATED) == 0) {
        sr_cpu_emulate_tiles(true);
        return SR_CPU_AVX512BF16;
    }
    for (int level = SR_CPU_PLAIN; name && level < SR_CPU_LEVELS; level++)
        if (strcmp(name, names[level]) == 0)
            return (SrCpuLevel)level;
    return SR_CPU_AMX;
}

// -1: not asked yet.  Two threads that ask at the same moment find the same answer.
static atomic_int current = -1;

SrCpuLevel sr_cpu_level(void) {
    int level = atomic_load_explicit(&current, memory_order_relaxed);
    return level >= 0 ? (SrCpuLevel)level : sr_cpu_set_level(wanted());
}

SrCpuLevel sr_cpu_set_level(SrCpuLevel level) {
    SrCpuLevel best = detect(level); // who wants less asks the system for nothing
    if (level > best)
        level = best;
    atomic_store_explicit(&current, (int)level, memory_order_relaxed);
    return level;
}

int sr_cpu_has_bf16(void) { return sr_cpu_level() >= SR_CPU_AVX512BF16; }

int sr_cpu_has_tiles(void) { return sr_cpu_level() >= SR_CPU_AMX; }

const char *sr_cpu_now(void) {
    SrCpuLevel level = sr_cpu_level(); // asks the environment the first time
    return emulated ? SR_CPU_EMULATED : names[level];
}

static size_t find_second_cache(void) {
    const char *set = getenv("SR_L2");
    long bytes = set ? strtol(set, NULL, 10) : 0;
#if defined(_SC_LEVEL2_CACHE_SIZE)
    if (bytes <= 0)
        bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    return bytes > 0 ? (size_t)bytes : (size_t)1 << 20;
}

// 0: not asked yet.
static atomic_size_t second_cache;

size_t sr_cpu_second_cache(void) {
    size_t bytes = atomic_load_explicit(&second_cache, memory_order_relaxed);
    if (!bytes)
        atomic_store_explicit(&second_cache, bytes = find_second_cache(), memory_order_relaxed);
    return bytes;
}

void sr_cpu_set_second_cache(size_t bytes) {
    atomic_store_explicit(&second_cache, bytes, memory_order_relaxed);
}
