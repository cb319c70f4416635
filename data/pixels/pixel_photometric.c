// Solarising, posterising, stretching and sharpening, as PIL's ImageOps and ImageEnhance do.
#include "data/pixels/pixel_photometric.h"

#include <string.h>

#include "base/compiler.h"
#include "data/pixels/pixel_geometry.h"

static size_t levels(const SrImage *image) { return (size_t)image->H * (size_t)image->W * 3; }

// Threshold 0 inverts everything, 256 nothing.
void sr_pixel_solarize(SrImage *image, int threshold) {
    uint8_t *p = image->rgb;
    for (size_t i = 0, n = levels(image); i < n; i++)
        p[i] = (uint8_t)(p[i] < threshold ? p[i] : 255 - p[i]);
}

void sr_pixel_posterize(SrImage *image, int bits) {
    uint8_t mask = (uint8_t)(0xFF << (8 - bits)), *p = image->rgb;
    for (size_t i = 0, n = levels(image); i < n; i++)
        p[i] &= mask;
}

// Without a cut-off; a channel of one level only is left alone.
void sr_pixel_autocontrast(SrImage *image) {
    uint8_t *p = image->rgb;
    for (int c = 0; c < 3; c++) {
        int low = 255, high = 0;
        for (size_t i = (size_t)c, n = levels(image); i < n; i += 3) {
            low = SR_MIN(low, p[i]);
            high = SR_MAX(high, p[i]);
        }
        if (high <= low)
            continue;
        uint8_t table[256];
        double scale = 255.0 / (high - low), offset = -low * scale;
        for (int v = 0; v < 256; v++) {
            int stretched = (int)(v * scale + offset);
            table[v] = (uint8_t)SR_MAX(0, SR_MIN(255, stretched));
        }
        for (size_t i = (size_t)c, n = levels(image); i < n; i += 3)
            p[i] = table[p[i]];
    }
}

// PIL's ImageOps.equalize: a channel of one level, or of fewer than 255 pixels, stays.
void sr_pixel_equalize(SrImage *image) {
    uint8_t *p = image->rgb;
    for (int c = 0; c < 3; c++) {
        size_t histogram[256] = {0}, last = 0, n = levels(image);
        for (size_t i = (size_t)c; i < n; i += 3)
            histogram[p[i]]++;
        for (int v = 0; v < 256; v++)
            last = histogram[v] ? histogram[v] : last;
        size_t step = (n / 3 - last) / 255, sum = step / 2;
        if (step == 0)
            continue;
        uint8_t table[256];
        for (int v = 0; v < 256; sum += histogram[v++])
            table[v] = (uint8_t)SR_MIN(sum / step, 255);
        for (size_t i = (size_t)c; i < n; i += 3)
            p[i] = table[p[i]];
    }
}

void sr_pixel_invert(SrImage *image) { sr_pixel_solarize(image, 0); }

void sr_pixel_solarize_add(SrImage *image, int add) {
    uint8_t *p = image->rgb;
    for (size_t i = 0, n = levels(image); i < n; i++)
        p[i] = (uint8_t)(p[i] < 128 ? SR_MIN(255, p[i] + add) : p[i]);
}

// The 3x3 mean with a heavier centre, [1 1 1; 1 5 1; 1 1 1] / 13, in PIL's single precision; p is
// the centre.
static uint8_t smooth(const uint8_t *p, size_t row) {
    const float one = 1.0f / 13, five = 5.0f / 13;
    const uint8_t *above = p - row, *below = p + row;
    float sum = 0.5f;
    sum += below[-3] * one + below[0] * one + below[3] * one;
    sum += p[-3] * one + p[0] * five + p[3] * one;
    sum += above[-3] * one + above[0] * one + above[3] * one;
    return (uint8_t)(sum >= 255 ? 255 : sum);
}

// Blends with the smoothed image: factor 0 smooths, 1 changes nothing, 2 sharpens.
SrStatus sr_pixel_sharpness(SrImage *image, double factor, SrImagePool *pool) {
    SrImage out;
    float f = (float)factor;
    SR_TRY(sr_pixel_copy(image, pool, &out)); // the border stays as it is
    size_t row = (size_t)image->W * 3;
    for (int y = 1; y + 1 < image->H; y++)
        for (size_t i = 3; i + 3 < row; i++) {
            const uint8_t *p = image->rgb + (size_t)y * row + i;
            int s = smooth(p, row);
            float v = (float)s + f * (float)(*p - s);
            out.rgb[(size_t)y * row + i] = (uint8_t)(v <= 0 ? 0 : v >= 255 ? 255 : v);
        }
    *image = out;
    return SR_OK;
}
