// Reads the binary PGM and PPM files of Netpbm (https://netpbm.sourceforge.net/doc/ppm.html).
#ifndef SR_DATA_READERS_PNM_H
#define SR_DATA_READERS_PNM_H

#include "data/image_header.h"
#include "data/image_pool.h"

// Reads the header of a file that begins with P5 or P6.  SR_ERR_IO: the header is damaged, or the
// file has fewer bytes than its pixels.
SrStatus sr__pnm_probe(const uint8_t *bytes, size_t n, SrImageHeader *out);
// Decodes to RGB.  Levels are scaled from 0 .. maxval to 0 .. 255 and rounded, as PIL does for 8
// bits; of samples above 255 the scale is the same, so that 16 bits are rounded to 8.
SrStatus sr__pnm_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                        SrImagePool *pool, SrImage *out);
// Decodes to floats of `channels` channels: levels over the largest one that the file names.
SrStatus sr__pnm_decode_floats(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                               int channels, SrImagePool *pool, SrImage *out);

#endif
