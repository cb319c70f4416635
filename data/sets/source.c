// Reads image files and makes the errors about paths that all data sets share.
#include "data/sets/source.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

// Largest image file; larger ones are disk images or films, not photos.
#define MAX_FILE_BYTES ((off_t)512 << 20)

SrStatus sr__source_fail(const char *what, const char *path) {
    int error = errno;
    if (sr_file_is_own_fault(error))
        SR_FAIL(SR_ERR_IO, "%s %s: %s", what, path, strerror(error));
    SR_FAIL(SR_ERR_RUN, "%s %s: %s", what, path, strerror(error));
}

// read() may return less than asked for, and be interrupted.
static SrStatus read_all(int fd, const char *path, SrImagePool *pool, const void **bytes,
                         size_t *n) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return sr__source_fail("cannot read", path);
    if (!S_ISREG(st.st_mode))
        SR_FAIL(SR_ERR_IO, "cannot read %s: not a regular file", path);
    if (st.st_size > MAX_FILE_BYTES)
        SR_FAIL(SR_ERR_IO, "cannot read %s: %lld bytes are too many for an image", path,
                (long long)st.st_size);
    size_t want = (size_t)st.st_size, got = 0;
    char *data = sr_image_pool_take(pool, want + 1);
    if (!data)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for %s", path);
    while (got < want) {
        ssize_t part = read(fd, data + got, want - got);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return sr__source_fail("cannot read", path);
        if (part == 0)
            SR_FAIL(SR_ERR_IO, "cannot read %s: the file became shorter during reading", path);
        got += (size_t)part;
    }
    *bytes = data;
    *n = got;
    return SR_OK;
}

// Files are read into the pool, not mapped: a mapped file that shrinks kills the process.
SrStatus sr__source_read_file(const char *path, SrImagePool *pool, const void **bytes, size_t *n) {
    int fd = sr_file_open_fd(path);
    if (fd < 0)
        return sr__source_fail("cannot open", path);
    SrStatus status = read_all(fd, path, pool, bytes, n);
    close(fd);
    return status;
}

// Newcomers meet this error first, so the message names the key to set.
SrStatus sr__source_check_path(const SrDatasetConfig *config) {
    if (!config->data_path || !*config->data_path)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.%s.DATA_PATHS is empty; name a folder or file of images, as in "
                "DATA.%s.DATA_PATHS=[/path/to/images]",
                config->split, config->split);
    if (!sr_file_exists(config->data_path))
        SR_FAIL(SR_ERR_CONFIG, "DATA.%s.DATA_PATHS: no such file or folder: %s", config->split,
                config->data_path);
    return SR_OK;
}
