// Crops, mirrors and rotates images, and places boxes by torchvision's rules.
#include "data/pixels/pixel_geometry.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "data/image_form.h"

// [y0, y1) x [x0, x1) is the part of the result that the image covers.
SrStatus sr_pixel_crop(const SrImage *src, SrBox box, SrImagePool *pool, SrImage *out) {
    SR_ASSERT(box.h > 0 && box.w > 0);
    SrImage result;
    SR_TRY(sr_image_new_like(src, box.h, box.w, pool, &result));
    int x0 = SR_MAX(0, -box.left), x1 = SR_MIN(box.w, src->W - box.left);
    int y0 = SR_MAX(0, -box.top), y1 = SR_MIN(box.h, src->H - box.top);
    size_t bytes = sr_image_pixel_bytes(src), row = (size_t)box.w * bytes;
    const uint8_t *from = sr_image_pixels(src);
    uint8_t *to = sr_image_pixels(&result);
    if (x0 > 0 || y0 > 0 || x1 < box.w || y1 < box.h)
        memset(to, 0, (size_t)box.h * row);
    for (int y = y0; y < y1 && x0 < x1; y++)
        memcpy(to + (size_t)y * row + (size_t)x0 * bytes,
               from + ((size_t)(box.top + y) * (size_t)src->W + (size_t)(box.left + x0)) * bytes,
               (size_t)(x1 - x0) * bytes);
    *out = result;
    return SR_OK;
}

SrStatus sr_pixel_copy(const SrImage *src, SrImagePool *pool, SrImage *out) {
    return sr_pixel_crop(src, (SrBox){0, 0, src->H, src->W}, pool, out);
}

// Pixels swap from both ends; the middle one of an odd row stays.
static void flip_floats(SrImage *image) {
    size_t C = (size_t)sr_channels(image->channels);
    for (int y = 0; y < image->H; y++) {
        float *a = image->f + (size_t)y * (size_t)image->W * C, *b = a + ((size_t)image->W - 1) * C;
        for (; a < b; a += C, b -= C)
            for (size_t c = 0; c < C; c++) {
                float t = a[c];
                a[c] = b[c];
                b[c] = t;
            }
    }
}

void sr_pixel_flip(SrImage *image) {
    if (image->f) {
        flip_floats(image);
        return;
    }
    for (int y = 0; y < image->H; y++) {
        uint8_t *a = image->rgb + (size_t)y * (size_t)image->W * 3,
                *b = a + ((size_t)image->W - 1) * 3;
        for (; a < b; a += 3, b -= 3)
            for (int c = 0; c < 3; c++) {
                uint8_t t = a[c];
                a[c] = b[c];
                b[c] = t;
            }
    }
}

// Cosine and sine rounded to 15 digits, as PIL does: exact at multiples of 90 degrees.
static double round15(double x) { return nearbyint(x * 1e15) / 1e15; }

// PIL's 16.16 fixed point.
static int64_t fixed(double x) { return (int64_t)floor(x * 65536 + 0.5); }

// Walks the output, carrying the source position of each pixel's centre in 16.16 fixed point.
static void rotate_into(const SrImage *src, double degrees, SrImage *out) {
    double turn = -degrees * M_PI / 180, c = round15(cos(turn)), s = round15(sin(turn));
    double cx = src->W / 2.0, cy = src->H / 2.0;
    double x_off = cx - (c * cx + s * cy), y_off = cy - (-s * cx + c * cy);
    int64_t ax = fixed(c), ay = fixed(s), bx = fixed(-s), by = fixed(c);
    int64_t x0 = fixed(x_off + c * 0.5 + s * 0.5), y0 = fixed(y_off - s * 0.5 + c * 0.5);
    size_t bytes = sr_image_pixel_bytes(src);
    const uint8_t *from = sr_image_pixels(src);
    uint8_t *dst = sr_image_pixels(out);
    for (int y = 0; y < out->H; y++, x0 += ay, y0 += by) {
        int64_t xx = x0, yy = y0;
        for (int x = 0; x < out->W; x++, dst += bytes, xx += ax, yy += bx) {
            int64_t sx = xx >> 16, sy = yy >> 16;
            if (sx >= 0 && sx < src->W && sy >= 0 && sy < src->H)
                memcpy(dst, from + ((size_t)sy * (size_t)src->W + (size_t)sx) * bytes, bytes);
            else
                memset(dst, 0, bytes);
        }
    }
}

// The size stays: pixels that leave the frame are lost, and pixels from outside are black.
SrStatus sr_pixel_rotate(SrImage *image, double degrees, SrImagePool *pool) {
    degrees = fmod(fmod(degrees, 360) + 360, 360);
    if (degrees == 0)
        return SR_OK;
    SrImage result;
    SR_TRY(sr_image_new_like(image, image->H, image->W, pool, &result));
    rotate_into(image, degrees, &result);
    *image = result;
    return SR_OK;
}

// After ten failed tries: returns the largest centred box with an allowed aspect.
static SrBox fallback_box(int H, int W, const double ratio[2]) {
    double aspect = (double)W / H;
    int h = H, w = W;
    if (aspect < ratio[0])
        h = (int)lrint(W / ratio[0]);
    else if (aspect > ratio[1])
        w = (int)lrint(H * ratio[1]);
    // Beyond the image only for ratios no image can have.
    h = SR_MAX(1, SR_MIN(h, H));
    w = SR_MAX(1, SR_MIN(w, W));
    return (SrBox){(H - h) / 2, (W - w) / 2, h, w};
}

// Halves are rounded to even, as Python does.
SrBox sr_pixel_draw_box(SrRng *rng, int H, int W, const double scale[2], const double ratio[2]) {
    double area = (double)H * W, log_low = log(ratio[0]), log_high = log(ratio[1]);
    for (int try = 0; try < 10; try++) {
        double target = area * sr_rng_range(rng, scale[0], scale[1]);
        double aspect = exp(sr_rng_range(rng, log_low, log_high));
        double w = rint(sqrt(target * aspect)), h = rint(sqrt(target / aspect));
        if (w < 1 || h < 1 || w > W || h > H)
            continue;
        int top = (int)sr_rng_below(rng, (uint32_t)(H - (int)h + 1));
        int left = (int)sr_rng_below(rng, (uint32_t)(W - (int)w + 1));
        return (SrBox){top, left, (int)h, (int)w};
    }
    return fallback_box(H, W, ratio);
}

// The longer side is truncated, as torchvision does: int(size * long / short).
void sr_pixel_fit_shorter(int H, int W, int size, int *h, int *w) {
    int64_t longer = SR_MIN((int64_t)size * SR_MAX(H, W) / SR_MIN(H, W), INT_MAX);
    *h = H <= W ? size : (int)longer;
    *w = H <= W ? (int)longer : size;
}

// Python's round: halves to even.  A smaller image is padded first, the odd pixel after it.
static int center(int length, int size) {
    return length >= size ? (int)lrint((length - size) / 2.0) : -((size - length) / 2);
}

SrBox sr_pixel_center_box(int H, int W, int h, int w) {
    return (SrBox){center(H, h), center(W, w), h, w};
}
