// Facts about a picture file that need no model: format, sizes, light, detail, hashes.  One decode.
#ifndef SR_FOLDER_PICTURE_FACTS_H
#define SR_FOLDER_PICTURE_FACTS_H

#include "data/image_header.h"
#include "data/image_pool.h"

typedef struct {
    int H, W;             // pixels
    SrImageFormat format; // by the first bytes, whatever the name says
    bool grey;            // the pixels have no colour
    bool stored_grey;     // and the file says so: it has one channel
    int orientation;      // of EXIF, 1 to 8; 1: upright or not given
    uint64_t file_hash, pixel_hash;
    // 64 bits: which of 8 x 8 low frequencies of a cosine transform are above their median (as
    // pHash; Zauner 2010).  Near copies differ in few bits
    uint64_t shape_hash;
    // Brightness, 0 to 1: a twentieth of the pixels is darker than `low`, one in a hundred is
    // brighter than `high` (CleanVision's measure, from sqrt(.241 R^2 + .691 G^2 + .068 B^2))
    float low, high;
    float entropy;   // of the grey levels, bits, 0 to 8
    float sharpness; // variance of the Laplacian in grey levels, at 256 pixels per side or fewer
} SrPictureFacts;

// Decodes the file's bytes and measures.  SR_ERR_IO: it cannot be read; fields up to
// `stored_grey` are set as far as the header could be read.  Thread-safe.
SrStatus sr_picture_facts(const void *bytes, size_t n, SrImagePool *pool, SrPictureFacts *out);
// Gives the shape hash of a decoded picture alone.  SR_ERR_MEMORY.
SrStatus sr_picture_shape_hash(const SrImage *image, SrImagePool *pool, uint64_t *out);

#endif
