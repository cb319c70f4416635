// Reads image files and makes the errors about paths that all data sets share.
#include "data/sets/source.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/npy.h"
#include "base/text/text.h"
#include "data/dataset.h"
#include "data/image_pool.h"
#include "data/readers/tiff_page.h"

enum { MAX_PATH_BYTES = 4096 };
// Largest image file; larger ones are disk images or films, not photos.
#define MAX_FILE_BYTES ((off_t)512 << 20)

SrStatus sr__source_fail(const char *what, const char *path) {
    int error = errno;
    if (sr_file_is_own_fault(error))
        SR_FAIL(SR_ERR_IO, "%s %s: %s", what, path, strerror(error));
    SR_FAIL(SR_ERR_RUN, "%s %s: %s", what, path, strerror(error));
}

// read() may return less than asked for, and be interrupted.
static SrStatus read_all(int fd, const char *path, SrImagePool *pool, char **bytes, size_t *n) {
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
    SR_TRY_MEMORY(data, "%s", path);
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

// Writes the path before "#2" and sets the page.  Returns false if the path names no page.
static bool split_page(const char *path, char file[MAX_PATH_BYTES], int *page) {
    size_t len = sr__tiff_page_split(path, page);
    if (len == 0 || len >= MAX_PATH_BYTES)
        return false;
    memcpy(file, path, len);
    file[len] = 0;
    return true;
}

bool sr__source_exists(const char *path) {
    char file[MAX_PATH_BYTES];
    int page;
    return sr_file_exists(path) || (split_page(path, file, &page) && sr_file_exists(file));
}

bool sr__source_is_stack(const char *path) {
    const void *map;
    size_t bytes;
    SrNpyHeader h = {.rank = 0};
    if (!sr_text_ends(path, ".npy") || sr_file_is_dir(path) || !sr_file_exists(path))
        return false;
    if (sr_file_map(path, &map, &bytes) == SR_OK) {
        size_t end = bytes > SR_NPY_PRELUDE ? sr_npy_header_end(map) : 0;
        if (end == 0 || end > bytes || sr_npy_header_read(map, end, path, &h) != SR_OK)
            h.rank = 0;
        sr_file_unmap(map, bytes);
    }
    sr_status_clear(); // opening the file tells what is wrong with it
    return h.rank >= 3;
}

// Opens the file, or the one that holds the page that the path names; *page is 0 without a page.
static int open_page(const char *path, int *page) {
    char file[MAX_PATH_BYTES];
    int fd = sr_file_open_fd(path);
    *page = 0;
    if (fd >= 0 || errno != ENOENT || !split_page(path, file, page))
        return fd;
    return sr_file_open_fd(file);
}

// Files are read into the pool, not mapped: a mapped file that shrinks kills the process.
SrStatus sr__source_read_file(const char *path, SrImagePool *pool, const void **bytes, size_t *n) {
    int page = 0;
    char *data = NULL;
    int fd = open_page(path, &page);
    if (fd < 0)
        return sr__source_fail("cannot open", path);
    SrStatus status = read_all(fd, path, pool, &data, n);
    close(fd);
    *bytes = data;
    if (status != SR_OK || page == 0)
        return status;
    return sr__tiff_page_choose((uint8_t *)data, *n, page);
}

// Newcomers meet this error first, so the message names the key to set.
SrStatus sr__source_check_path(const SrDatasetConfig *config) {
    if (!config->data_path || !*config->data_path)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.%s.DATA_PATHS is empty; name a folder or file of images, as in "
                "DATA.%s.DATA_PATHS=[/path/to/images]",
                config->split, config->split);
    if (!sr__source_exists(config->data_path))
        SR_FAIL(SR_ERR_CONFIG, "DATA.%s.DATA_PATHS: no such file or folder: %s", config->split,
                config->data_path);
    return SR_OK;
}
