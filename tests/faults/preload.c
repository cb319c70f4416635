// A library that makes chosen system calls of a program fail when it is preloaded;
// tests/cli/test_faults.c uses it.
//
// SR_FAULT is "CALL:PART:ERRNO:FIRST:COUNT". Calls of that name on a path that contains PART, or
// with "=PATH" on that path alone, fail with ERRNO, starting with the FIRST such call (counted from
// 0), COUNT of them; COUNT 0: all later ones. With ERRNO 0 the program is stopped before the call,
// as by SIGSTOP, and the call works. Calls that libc makes internally do not come here.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fits(const char *path, const char *part) {
    return *part == '=' ? strcmp(path, part + 1) == 0 : strstr(path, part) != NULL;
}

static bool hits(const char *call, const char *path) {
    static int calls;
    char name[16], part[256];
    int error, first, count;
    const char *fault = getenv("SR_FAULT");
    if (!fault || !path ||
        sscanf(fault, "%15[^:]:%255[^:]:%d:%d:%d", name, part, &error, &first, &count) != 5 ||
        strcmp(name, call) != 0 || !fits(path, part))
        return false;
    int at = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    bool hit = at >= first && (count == 0 || at < first + count);
    if (hit && error == 0)
        raise(SIGSTOP);
    errno = error;
    return hit && error != 0;
}

static bool hits_fd(const char *call, int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    return n > 0 && hits(call, path);
}

// The function of the C library that this library's function of the same name hides.
#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))

static int open_as(const char *symbol, const char *path, int flags, mode_t mode) {
    typedef int (*Open)(const char *, int, ...);
    return hits("open", path) ? -1 : REAL(Open, symbol)(path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return open_as("open", path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return open_as("open64", path, flags, mode);
}

ssize_t read(int fd, void *bytes, size_t n) {
    typedef ssize_t (*Read)(int, void *, size_t);
    return hits_fd("read", fd) ? -1 : REAL(Read, "read")(fd, bytes, n);
}

ssize_t pread(int fd, void *bytes, size_t n, off_t at) {
    typedef ssize_t (*Read)(int, void *, size_t, off_t);
    return hits_fd("read", fd) ? -1 : REAL(Read, "pread")(fd, bytes, n, at);
}

int stat(const char *restrict path, struct stat *restrict out) {
    typedef int (*Stat)(const char *, struct stat *);
    return hits("stat", path) ? -1 : REAL(Stat, "stat")(path, out);
}

DIR *opendir(const char *path) {
    typedef DIR *(*Opendir)(const char *);
    return hits("opendir", path) ? NULL : REAL(Opendir, "opendir")(path);
}

FILE *fdopen(int fd, const char *mode) {
    typedef FILE *(*Fdopen)(int, const char *);
    return hits_fd("fdopen", fd) ? NULL : REAL(Fdopen, "fdopen")(fd, mode);
}

int rename(const char *from, const char *to) {
    typedef int (*Rename)(const char *, const char *);
    return hits("rename", to) ? -1 : REAL(Rename, "rename")(from, to);
}

int symlink(const char *target, const char *path) {
    typedef int (*Symlink)(const char *, const char *);
    return hits("symlink", path) ? -1 : REAL(Symlink, "symlink")(target, path);
}
