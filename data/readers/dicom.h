// Reads pictures of DICOM files (DICOM PS3.5 and PS3.10): uncompressed, and JPEG baseline.
//
// A bounded reader for pictures alone: it knows neither patients, studies nor palettes.  Of several
// frames it reads the first.
#ifndef SR_DATA_READERS_DICOM_H
#define SR_DATA_READERS_DICOM_H

#include "data/image_header.h"
#include "data/image_pool.h"

// True if the bytes begin as a file of PS3.10: 128 bytes of any content, then "DICM".
bool sr__dicom_is(const uint8_t *bytes, size_t n);
// Reads the size.  SR_ERR_IO: the file is damaged, cut off, has no picture, or one of a kind that
// is not supported; the message names the kind.
SrStatus sr__dicom_probe(const uint8_t *bytes, size_t n, SrImageHeader *out);
// Decodes the JPEG file that a DICOM file holds, to RGB (sr_image_decode).
typedef SrStatus (*SrJpegDecode)(const void *bytes, size_t n, SrImagePool *pool, SrImage *out);
// Decodes the first frame to RGB.  Grey values pass through the slope and intercept of the file and
// its first window (PS3.3 C.11.2.1.2, linear); without a window the smallest value is black and the
// largest white.  MONOCHROME1 is inverted.
SrStatus sr__dicom_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                          SrJpegDecode jpeg, SrImagePool *pool, SrImage *out);
// Decodes to floats of `channels` channels.  Windowed levels of grey pixels are not rounded.
// Colours and JPEG have 8 bits.
SrStatus sr__dicom_decode_floats(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                                 SrJpegDecode jpeg, int channels, SrImagePool *pool, SrImage *out);

#endif
