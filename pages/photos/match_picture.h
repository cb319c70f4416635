// Draws two images next to each other with lines between places that correspond.
#ifndef SR_PAGES_PHOTOS_MATCH_PICTURE_H
#define SR_PAGES_PHOTOS_MATCH_PICTURE_H

#include "data/image_pool.h"
#include "measure/patches/patch_match.h"

// Both images have patches in a grid of rows x columns that covers them.
typedef struct {
    const SrImage *a, *b;
    int rows, columns;
    const SrPatchPair *pair; // (n) drawn in this order, each in a colour of its own
    int n;
} SrMatchPicture;

// Writes the picture as a PNG, both images with a height of 480 pixels, or less if they are wide.
SrStatus sr_match_picture(const SrMatchPicture *picture, SrImagePool *pool, const char *file);

#endif
