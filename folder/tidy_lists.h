// Writes the results of tidy: a list of the files to keep, and a script that moves the others.
#ifndef SR_FOLDER_TIDY_LISTS_H
#define SR_FOLDER_TIDY_LISTS_H

#include "folder/tidy.h"

typedef struct {
    const char *keep, *script; // files to write; NULL: not wanted
    const char *labels;        // file of class names, a line per line of `keep`; NULL: not wanted
    int64_t kept, dropped;     // receive the numbers of files
    int64_t unnamed;           // files that a list cannot name, because of a line break
} SrTidyLists;

// Files with one of the issues are dropped.  Paths are absolute, so that a list works everywhere.
// Existing files are replaced.
SrStatus sr_tidy_write_lists(const SrImageSet *images, const SrTidy *tidy,
                             const bool issues[SR_TIDY_ISSUES], SrTidyLists *lists);

#endif
