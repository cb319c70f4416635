// A contact sheet of photos: one PNG with pictures, their captions and the names of their files.
#ifndef SR_PAGES_PHOTOS_PHOTO_SHEET_H
#define SR_PAGES_PHOTOS_PHOTO_SHEET_H

#include "pages/photos/photo_body.h"

enum { SR_SHEET_PHOTOS = 160 }; // most photos; the sheet says how many more there are

// Writes the sheet to `file`.
SrStatus sr_photo_sheet(const SrPhotoBody *body, const char *title, const char *file);

#endif
