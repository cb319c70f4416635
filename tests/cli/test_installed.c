// A program that lies in bin/ finds the configurations of ../share/sslrun, whatever folder it is run from.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/temp_dir.h"

static int shell(const char *dir, const char *format) {
    char self[2048], command[8192];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(n > 0);
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    snprintf(command, sizeof command, "D='%s' BUILD='%s'; %s", dir, self, format);
    return system(command);
}

static void test_configurations(void **state) {
    (void)state;
    char dir[64];
    temp_dir_make(dir);
    CHECK_INT(shell(dir, "mkdir -p $D/bin $D/share/sslrun && cp $BUILD/sslrun $D/bin && "
                         "cp -r configs $D/share/sslrun"),
              0);
    CHECK_INT(shell(dir, "cd / && $D/bin/sslrun check configs/swav.yaml >$D/o 2>&1"), 0);
    CHECK_INT(shell(dir, "cd / && $D/bin/sslrun check swav >$D/o 2>&1"), 0);
    CHECK_INT(shell(dir, "cd / && $D/bin/sslrun check swaw 2>&1 | grep -q \"did you mean 'swav'\""),
              0);
    temp_dir_remove(dir);
}

SR_TESTS(installed, unit(test_configurations))
