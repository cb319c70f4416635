// Runs inputs that fuzzers found, one after the other, through their target (seeds.h).
#include "tests/fuzz/seeds.h"

#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/program.h"

enum { PATH_BYTES = 4096 };

// Returns the folder of a target's unpacked archive, below the folder of this binary: each build
// has its own.
static void seeds_folder(const char *target, char out[PATH_BYTES]) {
    char self[PROGRAM_SELF];
    program_folder(self);
    snprintf(out, PATH_BYTES, "%s/seeds/%s", self, target);
}

void seeds_run(const char *target, int at_least, int (*run)(const uint8_t *data, size_t bytes)) {
    char folder[PATH_BYTES], path[PATH_BYTES], **names, *data;
    size_t bytes;
    int n;
    int64_t live = sr_mem_live();
    seeds_folder(target, folder);
    CHECK_OK(sr_file_list(folder, &names, &n));
    CHECK(n >= at_least);
    for (int i = 0; i < n; i++) {
        CHECK_OK(sr_file_join(path, sizeof path, folder, names[i]));
        CHECK_OK(sr_file_read(path, 1 << 20, &data, &bytes));
        CHECK_INT(run((const uint8_t *)data, bytes), 0);
        sr_free(data);
    }
    sr_file_list_free(names, n);
    CHECK_INT(sr_mem_live(), live);
}
