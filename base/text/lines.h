// Reads a file of text line by line in bounded memory: a log may be larger than memory.
#ifndef SR_BASE_TEXT_LINES_H
#define SR_BASE_TEXT_LINES_H

#include <stddef.h>

#include "base/status.h"

enum { SR_LINES_MAX = 1 << 16 }; // bytes of the longest line, with its end

typedef struct {
    const char *path; // the caller's
    int fd;
    char *buffer;    // (SR_LINES_MAX) bytes that were read; NULL: not open
    size_t at, have; // first byte that no line was made of, and the byte after the last one read
} SrLines;

// Opens a file; of one that is larger than max_bytes the last max_bytes, whose first line may be
// incomplete.  SR_ERR_IO: no regular file, or unreadable.
SrStatus sr_lines_open(SrLines *lines, const char *path, size_t max_bytes);
// Finds the next line, which has a NUL in place of its end, n bytes before that, and is valid until
// the next call.  *line: NULL after the last one.  A last line without an end, and lines longer
// than SR_LINES_MAX, are skipped.
SrStatus sr_lines_next(SrLines *lines, char **line, size_t *n);
void sr_lines_close(SrLines *lines); // legal for a zeroed struct

#endif
