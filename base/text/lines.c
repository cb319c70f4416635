// Keeps one buffer, at whose beginning the next line is completed (lines.h).
#include "base/text/lines.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

SrStatus sr_lines_open(SrLines *l, const char *path, size_t max_bytes) {
    size_t size;
    int fd;
    *l = (SrLines){.fd = -1, .path = path};
    SR_TRY(sr_file_open_regular(path, &fd, &size));
    l->buffer = sr_alloc(SR_LINES_MAX);
    if (!l->buffer) {
        close(fd);
        return sr_out_of_memory("the lines of %s", path);
    }
    l->fd = fd;
    if (size > max_bytes)
        lseek(fd, (off_t)(size - max_bytes), SEEK_SET);
    return SR_OK;
}

void sr_lines_close(SrLines *l) {
    if (l->buffer)
        close(l->fd);
    sr_free(l->buffer);
    *l = (SrLines){.fd = -1};
}

// Moves the beginning of a line to that of the buffer, and reads more.  *got: bytes; 0: the file
// ends.
static SrStatus fill(SrLines *l, size_t *got) {
    ssize_t n;
    l->have -= l->at;
    memmove(l->buffer, l->buffer + l->at, l->have);
    l->at = 0;
    do
        n = read(l->fd, l->buffer + l->have, SR_LINES_MAX - l->have);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        SR_FAIL(SR_ERR_IO, "cannot read '%s': %s", l->path, strerror(errno));
    *got = (size_t)n;
    l->have += *got;
    return SR_OK;
}

SrStatus sr_lines_next(SrLines *l, char **line, size_t *n) {
    bool too_long = false;
    *line = NULL;
    *n = 0;
    for (size_t got = 1; got > 0;) {
        char *begin = l->buffer + l->at, *end = memchr(begin, '\n', l->have - l->at);
        if (end)
            l->at = (size_t)(end - l->buffer) + 1;
        if (end && !too_long) {
            *end = '\0';
            *line = begin;
            *n = (size_t)(end - begin);
            return SR_OK;
        }
        too_long = !end && (too_long || l->have - l->at == SR_LINES_MAX);
        if (too_long)
            l->at = l->have;
        if (!end)
            SR_TRY(fill(l, &got));
    }
    return SR_OK;
}
