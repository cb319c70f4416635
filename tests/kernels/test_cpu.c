// Levels of the processor can be lowered, never raised past what it has.
#include "kernels/cpu.h"

#include "tests/check.h"

static void test_level(void **state) {
    (void)state;
    SrCpuLevel level = sr_cpu_level();
    SrCpuLevel best = sr_cpu_set_level(SR_CPU_AMX);
    CHECK(best >= level);
    CHECK_INT(sr_cpu_has_tiles(), best == SR_CPU_AMX);
    CHECK_INT(sr_cpu_has_bf16(), best >= SR_CPU_AVX512BF16);
    SrCpuLevel less = sr_cpu_set_level(SR_CPU_AVX512);
    CHECK(less <= SR_CPU_AVX512);
    CHECK_INT(sr_cpu_has_bf16(), 0);
    CHECK_INT(sr_cpu_set_level(SR_CPU_PLAIN), SR_CPU_PLAIN);
    CHECK_INT(sr_cpu_level(), SR_CPU_PLAIN);
    CHECK_INT(sr_cpu_set_level(level), level);
}

static void test_names(void **state) {
    (void)state;
    CHECK_STR(sr_cpu_name(SR_CPU_PLAIN), "plain");
    CHECK_STR(sr_cpu_name(SR_CPU_AVX2), "avx2");
    CHECK_STR(sr_cpu_name(SR_CPU_AVX512), "avx512");
    CHECK_STR(sr_cpu_name(SR_CPU_AVX512BF16), "avx512bf16");
    CHECK_STR(sr_cpu_name(SR_CPU_AMX), "amx");
}

SR_TESTS(cpu, unit(test_level), unit(test_names))
