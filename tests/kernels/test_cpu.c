// Tests detection of the instruction-set level: a caller can ask for a lower level, never for
// more than the processor has.
#include "kernels/core/cpu.h"

#include "tests/check.h"

TEST(test_level) {
    SrCpuLevel best = sr_cpu_detect(SR_CPU_BEST);
    CHECK_INT(sr_cpu_detect(best), best);
    CHECK(sr_cpu_detect(SR_CPU_PAIRS) <= SR_CPU_PAIRS);
    CHECK(sr_cpu_detect(SR_CPU_PAIRS) <= best);
    CHECK_INT(sr_cpu_detect(SR_CPU_PLAIN), SR_CPU_PLAIN);
    CHECK(sr_cpu_second_cache() > 0);
}

TEST(test_names) {
    CHECK_STR(sr_cpu_name(SR_CPU_PLAIN), "plain");
#if defined(__aarch64__)
    CHECK_STR(sr_cpu_name(SR_CPU_NEON), "neon");
    CHECK_STR(sr_cpu_name(SR_CPU_NEONBF16), "neonbf16");
    CHECK(sr_cpu_detect(SR_CPU_BEST) >= SR_CPU_NEON); // every processor has it
#else
    CHECK_STR(sr_cpu_name(SR_CPU_AVX2), "avx2");
    CHECK_STR(sr_cpu_name(SR_CPU_AVX512), "avx512");
    CHECK_STR(sr_cpu_name(SR_CPU_AVX512BF16), "avx512bf16");
    CHECK_STR(sr_cpu_name(SR_CPU_AMX), "amx");
#endif
}

SR_TESTS(cpu, unit(test_level), unit(test_names))
