// Thumbnails for pages: squares cut from the middle of source images, and pictures that hold many
// of them, of which each place of a page shows a part.
#ifndef SR_PAGES_PHOTOS_THUMBNAILS_H
#define SR_PAGES_PHOTOS_THUMBNAILS_H

#include "base/text/text.h"
#include "data/dataset.h"

enum { SR_THUMB_MOST = 192 }; // largest side, pixels: twice what a page shows, for dense screens

typedef struct {
    int side;     // pixels; 0: there is no image
    uint8_t *rgb; // (side, side, 3), owned
} SrThumb;

// Cuts the middle square of an image and shrinks it to SR_THUMB_MOST; a smaller one keeps its size.
SrStatus sr_thumb_of_image(const SrImage *image, SrImagePool *pool, SrThumb *out);
// Makes the thumbnail of an item of a data set.  SR_ERR_IO: the image is bad.
SrStatus sr_thumb_of_item(const SrDataset *source, const void *set, int64_t item, SrImagePool *pool,
                          SrThumb *out);
// Makes the thumbnail of a file.  SR_ERR_IO: the file cannot be read, or is no image.
SrStatus sr_thumb_of_file(const char *path, SrImagePool *pool, SrThumb *out);
void sr_thumb_deinit(SrThumb *thumb); // legal for a zeroed one
// Writes a thumbnail as rgb (side, side, 3): larger, smaller or, without an image, black.
SrStatus sr_thumb_scale(const SrThumb *thumb, int side, SrImagePool *pool, uint8_t *rgb);

// Which thumbnails a page needs, and how sharp.
typedef enum {
    SR_THUMB_UNSEEN, // not at all
    SR_THUMB_SMALL,  // on a map
    SR_THUMB_LARGE,  // in a row of pictures
} SrThumbUse;

// Appends a <style> for n thumbnails: an element of the classes "t s12" shows thumbnail 12, at any
// size.  Sides are lowered until the JPEG files are at most SR_THUMBS_BYTES in all.
// uses: (n) what each thumbnail is needed for.
#define SR_THUMBS_BYTES 560000
SrStatus sr_thumbs_style(const SrThumb *thumbs, const SrThumbUse *uses, int n, SrText *out);

#endif
