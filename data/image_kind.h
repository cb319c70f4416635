// Kinds of image files by the endings of their names.  What a file holds is decided by its content
// (image_probe.h); the ending decides which files of a folder are opened at all.
#ifndef SR_DATA_IMAGE_KIND_H
#define SR_DATA_IMAGE_KIND_H

#include <stdbool.h>

typedef struct {
    const char *ending;  // ".jpg"
    bool read;           // this build reads such files
    const char *package; // Debian package that adds the kind to a build; NULL: every build reads it
} SrImageKind;

// Returns kind 0, 1, ...; NULL: there are no more.
const SrImageKind *sr__image_kind_at(int i);
// Finds the kind of a file by its name, in any case, and its number; NULL: no image.
const SrImageKind *sr__image_kind_find(const char *name, int *number);
// Lists the endings that this build reads: ".jpg, .jpeg, .png or .bmp".  Returns out.
#define SR_IMAGE_ENDINGS_BYTES 160
const char *sr__image_kinds_text(char out[SR_IMAGE_ENDINGS_BYTES]);

#endif
