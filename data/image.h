// An image of the data path: uint8 RGB, (H, W, 3), until ToTensor, and floats (H, W, 3) after it,
// NHWC like all tensors here.  A run of C channels, or of samples that keep all bits, has floats
// (H, W, C) from the reader on (SrPixelForm).
#ifndef SR_DATA_IMAGE_H
#define SR_DATA_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SR_MAX_CHANNELS 1024
// Form of the images of a run.  Samples that become floats are divided by the largest level of
// their type (255 or 65535), so that 1 is white; floats in files keep their values.
typedef struct {
    int channels;    // floats of so many channels per pixel; 0: RGB of 8 bits
    bool skip_color; // leave out the transforms that need colours; false: they are an error
} SrPixelForm;

// A picture in one of three forms: exactly one of rgb, f and encoded is set.
typedef struct {
    int H, W;
    // Channels of f; for an encoded image, those of the floats that decoding gives.  0: f has 3,
    // and decoding gives rgb.
    int channels;
    uint8_t *rgb;        // (H, W, 3); owned by the SrImagePool it was taken from
    float *f;            // (H, W, C), after ToTensor or by SrPixelForm; owned by pool or batch
    const void *encoded; // bytes of an image file of H x W, not decoded yet; borrowed
    size_t encoded_bytes;
} SrImage;

// Most pixels of an image, in a file or after a transform.  PIL calls twice its warning limit of
// 1024^3 / 4 / 3 pixels a decompression bomb, and this is the same bound.
#define SR_IMAGE_MAX_PIXELS 178956970

// Number of channels: 3 where 0 stands for RGB.
static inline int sr_channels(int channels) { return channels > 0 ? channels : 3; }
// Number of samples of an image's pixels, H * W * C.
static inline size_t sr_image_samples(const SrImage *image) {
    return (size_t)image->H * (size_t)image->W * (size_t)sr_channels(image->channels);
}

#endif
