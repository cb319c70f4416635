// Reads the numbers of a PNG with one channel as they are stored: grey levels, or indices of its
// palette.  Masks of segments are such files.  data/decode.h decodes pictures, whose grey levels of
// fewer than 8 bits are stretched and whose indices become colours.
#ifndef SR_DATA_READERS_PNG_LEVELS_H
#define SR_DATA_READERS_PNG_LEVELS_H

#include "data/image_pool.h"

// Reads 1, 2, 4 or 8 bits per pixel.  levels: (h, w) in memory of the pool.  SR_ERR_IO: the file is
// no PNG, is damaged, has several channels or 16 bits, or is interlaced; the message says which.
SrStatus sr_png_levels(const void *bytes, size_t n, SrImagePool *pool, int *h, int *w,
                       uint8_t **levels);

#endif
