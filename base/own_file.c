// Opens without following links and locks with flock().
#include "base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Reads the holder's number for the message alone: the kernel's lock decides, and it ends with a
// crash.
static SrStatus refuse_lock(int fd, const char *path) {
    char pid[32] = "";
    ssize_t n = read(fd, pid, sizeof pid - 1);
    pid[n > 0 ? n : 0] = '\0';
    pid[strcspn(pid, "\n")] = '\0';
    close(fd);
    SR_FAIL(SR_ERR_IO,
            "'%s' is in use by another process%s%s; wait until that process ends, stop it, or use "
            "another folder",
            path, *pid ? ", number " : "", pid);
}

// Opens a regular file and refuses links and pipes before anything is written: they lead to files
// of somebody else.
static SrStatus open_own(const char *path, int flags, int *out) {
    struct stat st;
    int fd = open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (fd < 0 && errno == ELOOP)
        SR_FAIL(SR_ERR_IO, "'%s' is a symbolic link, expected a regular file; remove it", path);
    if (fd < 0)
        SR_FAIL(SR_ERR_IO, "cannot open '%s': %s; expected a folder that can be written to", path,
                strerror(errno));
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
        SR_FAIL(SR_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
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

// Takes the exclusive lock.  A page of the run tests the lock with a brief shared lock
// (sr_run_is_live).  A shared lock admits another shared lock, and a holder does not.
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
        sr_fail(SR_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
        close(fd);
        return SR_ERR_IO;
    }
    *out = fd;
    return SR_OK;
}

void sr_file_unlock(int lock) {
    if (lock >= 0)
        close(lock);
}
