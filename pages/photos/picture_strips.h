// Strips of pictures: a photo next to pictures made of it, on one sheet or on a page.  Pictures are
// shown whole, not cut to squares as thumbnails are.
#ifndef SR_PAGES_PHOTOS_PICTURE_STRIPS_H
#define SR_PAGES_PHOTOS_PICTURE_STRIPS_H

#include "data/image_pool.h"
#include "pages/photos/photo_files.h"

enum { SR_STRIPS_MOST = 120, SR_STRIP_PANELS = 4, SR_STRIP_HEIGHT = 160 };

typedef struct {
    int h, w;
    uint8_t *rgb;  // (h, w, 3) all panels, owned
    char *name;    // of the file, without folders; owned
    char *caption; // owned
} SrStrip;

typedef struct {
    SrStrip strip[SR_STRIPS_MOST];
    int n;
    int64_t left_out; // strips that found no room
    SrText intro;     // HTML below the title
} SrStrips;

void sr_strips_deinit(SrStrips *strips); // legal for a zeroed struct
// Adds panels next to each other, each shrunk or enlarged to SR_STRIP_HEIGHT, or to twice that
// width.  A full list counts the strip as left out.  pool: scratch, taken back on return.
SrStatus sr_strips_add(SrStrips *strips, const SrImage *panel, int n, const char *file,
                       const char *caption, SrImagePool *pool);
// Writes the files that are wanted.
SrStatus sr_strips_write(const SrStrips *strips, const char *title, const SrPhotoFiles *files);

#endif
