// Instruction sets and cache size of this processor.  On x86-64 the compiler's table reads CPUID
// and also asks whether the operating system saves the wide registers (XGETBV).  On aarch64 the
// kernel hands every process a list of what it may use.
#include "kernels/core/cpu.h"

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
#elif defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#if defined(__aarch64__)
static const char *const names[] = {"plain", "neon", "neonbf16"};
#else
static const char *const names[] = {"plain", "avx2", "avx512", "avx512bf16", "amx"};
#endif
_Static_assert(SR_COUNT(names) == SR_CPU_LEVELS, "a name for each level");

const char *sr_cpu_name(SrCpuLevel level) { return names[level]; }

#if defined(__x86_64__) && defined(__linux__)
// Returns whether the processor has tiles of bfloat16 (CPUID leaf 7: EDX 22, 24) and the system
// saves them (XCR0 17, 18).
static bool tiles_exist(void) {
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> 22 & 1) || !(d >> 24 & 1))
        return false;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) // OSXSAVE
        return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low >> 17 & 3) == 3;
}

// Asks the kernel for tile registers (Linux 5.16 and later); one request holds for all threads.
static bool tiles_granted(void) {
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    if (syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0)
        return true;
    sr_info("cpu: the system refuses the tile registers (%s); sslrun computes without them",
            strerror(errno));
    return false;
}

// 0: not asked yet, 1: no, 2: yes.
static bool has_tiles(void) {
    static atomic_int answer;
    if (!atomic_load(&answer))
        atomic_store(&answer, tiles_exist() && tiles_granted() ? 2 : 1);
    return atomic_load(&answer) == 2;
}
#elif defined(__x86_64__)
static bool has_tiles(void) { return false; }
#endif

// Returns the processor's highest level; tile registers count only if `most` includes them.
static SrCpuLevel highest(SrCpuLevel most) {
    (void)most;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return SR_CPU_PLAIN;
    // Features of Skylake-SP and later processors; Knights Landing (no BW, VL, DQ) takes AVX2.
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
        if (!__builtin_cpu_supports("avx512bf16"))
            return SR_CPU_AVX512;
        return most >= SR_CPU_AMX && has_tiles() ? SR_CPU_AMX : SR_CPU_AVX512BF16;
    }
    return SR_CPU_AVX2;
#elif defined(__aarch64__) && defined(__linux__)
    return getauxval(AT_HWCAP2) & HWCAP2_BF16 ? SR_CPU_NEONBF16 : SR_CPU_NEON;
#elif defined(__aarch64__)
    return SR_CPU_NEON;
#else
    return SR_CPU_PLAIN;
#endif
}

SrCpuLevel sr_cpu_detect(SrCpuLevel most) {
    SrCpuLevel level = highest(most);
    return SR_MIN(level, most);
}

size_t sr_cpu_second_cache(void) {
    long bytes = 0;
#if defined(_SC_LEVEL2_CACHE_SIZE)
    bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    return bytes > 0 ? (size_t)bytes : (size_t)1 << 20;
}
