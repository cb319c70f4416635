// Changes the form of images: bytes become floats, floats become bytes for display, and channels of
// a file's pixels become those that a run wants.  See SrPixelForm.
#ifndef SR_DATA_IMAGE_FORM_H
#define SR_DATA_IMAGE_FORM_H

#include "data/image_pool.h"

// Makes an image of floats, (h, w, channels), not set.  SR_ERR_IO: it would have more than
// SR_IMAGE_MAX_PIXELS samples.
SrStatus sr_image_new_floats(SrImagePool *pool, int h, int w, int channels, SrImage *out);
// Makes an image of h x w of the same form as another: rgb, or floats of as many channels.
SrStatus sr_image_new_like(const SrImage *form, int h, int w, SrImagePool *pool, SrImage *out);
// For functions that move pixels, whatever their form: bytes of a pixel, and the first one.
static inline size_t sr_image_pixel_bytes(const SrImage *image) {
    return image->f ? sizeof *image->f * (size_t)sr_channels(image->channels) : 3;
}
static inline uint8_t *sr_image_pixels(const SrImage *image) {
    return image->f ? (uint8_t *)image->f : image->rgb;
}
// Turns RGB of 8 bits into floats of `channels` channels; 0, or an image without rgb: does nothing.
// One channel is PIL's convert("L").  SR_ERR_IO: other numbers than 1 and 3.
SrStatus sr_image_to_floats(SrImage *image, int channels, SrImagePool *pool);
// Turns floats into RGB for display: the first three channels, or the first as grey, each picture
// stretched from its smallest to its largest sample.  Does nothing if the image has rgb.
SrStatus sr_image_to_rgb(SrImage *image, SrImagePool *pool);

// Pixels of a file: `channels` samples each, of which the last is opacity if alpha is set.
typedef struct {
    int channels;
    bool alpha;
} SrPixelChannels;

// Tells whether such pixels give images of `want` channels: as they are; grey and RGB become each
// other, and opacity is dropped for that.  SR_ERR_IO: they do not.
SrStatus sr__channels_check(SrPixelChannels have, int want);
// Converts n pixels, which pass that check.  from: (n, have.channels).  to: (n, want).
void sr__channels_fit(const float *from, SrPixelChannels have, size_t n, int want, float *to);

#endif
