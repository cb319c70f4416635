// Files: whole reads within a bound, mappings, and writes that replace only when complete.
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"

#define PATH_BYTES 4096

// errno stays for callers that ask whose fault it was.
static SrStatus fail_errno(const char *what, const char *path) {
    int error = errno;
    sr_fail(SR_ERR_IO, "%s '%s': %s", what, path, strerror(error));
    errno = error;
    return SR_ERR_IO;
}

// Does not block: opening a pipe must not wait for its writer.
int sr_file_open_fd(const char *path) {
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd < 0 && errno == EINTR);
    return fd;
}

// Everything else (EIO, EMFILE, ENFILE, ENOMEM, ESTALE, ...) would meet the next file too.
bool sr_file_is_own_fault(int error) {
    static const int own[] = {ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EACCES,
                              EPERM,  EISDIR,  ENXIO, ENODEV,       EOVERFLOW};
    for (int i = 0; i < SR_COUNT(own); i++)
        if (error == own[i])
            return true;
    return false;
}

// Opens a regular file for reading and gives its size; the descriptor is the caller's.
// Folders, devices and pipes have no size to bound the reading by.
static SrStatus open_regular(const char *path, int *fd, size_t *bytes) {
    *fd = sr_file_open_fd(path);
    if (*fd < 0)
        return fail_errno("cannot open", path);
    struct stat st;
    bool known = fstat(*fd, &st) == 0;
    if (known && S_ISREG(st.st_mode)) {
        *bytes = (size_t)st.st_size;
        return SR_OK;
    }
    SrStatus status = known ? sr_fail(SR_ERR_IO, "cannot read '%s': not a regular file", path)
                            : fail_errno("cannot read", path);
    int error = known ? 0 : errno;
    close(*fd);
    errno = error;
    return status;
}

// The whole file, or where it is larger than max_bytes and `end` is set, its end.
static SrStatus read_file(const char *path, size_t max_bytes, bool end, char **data,
                          size_t *bytes) {
    int fd;
    size_t size = 0;
    SR_TRY(open_regular(path, &fd, &size));
    if (size > max_bytes && end && lseek(fd, (off_t)(size - max_bytes), SEEK_SET) >= 0)
        size = max_bytes;
    if (size > max_bytes) {
        close(fd);
        SR_FAIL(SR_ERR_IO, "'%s' has %zu bytes; at most %zu are read", path, size, max_bytes);
    }
    char *buffer = sr_alloc(size + 1);
    size_t done = 0;
    int reason = 0;
    while (buffer && done < size) {
        ssize_t got = read(fd, buffer + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            reason = got < 0 ? errno : 0;
            break;
        }
        done += (size_t)got;
    }
    close(fd);
    if (!buffer)
        SR_FAIL(SR_ERR_MEMORY, "out of memory reading '%s' (%zu bytes)", path, size);
    if (done < size) {
        sr_free(buffer);
        sr_fail(SR_ERR_IO, "cannot read '%s': got %zu of %zu bytes%s%s", path, done, size,
                reason ? ": " : "", reason ? strerror(reason) : "");
        errno = reason;
        return SR_ERR_IO;
    }
    buffer[size] = '\0';
    *data = buffer;
    *bytes = size;
    return SR_OK;
}

SrStatus sr_file_read(const char *path, size_t max_bytes, char **data, size_t *bytes) {
    return read_file(path, max_bytes, false, data, bytes);
}

SrStatus sr_file_read_end(const char *path, size_t max_bytes, char **data, size_t *bytes) {
    return read_file(path, max_bytes, true, data, bytes);
}

// The mapping outlives the descriptor and the name: replacing the file while it is mapped is safe,
// because writers here never change a file in place.
SrStatus sr_file_map(const char *path, const void **data, size_t *bytes) {
    int fd;
    *data = NULL;
    *bytes = 0;
    size_t size = 0;
    SR_TRY(open_regular(path, &fd, &size));
    if (size == 0) {
        close(fd);
        return SR_OK;
    }
    void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return fail_errno("cannot map", path);
    *data = map;
    *bytes = size;
    return SR_OK;
}

