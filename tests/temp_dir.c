// Makes and removes folders for tests under TMPDIR (temp_dir.h).
#include "tests/temp_dir.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/check.h"

void temp_dir_make(char path[64]) {
    const char *base = getenv("TMPDIR");
    snprintf(path, 64, "%.40s/sslrun-XXXXXX", base && *base ? base : "/tmp");
    CHECK(mkdtemp(path));
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *ftw) {
    (void)info, (void)kind, (void)ftw;
    return remove(path);
}

void temp_dir_remove(const char *path) { nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }
