// The program and both libraries are built with the compiler's protections against attacks;
// tests/hardening.sh examines them.
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/check.h"
#include "tests/program.h"

TEST(test_built_files) {
    char path[4096], command[8192];
    if (PROGRAM_SANITIZED)
        SKIP("sanitizers take the place of hardening", NULL);
    program_path(path);
    const char *dir = dirname(path);
    snprintf(command, sizeof command,
             "tests/hardening.sh '%s/sslrun' '%s/libsslrun.so' '%s/libsslrun.a'", dir, dir, dir);
    CHECK_INT(system(command), 0);
}

SR_TESTS(hardening, unit(test_built_files))