// munmap wants a pointer to non-const; the pages themselves were never writable.
void sr_file_unmap(const void *data, size_t bytes) {
    if (data)
        munmap((void *)(uintptr_t)data, bytes);
}

// The folder a path lies in, "." when it names none.
static void parent_of(const char *path, char out[PATH_BYTES]) {
    const char *slash = strrchr(path, '/');
    if (!slash)
        snprintf(out, PATH_BYTES, ".");
    else if (slash == path)
        snprintf(out, PATH_BYTES, "/");
    else
        snprintf(out, PATH_BYTES, "%.*s", (int)(slash - path), path);
}

// A rename is only durable once the folder that holds the name is.
static void sync_parent(const char *path) {
    char dir[PATH_BYTES];
    parent_of(path, dir);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

// Eight hex digits of the host's name (FNV-1a).  A number of a process says nothing on another host that writes
// to the same file system.
static void host_mark(char out[9]) {
    char host[256] = "";
    uint32_t h = 2166136261u;
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    for (const char *c = host; *c; c++)
        h = (h ^ (unsigned char)*c) * 16777619u;
    snprintf(out, 9, "%08" PRIx32, h);
}

// The process of this host that wrote a temporary "<base>.tmp<pid>-<host>"; 0 if the name has another form.
// base NULL: any.
static long writer_of(const char *name, const char *base, const char *host) {
    const char *mark = NULL;
    for (const char *at = strstr(name, ".tmp"); at; at = strstr(at + 1, ".tmp"))
        mark = at;
    if (!mark || (base && (strlen(base) != (size_t)(mark - name) ||
                           strncmp(name, base, (size_t)(mark - name)) != 0)))
        return 0;
    const char *digits = mark + 4;
    char *end;
    long pid = strtol(digits, &end, 10);
    bool ours = end != digits && *end == '-' && strcmp(end + 1, host) == 0;
    return ours && pid > 0 ? pid : 0;
}

// Best effort: nothing depends on it.
static void remove_orphans(const char *dir, const char *base) {
    char host[9];
    host_mark(host);
    DIR *d = opendir(dir);
    if (!d)
        return;
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        long pid = writer_of(e->d_name, base, host);
        if (pid && kill((pid_t)pid, 0) != 0 && errno == ESRCH)
            unlinkat(dirfd(d), e->d_name, 0);
    }
    closedir(d);
}

void sr_file_remove_orphans(const char *dir) { remove_orphans(dir, NULL); }

// A process that was killed left its temporary behind.  Checkpoints are large, so the next writer of the same
// file clears it away.
static void remove_orphans_of(const char *path) {
    char dir[PATH_BYTES];
    parent_of(path, dir);
    const char *slash = strrchr(path, '/');
    remove_orphans(dir, slash ? slash + 1 : path);
}

// Frees the names; what they name stays.
static void forget(SrFileWriter *writer) {
    sr_free(writer->temporary);
    sr_free(writer->path);
    *writer = (SrFileWriter){0};
}

static char *temporary_name(const char *path) {
    char host[9];
    host_mark(host);
    size_t bytes = strlen(path) + 48;
    char *name = sr_alloc(bytes);
    if (name)
        snprintf(name, bytes, "%s.tmp%ld-%s", path, (long)getpid(), host);
    return name;
}

// Never through a file or link that stands there.  What does was left by an earlier process of this number, which
// is common where a container's first process always has the same one, and goes.
static FILE *create_new(const char *path) {
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, fd;
    do
        fd = open(path, flags, 0666);
    while (fd < 0 && (errno == EINTR || (errno == EEXIST && unlink(path) == 0)));
    FILE *f = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!f && fd >= 0) {
        int reason = errno;
        close(fd);
        unlink(path);
        errno = reason;
    }
    return f;
}

