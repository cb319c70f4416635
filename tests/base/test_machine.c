// Tests available memory under the limits of control groups, read from made-up /proc and /sys
// folders.
#include <stdio.h>

#include "base/machine.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/temp_dir.h"

enum { MIB = 1 << 20 };

static void put(const char *root, const char *name, const char *text) {
    fixture_write(root, name, text, strlen(text));
}

static void begin(char root[64], const char *groups) {
    temp_dir_make(root);
    put(root, "proc/meminfo", "MemTotal: 99999999 kB\nMemAvailable:    8388608 kB\n");
    put(root, "proc/self/cgroup", groups);
}

// Page cache counts as available: after one pass over a large data set most pages of the group
// are cached files.
TEST(test_page_cache_is_free) {
    char root[64];
    begin(root, "0::/\n");
    CHECK_INT(sr__memory_available_in(root) / MIB, 8192); // no group has a limit
    put(root, "sys/fs/cgroup/memory.max", "max\n");
    CHECK_INT(sr__memory_available_in(root) / MIB, 8192);
    put(root, "sys/fs/cgroup/memory.max", "4294967296\n");
    put(root, "sys/fs/cgroup/memory.current", "4293918720\n");
    CHECK_INT(sr__memory_available_in(root) / MIB, 1);
    put(root, "sys/fs/cgroup/memory.stat", "anon 1048576\ninactive_file 4190109696\n");
    CHECK_INT(sr__memory_available_in(root) / MIB, 1 + 3996);
    put(root, "sys/fs/cgroup/memory.stat",
        "inactive_file 99999999999\n"); // counted after the usage was read: must not wrap
    CHECK_INT(sr__memory_available_in(root) / MIB, 4096);
    temp_dir_remove(root);
}

TEST(test_the_narrowest_group_counts) {
    char root[64];
    begin(root, "0::/job.slice/step\n");
    put(root, "sys/fs/cgroup/job.slice/step/memory.max", "3221225472\n");
    put(root, "sys/fs/cgroup/job.slice/step/memory.current", "1073741824\n");
    CHECK_INT(sr__memory_available_in(root) / MIB, 2048);
    put(root, "sys/fs/cgroup/job.slice/memory.max", "2147483648\n");
    put(root, "sys/fs/cgroup/job.slice/memory.current", "1073741824\n");
    put(root, "sys/fs/cgroup/job.slice/memory.stat", "inactive_file 524288000\n");
    CHECK_INT(sr__memory_available_in(root) / MIB, 1024 + 500);
    put(root, "proc/self/cgroup", "0::/elsewhere/not/mounted\n");
    CHECK_INT(sr__memory_available_in(root) / MIB, 8192);
    temp_dir_remove(root);
}

TEST(test_older_groups) {
    char root[64];
    begin(root, "7:cpu,cpuacct:/a\n9:memory:/docker/x\n0::/\n");
    put(root, "sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "1073741824\n");
    put(root, "sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes", "1072693248\n");
    put(root, "sys/fs/cgroup/memory/docker/x/memory.stat", "total_inactive_file 104857600\n");
    CHECK_INT(sr__memory_available_in(root) / MIB, 101);
    temp_dir_remove(root);
}

// A full group has 1 byte available; 0 would mean that the amount is unknown.
TEST(test_no_room) {
    char root[64];
    begin(root, "0::/full\n");
    put(root, "sys/fs/cgroup/full/memory.max", "1000000\n");
    put(root, "sys/fs/cgroup/full/memory.current", "1000000\n");
    CHECK_INT(sr__memory_available_in(root), 1);
    temp_dir_remove(root);
}

TEST(test_here) {
    CHECK(sr_memory_available() > 0);
    CHECK_INT(sr__memory_available_in("/no/such/root"), 0);
}

SR_TESTS(machine, unit(test_page_cache_is_free), unit(test_the_narrowest_group_counts),
         unit(test_older_groups), unit(test_no_room), unit(test_here))
