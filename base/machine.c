// What this machine has to give; see the header.
#include "base/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

// A one-number file of the kernel; 0 when it is missing.
static size_t read_number_file(const char *path) {
    char line[64] = "";
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    const char *got = fgets(line, sizeof line, f);
    fclose(f);
    return got ? (size_t)strtoull(line, NULL, 10) : 0; // "max" reads as 0: no limit
}

// MemAvailable counts what the kernel would give up without swapping; inside a container the
// control group's limit is the smaller truth.
size_t sr_memory_available(void) {
    size_t available = 0;
    char line[128];
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "MemAvailable:", 13) == 0)
            available = (size_t)strtoull(line + 13, NULL, 10) * 1024;
    if (f)
        fclose(f);
    size_t limit = read_number_file("/sys/fs/cgroup/memory.max");
    size_t used = read_number_file("/sys/fs/cgroup/memory.current");
    if (limit > 0 && limit - SR_MIN(used, limit) < available)
        available = limit - SR_MIN(used, limit);
    return available;
}