// The temporary stands in the folder of the final name: a rename is atomic only within a file
// system.
SrStatus sr_file_begin(SrFileWriter *writer, const char *path) {
    *writer = (SrFileWriter){.path = sr_strdup(path), .temporary = temporary_name(path)};
    if (!writer->path || !writer->temporary) {
        forget(writer);
        SR_FAIL(SR_ERR_MEMORY, "out of memory writing '%s'", path);
    }
    remove_orphans_of(path);
    writer->f = create_new(writer->temporary);
    if (writer->f)
        return SR_OK;
    SrStatus status = fail_errno("cannot write", path);
    forget(writer);
    return status;
}

// Everything that can fail before the new file may take the old one's place.
static bool flush_and_close(FILE *f) {
    bool ok = !ferror(f) && fflush(f) == 0;
    int synced = -1;
    while (ok && (synced = fsync(fileno(f))) != 0 && errno == EINTR)
        continue;
    ok = ok && synced == 0;
    int cause = errno; // closing may set another
    bool closed = fclose(f) == 0;
    if (!ok)
        errno = cause;
    return ok && closed;
}

SrStatus sr_file_commit(SrFileWriter *writer) {
    bool complete = flush_and_close(writer->f);
    writer->f = NULL;
    if (!complete || rename(writer->temporary, writer->path) != 0) {
        SrStatus status = fail_errno("cannot write", writer->path);
        sr_file_abort(writer);
        return status;
    }
    sync_parent(writer->path);
    forget(writer);
    return SR_OK;
}

void sr_file_abort(SrFileWriter *writer) {
    if (writer->f)
        fclose(writer->f);
    if (writer->temporary)
        unlink(writer->temporary);
    forget(writer);
}

SrStatus sr_file_write(const char *path, const void *data, size_t bytes) {
    SrFileWriter writer;
    SR_TRY(sr_file_begin(&writer, path));
    if (bytes && fwrite(data, 1, bytes, writer.f) != bytes) {
        SrStatus status = fail_errno("cannot write", path);
        sr_file_abort(&writer);
        return status;
    }
    return sr_file_commit(&writer);
}

// A sick disk is no "no such file": opening the file then gives the cause.
bool sr_file_exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 || !sr_file_is_own_fault(errno);
}

SrStatus sr_file_check_new(const char *path, bool force) {
    if (sr_file_is_dir(path))
        SR_FAIL(SR_ERR_CONFIG, "%s: a directory; name the file to write", path);
    if (!force && sr_file_exists(path))
        SR_FAIL(SR_ERR_CONFIG, "%s exists; --force replaces it", path);
    return SR_OK;
}

