// Changes the form of images: bytes to floats, floats to bytes for display, and numbers of
// channels.  See SrPixelForm.
#include "data/image_form.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "data/image_pool.h"

SrStatus sr_image_new_floats(SrImagePool *pool, int h, int w, int channels, SrImage *out) {
    if ((int64_t)h * w > SR_IMAGE_MAX_PIXELS / channels)
        SR_FAIL(SR_ERR_IO,
                "the image would become %d x %d pixels of %d channels, expected at most %d samples",
                w, h, channels, SR_IMAGE_MAX_PIXELS);
    *out = (SrImage){.H = h, .W = w, .channels = channels};
    out->f = sr_image_pool_take(pool, sr_image_samples(out) * sizeof *out->f);
    SR_TRY_MEMORY(out->f, "an image of %d x %d", w, h);
    return SR_OK;
}

SrStatus sr_image_new_like(const SrImage *form, int h, int w, SrImagePool *pool, SrImage *out) {
    return form->f ? sr_image_new_floats(pool, h, w, sr_channels(form->channels), out)
                   : sr_image_new(pool, h, w, out);
}

// ---- channels

static int without_alpha(SrPixelChannels p) { return p.channels - p.alpha; }

SrStatus sr__channels_check(SrPixelChannels have, int want) {
    int colors = without_alpha(have);
    if (have.channels == want || ((colors == 1 || colors == 3) && (want == 1 || want == 3)))
        return SR_OK;
    SR_FAIL(SR_ERR_IO, "the image has %d channels, and DATA.CHANNELS is %d", have.channels, want);
}

void sr__channels_fit(const float *from, SrPixelChannels have, size_t n, int want, float *to) {
    int colors = without_alpha(have), step = have.channels;
    if (step == want) {
        memcpy(to, from, n * (size_t)want * sizeof *to);
        return;
    }
    for (size_t i = 0; i < n; i++, from += step, to += want)
        for (int c = 0; c < want; c++)
            // ITU-R 601 luma, by PIL's weights of 16 bits.
            to[c] = colors == want ? from[c]
                    : colors == 1  ? from[0]
                                   : (from[0] * 19595 + from[1] * 38470 + from[2] * 7471) / 65536;
}

// ---- bytes to floats

// PIL's level of convert("L").
static uint8_t luma(const uint8_t *p) {
    return (uint8_t)((p[0] * 19595 + p[1] * 38470 + p[2] * 7471 + 0x8000) >> 16);
}

SrStatus sr_image_to_floats(SrImage *image, int channels, SrImagePool *pool) {
    SrImage out;
    const uint8_t *p = image->rgb;
    if (channels == 0 || !p)
        return SR_OK;
    SR_TRY(sr__channels_check((SrPixelChannels){3, false}, channels));
    SR_TRY(sr_image_new_floats(pool, image->H, image->W, channels, &out));
    size_t n = sr_image_samples(&out);
    for (size_t i = 0; i < n; i++)
        out.f[i] = (float)(channels == 3 ? p[i] : luma(p + 3 * i)) / 255.0f;
    *image = out;
    return SR_OK;
}

// ---- floats to bytes

SrStatus sr_image_to_rgb(SrImage *image, SrImagePool *pool) {
    SrImage out;
    int channels = sr_channels(image->channels), shown = channels < 3 ? 1 : 3;
    const float *p = image->f;
    if (image->rgb || !p)
        return SR_OK;
    SR_TRY(sr_image_new(pool, image->H, image->W, &out));
    size_t n = (size_t)out.H * (size_t)out.W;
    float low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < shown; c++) {
            low = SR_MIN(low, p[i * (size_t)channels + (size_t)c]);
            high = SR_MAX(high, p[i * (size_t)channels + (size_t)c]);
        }
    float scale = high > low ? 255 / (high - low) : 0;
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < 3; c++)
            out.rgb[3 * i + (size_t)c] = (uint8_t)lrintf(
                (p[i * (size_t)channels + (size_t)(shown == 1 ? 0 : c)] - low) * scale);
    *image = out;
    return SR_OK;
}

// ---- samples
