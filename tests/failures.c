#include "tests/failures.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/mem.h"
#include "tests/check.h"

int64_t fail_allocations(SrStatus (*run)(void *arg), void *arg) {
    for (int64_t n = 1;; n++) {
        int64_t live = sr_mem_live(), calls = sr_mem_calls();
        sr_mem_fail_at(n);
        SrStatus status = run(arg);
        sr_mem_fail_at(0);
        calls = sr_mem_calls() - calls;
        if (status != SR_OK && status != SR_ERR_MEMORY)
            fail_msg("allocation %d of %d: %s", (int)n, (int)calls, sr_status_message());
        CHECK_INT(sr_mem_live(), live);
        if (calls < n) {
            CHECK_INT(status, SR_OK);
            return n - 1;
        }
    }
}

static int64_t file_bytes(const char *path) {
    const void *map;
    size_t bytes;
    CHECK_OK(sr_file_map(path, &map, &bytes));
    sr_file_unmap(map, bytes);
    return (int64_t)bytes;
}

static int count_files(const char *path) {
    char folder[256], **names;
    int n;
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    CHECK(slash != NULL);
    *slash = '\0';
    CHECK_OK(sr_file_list(folder, &names, &n));
    sr_file_list_free(names, n);
    return n;
}

void fail_writes(SrStatus (*run)(void *arg), void *arg, const char *path, int pieces) {
    struct rlimit old, few;
    if (!sr_file_exists(path))
        CHECK_OK(run(arg));
    int64_t bytes = file_bytes(path);
    CHECK_OK(sr_file_remove(path));
    int files = count_files(path);
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < pieces; i++) {
        few = (struct rlimit){(rlim_t)(bytes * i / pieces), old.rlim_max};
        CHECK(setrlimit(RLIMIT_FSIZE, &few) == 0);
        SrStatus status = run(arg);
        CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
        CHECK_INT(status, SR_ERR_IO);
        if (!strstr(sr_status_message(), path))
            fail_msg("the file is not named: %s", sr_status_message());
        CHECK_INT(count_files(path), files);
    }
    signal(SIGXFSZ, handler);
}