bool sr_file_is_link(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

SrStatus sr_file_check_readable(const char *path) {
    int fd = -1;
    size_t bytes;
    SR_TRY(open_regular(path, &fd, &bytes));
    close(fd);
    return SR_OK;
}

bool sr_file_is_dir(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

// Each prefix that ends at a slash is made in turn.  What stands there already may be unwritable,
// of someone else, or a link: only whether it is a folder matters.
SrStatus sr_file_mkdirs(const char *path) {
    char buffer[PATH_BYTES];
    if (!*path)
        SR_FAIL(SR_ERR_CONFIG, "cannot make a folder without a name");
    if (snprintf(buffer, sizeof buffer, "%s", path) >= (int)sizeof buffer)
        SR_FAIL(SR_ERR_CONFIG, "path too long: '%.80s...'", path);
    for (char *p = buffer + 1;; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char end = *p;
        *p = '\0';
        int reason = mkdir(buffer, 0777) == 0 ? 0 : errno;
        if (reason != 0 && reason != EEXIST && !sr_file_is_dir(buffer)) {
            errno = reason; // not that of looking for it
            return fail_errno("cannot make folder", buffer);
        }
        if (end == '\0')
            break;
        *p = end;
    }
    if (!sr_file_is_dir(path))
        SR_FAIL(SR_ERR_IO, "cannot make folder '%s': a file of that name exists", path);
    return SR_OK;
}

// symlink() refuses to replace, so a link of another name takes the old one's place.
SrStatus sr_file_symlink(const char *target, const char *path) {
    SrStatus status = SR_OK;
    char *temporary = temporary_name(path);
    if (!temporary)
        SR_FAIL(SR_ERR_MEMORY, "out of memory linking '%s'", path);
    remove_orphans_of(path);
    unlink(temporary);
    if (symlink(target, temporary) != 0) {
        status = fail_errno("cannot make link", path);
    } else if (rename(temporary, path) != 0) {
        status = fail_errno("cannot make link", path);
        unlink(temporary);
    }
    sr_free(temporary);
    if (status == SR_OK)
        sync_parent(path);
    return status;
}

SrStatus sr_file_remove(const char *path) {
    if (unlink(path) != 0 && errno != ENOENT)
        return fail_errno("cannot remove", path);
    return SR_OK;
}

SrStatus sr_file_move(const char *from, const char *to) {
    if (rename(from, to) != 0)
        return fail_errno("cannot move", from);
    sync_parent(from);
    sync_parent(to);
    return SR_OK;
}

SrStatus sr_file_join(char *out, size_t out_bytes, const char *dir, const char *name) {
    size_t len = strlen(dir);
    const char *slash = len == 0 || dir[len - 1] == '/' ? "" : "/";
    int need = snprintf(out, out_bytes, "%s%s%s", dir, slash, name);
    if (need < 0 || (size_t)need >= out_bytes)
        SR_FAIL(SR_ERR_CONFIG, "path too long: '%.60s.../%.60s'", dir, name);
    return SR_OK;
}

// Not strcoll: the order of files must not depend on the user's language.
static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Adds one name to a growing list; NULL list elements never occur.
static bool list_add(char ***names, int *n, int *cap, const char *name) {
    if (*n == *cap) {
        int grown = *cap ? 2 * *cap : 64;
        char **bigger = sr_realloc(*names, (size_t)grown * sizeof *bigger);
        if (!bigger)
            return false;
        *names = bigger;
        *cap = grown;
    }
    (*names)[*n] = sr_strdup(name);
    if (!(*names)[*n])
        return false;
    ++*n;
    return true;
}

SrStatus sr_file_list(const char *dir, char ***names, int *n) {
    *names = NULL;
    *n = 0;
    DIR *d = opendir(dir);
    if (!d)
        return fail_errno("cannot list folder", dir);
    int cap = 0;
    bool ok = true;
    const struct dirent *e;
    while (ok && (errno = 0, e = readdir(d))) {
        bool dots = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
        ok = dots || list_add(names, n, &cap, e->d_name);
    }
    SrStatus status = !ok     ? sr_fail(SR_ERR_MEMORY, "out of memory listing '%s'", dir)
                      : errno ? fail_errno("cannot list folder", dir)
                              : SR_OK;
    closedir(d);
    if (status != SR_OK) {
        sr_file_list_free(*names, *n);
        *names = NULL;
        *n = 0;
        return status;
    }
    if (*n > 1)
        qsort(*names, (size_t)*n, sizeof **names, by_bytes);
    return SR_OK;
}

void sr_file_list_free(char **names, int n) {
    for (int i = 0; i < n; i++)
        sr_free(names[i]);
    sr_free(names);
}

// The number is for the message alone; the claim is the kernel's lock, which no crash leaves behind.
static SrStatus refuse_lock(int fd, const char *path) {
    char pid[32] = "";
    ssize_t n = read(fd, pid, sizeof pid - 1);
    pid[n > 0 ? n : 0] = '\0';
    pid[strcspn(pid, "\n")] = '\0';
    close(fd);
    SR_FAIL(
        SR_ERR_IO,
        "'%s' is held by another process%s%s; wait for that one, stop it, or use another folder",
        path, *pid ? ", number " : "", pid);
}

// What stands under the name is looked at before anything is written to it: a link's target and a pipe are somebody
// else's.
static SrStatus open_own(const char *path, int flags, int *out) {
    struct stat st;
    int fd = open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (fd < 0 && errno == ELOOP)
        SR_FAIL(SR_ERR_IO, "'%s' is a link; remove it", path);
    if (fd < 0)
        SR_FAIL(SR_ERR_IO, "cannot open '%s': %s; its folder must be one that can be written to",
                path, strerror(errno));
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        *out = fd;
        return SR_OK;
    }
    close(fd);
    SR_FAIL(SR_ERR_IO, "'%s' is not a regular file; remove it", path);
}

SrStatus sr_file_open_own(const char *path, int *out, size_t *bytes) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *out = -1;
    if (fd < 0)
        return fail_errno("cannot open", path);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        *out = fd;
        *bytes = (size_t)st.st_size;
        return SR_OK;
    }
    close(fd);
    SR_FAIL(SR_ERR_IO, "cannot read '%s': not a regular file", path);
}

