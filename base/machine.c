// Memory that this machine and its control groups have left, read from files of /proc and /sys.
#include "base/machine.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/compiler.h"

enum { PATH_BYTES = 4096 };
// Result for a full group: smaller than any request, and not 0, which means unknown.
#define NO_ROOM ((size_t)1)

// File names and keys of one version of control groups.
typedef struct {
    const char *mount, *limit, *used, *inactive;
} Names;
static const Names unified = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "};
static const Names legacy = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                             "memory.usage_in_bytes", "total_inactive_file "};

// Reads the number after `key` in a small file of the kernel; "": the number of the first line.
// Returns 0 for a missing number and for "max".
static size_t read_number(const char *dir, const char *name, const char *key) {
    char path[PATH_BYTES + 64], line[256];
    size_t len = strlen(key), value = 0;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, len) == 0) {
            value = (size_t)strtoull(line + len, NULL, 10);
            break;
        }
    if (f)
        fclose(f);
    return value;
}

// Returns the room in the group whose files lie in `dir`.  Clean pages of files belong to the
// group, but count as free: the kernel drops them before it refuses memory.
static size_t room_of_group(const Names *names, const char *dir) {
    size_t limit = read_number(dir, names->limit, "");
    if (limit == 0)
        return SIZE_MAX;
    size_t used = read_number(dir, names->used, "");
    used -= SR_MIN(used, read_number(dir, "memory.stat", names->inactive));
    return limit - SR_MIN(used, limit);
}

// Returns the smallest room of the group at `path` and all its parents, whose limits hold for it
// too.
static size_t room_of_path(const char *root, const Names *names, const char *path) {
    char dir[PATH_BYTES];
    size_t room = SIZE_MAX;
    int mount = snprintf(dir, sizeof dir, "%s%s", root, names->mount);
    int len = snprintf(dir, sizeof dir, "%s%s%s", root, names->mount, path);
    if (len < mount || len >= (int)sizeof dir)
        return room;
    for (;;) {
        room = SR_MIN(room, room_of_group(names, dir));
        char *slash = strrchr(dir, '/');
        if (!slash || slash - dir < mount)
            return room;
        *slash = 0;
    }
}

static bool is_memory(const char *controllers) {
    const char *at = strstr(controllers, "memory");
    return at && (at == controllers || at[-1] == ',') && (at[6] == 0 || at[6] == ',');
}

// Reads /proc/self/cgroup: "0::/user.slice/x" is the unified hierarchy, "9:memory:/docker/x" the
// older one.
static size_t room_of_groups(const char *root) {
    char path[PATH_BYTES], line[PATH_BYTES];
    size_t room = SR_MIN(room_of_path(root, &unified, ""), room_of_path(root, &legacy, ""));
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':'), *group;
        if (!controllers || !(group = strchr(controllers + 1, ':')))
            continue;
        *group++ = 0;
        if (!controllers[1])
            room = SR_MIN(room, room_of_path(root, &unified, group));
        else if (is_memory(controllers + 1))
            room = SR_MIN(room, room_of_path(root, &legacy, group));
    }
    if (f)
        fclose(f);
    return room;
}

// MemAvailable counts memory that the kernel can free without swapping.  Inside a container the
// control group's limit is usually smaller.
size_t sr__memory_available_in(const char *root) {
    char proc[PATH_BYTES];
    snprintf(proc, sizeof proc, "%s/proc", root);
    size_t available = read_number(proc, "meminfo", "MemAvailable:") * 1024;
    return available ? SR_MAX(SR_MIN(available, room_of_groups(root)), NO_ROOM) : 0;
}

size_t sr_address_space_left(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    size_t used = read_number("/proc/self", "statm", "") * (size_t)sysconf(_SC_PAGESIZE);
    return (size_t)limit.rlim_cur - SR_MIN(used, (size_t)limit.rlim_cur);
}

size_t sr_memory_available(void) {
    size_t available = sr__memory_available_in("");
    return available ? SR_MAX(SR_MIN(available, sr_address_space_left()), NO_ROOM) : 0;
}
