// Reads the first picture of a GIF file (GIF89a specification, CompuServe 1990).
#ifndef SR_DATA_READERS_GIF_H
#define SR_DATA_READERS_GIF_H

#include "data/image_header.h"
#include "data/image_pool.h"

// Reads the size of the canvas.  SR_ERR_IO: the header is damaged, or there is no picture.
SrStatus sr__gif_probe(const uint8_t *bytes, size_t n, SrImageHeader *out);
// Decodes the first picture to RGB as PIL does: transparent pixels have the colour of their index,
// and a canvas beyond the picture the transparent index, or index 0.  SR_ERR_IO: the picture is
// damaged or cut off.
SrStatus sr__gif_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                        SrImagePool *pool, SrImage *out);

#endif