SrStatus sr_file_append(const char *path, FILE **out) {
    int fd = -1;
    *out = NULL;
    SR_TRY(open_own(path, O_WRONLY | O_APPEND, &fd));
    *out = fdopen(fd, "a");
    if (*out)
        return SR_OK;
    close(fd);
    SR_FAIL(SR_ERR_MEMORY, "out of memory opening '%s'", path);
}

// A page about the run looks at the lock for a moment by a shared claim (sr_run_is_live). A process that only looks
// leaves room for another shared claim, a holder does not.
static bool lock_alone(int fd) {
    const struct timespec pause = {0, 2000000};
    for (int i = 0; i < 500; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK || flock(fd, LOCK_SH | LOCK_NB) != 0)
            return false;
        flock(fd, LOCK_UN);
        nanosleep(&pause, NULL);
    }
    errno = EWOULDBLOCK;
    return false;
}

SrStatus sr_file_lock(const char *path, int *out) {
    *out = -1;
    int fd = -1;
    SR_TRY(open_own(path, O_RDWR, &fd));
    if (!lock_alone(fd)) {
        if (errno == EWOULDBLOCK)
            return refuse_lock(fd, path);
        close(fd);
        return SR_OK;
    }
    if (ftruncate(fd, 0) != 0 || dprintf(fd, "%ld\n", (long)getpid()) < 0) {
        close(fd);
        return fail_errno("cannot write", path);
    }
    *out = fd;
    return SR_OK;
}

void sr_file_unlock(int lock) {
    if (lock >= 0)
        close(lock);
}

// The name is removed at once, so that a killed process leaves nothing behind.
SrStatus sr_file_map_temporary(const char *dir, size_t bytes, void **data) {
    char path[4096];
    *data = NULL;
    SR_TRY(sr_file_mkdirs(dir));
    SR_TRY(sr_file_join(path, sizeof path, dir, ".map-XXXXXX"));
    int fd = mkstemp(path);
    if (fd < 0)
        SR_FAIL(SR_ERR_IO, "%s: %s", path, strerror(errno));
    unlink(path);
    // Room is claimed now: a full disk found by a write to the mapping would be a signal.
    int failed = posix_fallocate(fd, 0, (off_t)SR_MAX(bytes, (size_t)1));
    void *p = failed
                  ? MAP_FAILED
                  : mmap(NULL, SR_MAX(bytes, (size_t)1), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int reason = failed ? failed : errno;
    close(fd);
    if (p == MAP_FAILED)
        SR_FAIL(SR_ERR_IO, "%s: no room for a file of %zu bytes: %s", dir, bytes, strerror(reason));
    *data = p;
    return SR_OK;
}

void sr_file_unmap_temporary(void *data, size_t bytes) {
    if (data)
        munmap(data, SR_MAX(bytes, (size_t)1));
}
