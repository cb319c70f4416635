// From bytes to floats: torchvision's ToTensor and Normalize, kept (H, W, 3).
#include "data/pixels/pixel_float.h"

#include "base/compiler.h"
#include "data/image_pool.h"

SR_VECTOR_CLONES
// A division, as PyTorch does: the product with 1/255 differs in the last bit.
static void divide(const uint8_t *restrict p, size_t n, float *restrict out) {
    for (size_t i = 0; i < n; i++)
        out[i] = (float)p[i] / 255.0f;
}

SrStatus sr_pixel_to_tensor(SrImage *image, SrImagePool *pool) {
    size_t n = (size_t)image->H * (size_t)image->W * 3;
    if (image->f)
        return SR_OK;
    float *f = sr_image_pool_take(pool, n * sizeof *f); // (H, W, 3)
    SR_TRY_MEMORY(f, "an image of %d x %d floats", image->H, image->W);
    divide(image->rgb, n, f);
    image->f = f;
    image->rgb = NULL;
    return SR_OK;
}

SR_VECTOR_CLONES
// f (pixels, 3); PyTorch subtracts and divides in single precision, in this order.
static void normalize(float *f, size_t pixels, const float mean[3], const float std[3]) {
    for (size_t i = 0; i < pixels; i++, f += 3)
        for (int c = 0; c < 3; c++)
            f[c] = (f[c] - mean[c]) / std[c];
}

// Does the same for any number of channels; out may be f.
static void normalize_wide(const float *f, size_t pixels, size_t channels, const double *mean,
                           const double *std, float *out) {
    for (size_t c = 0; c < channels; c++) {
        const float m = (float)mean[c], s = (float)std[c];
        for (size_t i = c; i < pixels * channels; i += channels)
            out[i] = (f[i] - m) / s;
    }
}

void sr_pixel_normalize(SrImage *image, const double *mean, const double *std) {
    size_t pixels = (size_t)image->H * (size_t)image->W;
    SR_ASSERT(image->f); // ToTensor stands before Normalize
    if (sr_channels(image->channels) != 3) {
        normalize_wide(image->f, pixels, (size_t)image->channels, mean, std, image->f);
        return;
    }
    const float m[3] = {(float)mean[0], (float)mean[1], (float)mean[2]};
    const float s[3] = {(float)std[0], (float)std[1], (float)std[2]};
    normalize(image->f, pixels, m, s);
}

SR_VECTOR_CLONES
static void scale_and_shift(const uint8_t *restrict p, size_t pixels, const float scale[3],
                            const float shift[3], float *restrict out) {
    const float a0 = scale[0], a1 = scale[1], a2 = scale[2], b0 = shift[0], b1 = shift[1],
                b2 = shift[2];
    for (size_t i = 0; i < pixels; i++) {
        out[3 * i] = (float)p[3 * i] * a0 + b0;
        out[3 * i + 1] = (float)p[3 * i + 1] * a1 + b1;
        out[3 * i + 2] = (float)p[3 * i + 2] * a2 + b2;
    }
}

void sr_pixel_to_normalized(SrImage *image, const double *mean, const double *std, float *out) {
    float scale[3], shift[3];
    if (image->f) {
        normalize_wide(image->f, (size_t)image->H * (size_t)image->W,
                       (size_t)sr_channels(image->channels), mean, std, out);
        image->f = out;
        return;
    }
    for (int c = 0; c < 3; c++) {
        scale[c] = (float)(1 / (255 * std[c]));
        shift[c] = (float)(-mean[c] / std[c]);
    }
    scale_and_shift(image->rgb, (size_t)image->H * (size_t)image->W, scale, shift, out);
    image->f = out;
    image->rgb = NULL;
}
