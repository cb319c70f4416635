// Tests the shared library: its soname, and that it exports exactly what sslrun.h declares.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/program.h"

// Copies at most n - 1 bytes of the output of a shell command. $LIB is the library next to the
// test binary.
static void shell(const char *command, char *out, size_t n) {
    char self[PROGRAM_SELF], line[4096];
    program_folder(self);
    snprintf(line, sizeof line, "LIB='%s/libsslrun.so'; %s", self, command);
    FILE *pipe = popen(line, "r");
    CHECK(pipe != NULL);
    out[fread(out, 1, n - 1, pipe)] = '\0';
    pclose(pipe);
}

TEST(test_symbols) {
    char shown[8192], declared[8192];
    if (PROGRAM_SANITIZED) // sanitizers export symbols of their own
        SKIP(PROGRAM_SANITIZED_REASON, NULL);
    // clang's OpenMP exports the lock of its reductions under a name that begins with a dot.
    shell("nm -D --defined-only $LIB | awk '$3 !~ /^\\./ {print $3}' | sort", shown, sizeof shown);
    shell("grep -oE '\\bsr_[a-z_]+\\(' sslrun.h | tr -d '(' | sort -u", declared, sizeof declared);
    CHECK(strstr(declared, "sr_feature_model_run\n"));
    CHECK_STR(shown, declared);
}

TEST(test_soname) {
    char out[512];
    shell("readelf -d $LIB | sed -n 's/.*soname: //p'", out, sizeof out);
    CHECK_STR(out, "[libsslrun.so.0]\n");
}

SR_TESTS(shared_library, unit(test_symbols), unit(test_soname))
