// The program never computes with OpenBLAS's oldest kernels on a processor that can do better.
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/restart.h"
#include "tests/check.h"
#include "tests/program.h"
#include "tests/skip.h"

TEST(test_kernels_for_unknown_processors) {
#if defined(__x86_64__)
    CHECK_STR(sr_blas_core_instead("Prescott", SR_CPU_AVX2), "Haswell");
    CHECK_STR(sr_blas_core_instead("prescott", SR_CPU_AVX512), "SkylakeX");
    CHECK_STR(sr_blas_core_instead("Prescott", SR_CPU_AMX), "SkylakeX");
    CHECK(!sr_blas_core_instead("Prescott", SR_CPU_PLAIN)); // a processor of that age
    CHECK(!sr_blas_core_instead("Zen", SR_CPU_AVX512));
    CHECK(!sr_blas_core_instead("Haswell", SR_CPU_AVX512));
#endif
    CHECK(!sr_blas_core_instead("NEOVERSEN1", SR_CPU_BEST));
}

// Runs `sslrun --version` after a line of shell; the kernels' name goes into core.
static void read_core(const char *before, char core[64]) {
    char line[8192], program[4096];
    program_path(program);
    snprintf(line, sizeof line, "%s; '%s' --version", before, program);
    FILE *f = popen(line, "r");
    char said[256];
    core[0] = '\0';
    while (f && fgets(said, sizeof said, f))
        sscanf(said, "OpenBLAS with its %63s", core);
    CHECK(f && pclose(f) == 0);
}

// The program keeps kernels that the user names; of the others it replaces the old ones.
TEST(test_core_of_the_program) {
    char chosen[64], users[64];
    read_core("unset OPENBLAS_CORETYPE OPENBLAS_NUM_THREADS", chosen);
    CHECK(*chosen);
    if (sr_cpu_detect(SR_CPU_PAIRS) > SR_CPU_PLAIN)
        CHECK(strcasecmp(chosen, "Prescott") != 0);
    read_core("export OPENBLAS_CORETYPE=Nehalem", users);
    if (strcasecmp(users, "Nehalem") != 0)
        SKIP("this OpenBLAS has kernels for one processor", "libopenblas0");
    read_core("export OPENBLAS_CORETYPE=Prescott OPENBLAS_NUM_THREADS=1", users);
    CHECK_STR(users, "Prescott");
}

SR_TESTS(restart, unit(test_kernels_for_unknown_processors), unit(test_core_of_the_program))
