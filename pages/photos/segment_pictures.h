// Draws maps of patches over the images that they belong to: colours, or segments.
#ifndef SR_PAGES_PHOTOS_SEGMENT_PICTURES_H
#define SR_PAGES_PHOTOS_SEGMENT_PICTURES_H

#include "data/image_pool.h"
#include "folder/image_set.h"
#include "pages/photos/picture_strips.h"

enum { SR_SEGMENT_PICTURE_MOST = 1024 }; // pixels of the longer side of a picture

typedef struct {
    const SrImageSet *images; // borrowed
    int rows, columns;        // grid of the patches
    const char *folder;       // receives a PNG per image; NULL: none
    bool strips_wanted;       // collect strips for a page or a sheet
    SrStrips strips;
    SrImagePool *pool;
    const char *name; // of the image drawn last, until the next one
} SrSegmentPictures;

// Makes the folder and the pool.  The other fields are the caller's.
SrStatus sr_segment_pictures_init(SrSegmentPictures *pictures);
void sr_segment_pictures_deinit(SrSegmentPictures *pictures); // legal for a zeroed struct

// Draws colours (rows, columns, 3) from 0 to 1 as a picture of the image's size, at most
// SR_SEGMENT_PICTURE_MOST.  path: gets the file of the PNG, "" without a folder; (4096).
SrStatus sr_segment_draw_colors(SrSegmentPictures *pictures, int64_t image, const float *map,
                                char *path);
// Draws segments: each pixel belongs to the channel whose score (rows, columns, k) is the largest
// after bilinear resizing.
SrStatus sr_segment_draw_scores(SrSegmentPictures *pictures, int64_t image, const float *score,
                                int k, const char *caption, char *path);
// Draws what is predicted for an image, next to its mask on sheets and pages.  truth, predicted:
// (h, w) of the image itself, labels below n; 255 in truth is not painted.
SrStatus sr_segment_draw_prediction(SrSegmentPictures *pictures, int64_t image,
                                    const uint8_t *truth, const uint8_t *predicted, int n);
// Paints labels (h, w) over an image of that size, each in one of n colours, n <= 255.  Where a
// label is n or more, the image stays.
void sr_segment_paint(const SrImage *image, const uint8_t *label, int n, SrImage *out);

// Appends the colours of n segments as HTML.  name: (n).
void sr_segment_key(const char *const *name, int n, SrText *out);

#endif
