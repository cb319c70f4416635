// Files that photos are written to.
#ifndef SR_PAGES_PHOTOS_PHOTO_FILES_H
#define SR_PAGES_PHOTOS_PHOTO_FILES_H

#include "pages/photos/photo_body.h"

// NULL: that file is not wanted.
typedef struct {
    const char *page;  // HTML
    const char *sheet; // PNG, with the first photos
} SrPhotoFiles;

SrStatus sr_photo_files_write(SrPhotoBody *body, const char *title, const SrPhotoFiles *files);

#endif
