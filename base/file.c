// Files: bounded reads, mappings, atomic writes, locks, and lists of folders.
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/temporary.h"

#define PATH_BYTES 4096

// Keeps errno for callers of sr_file_is_own_fault.
static SrStatus fail_errno(const char *what, const char *path) {
    int error = errno;
    sr_fail(SR_ERR_IO, "%s '%s': %s", what, path, strerror(error));
    errno = error;
    return SR_ERR_IO;
}

// Opens with O_NONBLOCK: opening a pipe must not wait for its writer.
int sr_file_open_fd(const char *path) {
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd < 0 && errno == EINTR);
    return fd;
}

// All other errors (EIO, EMFILE, ENFILE, ENOMEM, ESTALE, ...) would hit the next file too.
bool sr_file_is_own_fault(int error) {
    static const int own[] = {ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EACCES,
                              EPERM,  EISDIR,  ENXIO, ENODEV,       EOVERFLOW};
    for (int i = 0; i < SR_COUNT(own); i++)
        if (error == own[i])
            return true;
    return false;
}

// Folders, devices and pipes are refused: they have no size that could bound the reading.
SrStatus sr_file_open_regular(const char *path, int *fd, size_t *bytes) {
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

SrStatus sr_file_read(const char *path, size_t max_bytes, char **data, size_t *bytes) {
    int fd;
    size_t size = 0;
    SR_TRY(sr_file_open_regular(path, &fd, &size));
    if (size > max_bytes) {
        close(fd);
        SR_FAIL(SR_ERR_IO, "'%s' has %zu bytes; expected at most %zu", path, size, max_bytes);
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

// The mapping outlives the descriptor and the name.  Replacing the file during it is safe, because
// this program's writers never change a file in place.
SrStatus sr_file_map(const char *path, const void **data, size_t *bytes) {
    int fd;
    *data = NULL;
    *bytes = 0;
    size_t size = 0;
    SR_TRY(sr_file_open_regular(path, &fd, &size));
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

// The cast drops const for munmap alone; the pages were never writable.
void sr_file_unmap(const void *data, size_t bytes) {
    if (data)
        munmap((void *)(uintptr_t)data, bytes);
}

// Writes the folder of a path; "." if the path names none.
static void parent_of(const char *path, char out[PATH_BYTES]) {
    const char *slash = strrchr(path, '/');
    if (!slash)
        snprintf(out, PATH_BYTES, ".");
    else if (slash == path)
        snprintf(out, PATH_BYTES, "/");
    else
        snprintf(out, PATH_BYTES, "%.*s", (int)(slash - path), path);
}

// Syncs the folder of a name: a rename is durable only after that.
static void sync_parent(const char *path) {
    char dir[PATH_BYTES];
    parent_of(path, dir);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

// Writes eight hex digits of the host name's hash (FNV-1a).  A process number means nothing on
// another host that writes to the same file system.
static void host_mark(char out[9]) {
    char host[256] = "";
    uint32_t h = 2166136261u;
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    for (const char *c = host; *c; c++)
        h = (h ^ (unsigned char)*c) * 16777619u;
    snprintf(out, 9, "%08" PRIx32, h);
}

// Returns the process of this host that wrote the temporary file "<base>.tmp<pid>-<host>"; 0: the
// name has another form or host.  base NULL: any base.
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

// Ignores errors: nothing depends on the removal.
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

// Removes temporary files of killed processes.  Checkpoints are large, so the next writer of the
// same file cleans up.
static void remove_orphans_of(const char *path) {
    char dir[PATH_BYTES];
    parent_of(path, dir);
    const char *slash = strrchr(path, '/');
    remove_orphans(dir, slash ? slash + 1 : path);
}

// Frees the names and leaves the files.
static void forget(SrFileWriter *writer) {
    if (writer->temporary)
        sr_temporary_remove(writer->temporary);
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

// Creates a file and never writes through an existing file or link.  An existing one was left by an
// earlier process with the same number, which is common in containers, and is removed.
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

// Refuses /dev/null and its like: the rename would put a file in the place of the device.
static SrStatus check_no_device(const char *path) {
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        SR_FAIL(SR_ERR_IO, "cannot write '%s': it is a device, pipe or socket, expected a file",
                path);
    return SR_OK;
}

// Puts the temporary file into the folder of the final name: a rename is atomic only within one
// file system.
SrStatus sr_file_begin(SrFileWriter *writer, const char *path) {
    *writer = (SrFileWriter){0};
    SR_TRY(check_no_device(path));
    *writer = (SrFileWriter){.path = sr_strdup(path), .temporary = temporary_name(path)};
    if (!writer->path || !writer->temporary) {
        forget(writer);
        SR_FAIL(SR_ERR_MEMORY, "out of memory writing '%s'", path);
    }
    remove_orphans_of(path);
    sr_temporary_add(writer->temporary);
    writer->f = create_new(writer->temporary);
    if (writer->f)
        return SR_OK;
    SrStatus status = fail_errno("cannot write", path);
    forget(writer);
    return status;
}

// Does everything that can fail before the new file replaces the old one.
static bool flush_and_close(FILE *f) {
    bool ok = !ferror(f) && fflush(f) == 0;
    int synced = -1;
    while (ok && (synced = fsync(fileno(f))) != 0 && errno == EINTR)
        continue;
    ok = ok && synced == 0;
    int cause = errno; // fclose may change errno
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

SrStatus sr_file_write_text(const char *path, const SrText *text) {
    return text->failed ? sr_out_of_memory("%s", path) : sr_file_write(path, text->s, text->len);
}

// Asks for a file's status.  A disk that fails once (EIO, ESTALE) is asked again, so that one
// failure is not taken for an answer.
static bool look(const char *path, struct stat *st) {
    for (int again = 2;; again--) {
        if (stat(path, st) == 0)
            return true;
        if (again == 0 || sr_file_is_own_fault(errno))
            return false;
    }
}

// A failing disk does not count as a missing file: opening the file then reports the cause.
bool sr_file_exists(const char *path) {
    struct stat st;
    return look(path, &st) || !sr_file_is_own_fault(errno);
}

SrStatus sr_file_look(const char *path, struct stat *st, bool *found) {
    *found = look(path, st);
    return *found || sr_file_is_own_fault(errno) ? SR_OK : fail_errno("cannot look at", path);
}

SrStatus sr_file_check_known(const char *path) {
    struct stat st;
    bool found;
    return sr_file_look(path, &st, &found);
}

SrStatus sr_file_check_new(const char *path, bool force) {
    SR_TRY(sr_file_check_known(path));
    if (sr_file_is_dir(path))
        SR_FAIL(SR_ERR_CONFIG, "%s is a directory; name the file to write", path);
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
    SR_TRY(sr_file_open_regular(path, &fd, &bytes));
    close(fd);
    return SR_OK;
}

bool sr_file_is_dir(const char *path) {
    struct stat st;
    return look(path, &st) && S_ISDIR(st.st_mode);
}

// Creates each prefix that ends at a slash in turn.  An existing one may be unwritable, somebody
// else's, or a link: it only has to be a folder.
SrStatus sr_file_mkdirs(const char *path) {
    char buffer[PATH_BYTES];
    if (!*path)
        SR_FAIL(SR_ERR_CONFIG, "cannot create a folder without a name");
    if (snprintf(buffer, sizeof buffer, "%s", path) >= (int)sizeof buffer)
        SR_FAIL(SR_ERR_CONFIG, "path too long: '%.80s...'", path);
    for (char *p = buffer + 1;; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char end = *p;
        *p = '\0';
        int reason = mkdir(buffer, 0777) == 0 ? 0 : errno;
        if (reason != 0 && reason != EEXIST && !sr_file_is_dir(buffer)) {
            errno = reason; // errno of mkdir, not of the check after it
            return fail_errno("cannot create folder", buffer);
        }
        if (end == '\0')
            break;
        *p = end;
    }
    if (!sr_file_is_dir(path))
        SR_FAIL(SR_ERR_IO, "cannot create folder '%s': a file of that name exists", path);
    return SR_OK;
}

// Creates a link under a temporary name and renames it, because symlink() never replaces a name.
SrStatus sr_file_symlink(const char *target, const char *path) {
    SrStatus status = SR_OK;
    char *temporary = temporary_name(path);
    if (!temporary)
        SR_FAIL(SR_ERR_MEMORY, "out of memory linking '%s'", path);
    remove_orphans_of(path);
    unlink(temporary);
    if (symlink(target, temporary) != 0) {
        status = fail_errno("cannot create link", path);
    } else if (rename(temporary, path) != 0) {
        status = fail_errno("cannot create link", path);
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

// Compares by bytes, not by strcoll: the order of files must not depend on the user's language.
static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Adds a name to a growing list, which never holds NULL.
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

// Allocates the disk space of a file, so that a full disk cannot raise a signal at a later write to
// the file's mapping.  Returns an error number; 0: done.
static int reserve(int fd, size_t bytes) {
    int failed;
    while ((failed = posix_fallocate(fd, 0, (off_t)bytes)) == EINTR)
        ;
    return failed;
}

// Removes the name at once, so that a killed process leaves no file.
SrStatus sr_file_map_temporary(const char *dir, size_t bytes, void **data) {
    char path[4096];
    *data = NULL;
    SR_TRY(sr_file_mkdirs(dir));
    SR_TRY(sr_file_join(path, sizeof path, dir, ".map-XXXXXX"));
    int fd = mkstemp(path);
    if (fd < 0)
        SR_FAIL(SR_ERR_IO, "%s: %s", path, strerror(errno));
    unlink(path);
    int failed = reserve(fd, SR_MAX(bytes, (size_t)1));
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

SrStatus sr_file_map_shared(const char *path, size_t bytes, void **data) {
    struct stat st;
    *data = NULL;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return fail_errno("cannot open", path);
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    int failed = regular ? reserve(fd, bytes) : EINVAL;
    void *p = failed ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int reason = failed ? failed : errno;
    close(fd);
    if (p == MAP_FAILED)
        SR_FAIL(SR_ERR_IO, "%s: no room for a file of %zu bytes: %s", path, bytes,
                regular ? strerror(reason) : "it is not a regular file");
    *data = p;
    return SR_OK;
}

void sr_file_unmap_temporary(void *data, size_t bytes) {
    if (data)
        munmap(data, SR_MAX(bytes, (size_t)1));
}
