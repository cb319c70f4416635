// Opens without following links and locks with flock().
#include "base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void pause_2ms(void) {
    const struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
}

// Reads the holder's number for the message alone: the kernel's lock decides, and it ends with a
// crash.  A holder that has just taken the lock may not have replaced its predecessor's number yet,
// so a number without a process of this machine is read again for a moment.
static void read_holder(int fd, char pid[32]) {
    for (int i = 0; i < 100; i++) {
        ssize_t n = pread(fd, pid, 31, 0);
        pid[n > 0 ? n : 0] = '\0';
        bool whole = strchr(pid, '\n') != NULL;
        pid[strcspn(pid, "\n")] = '\0';
        long number = strtol(pid, NULL, 10);
        if (whole && number > 0 && (kill((pid_t)number, 0) == 0 || errno == EPERM))
            return;
        pause_2ms();
    }
}

static SrStatus refuse_lock(int fd, const char *path) {
    char pid[32] = "";
    read_holder(fd, pid);
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
    for (int i = 0; i < 500; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK || flock(fd, LOCK_SH | LOCK_NB) != 0)
            return false;
        flock(fd, LOCK_UN);
        pause_2ms();
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

int sr_file_hold_folder(const char *path) { return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

// Where the path cannot be looked at for another reason (EIO, ESTALE), the write that follows names
// that reason.
SrStatus sr_file_check_folder(int held, const char *path) {
    struct stat ours, there;
    char link[64], now[4096];
    errno = 0;
    if (held < 0 || fstat(held, &ours) != 0)
        return SR_OK;
    bool found = stat(path, &there) == 0;
    if (found ? there.st_dev == ours.st_dev && there.st_ino == ours.st_ino
              : errno != ENOENT && errno != ENOTDIR)
        return SR_OK;
    snprintf(link, sizeof link, "/proc/self/fd/%d", held);
    ssize_t n = ours.st_nlink > 0 ? readlink(link, now, sizeof now - 1) : 0;
    now[n > 0 ? n : 0] = '\0';
    if (*now)
        SR_FAIL(SR_ERR_IO, "'%s' was moved to '%s' while this process wrote to it", path, now);
    SR_FAIL(SR_ERR_IO, "'%s' was %s while this process wrote to it", path,
            ours.st_nlink > 0 ? "moved" : "removed");
}
