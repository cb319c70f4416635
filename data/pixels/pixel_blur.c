// PIL's Gaussian blur: three "extended" box blurs along rows, then three along columns, each
// rounded to bytes.
//
// The box has a fractional radius (Gwosdek, Grewenig, Bruhn, Weickert, "Theoretical foundations of
// Gaussian convolution by extended box filtering", SSVM 2011, equations 7, 11, 14): its two edge
// pixels weigh less.
#include "data/pixels/pixel_blur.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "data/image_pool.h"
#include "data/pixels/pixel_wide.h"

#define PASSES 3

// Weights with 24 fractional bits: (2 * radius + 1) * inner + 2 * outer = 2^24, about.
typedef struct {
    int radius; // whole pixels each side at full weight; one more each side at `outer`
    uint32_t inner, outer;
} Box;

// In single precision where PIL computes in it: a last bit here moves grey levels.
static Box box_of(float sigma) {
    float variance = sigma * sigma / PASSES;
    float length = (float)sqrt(12.0 * variance + 1.0);
    float l = (float)floor((length - 1.0) / 2.0);
    float a = (2 * l + 1) * (l * (l + 1) - 3 * variance);
    a /= 6 * (variance - (l + 1) * (l + 1));
    float radius = l + a;
    Box box = {.radius = (int)radius, .inner = (uint32_t)((float)(1 << 24) / (radius * 2 + 1))};
    box.outer = ((1u << 24) - (uint32_t)(box.radius * 2 + 1) * box.inner) / 2;
    return box;
}

SR_INLINE uint8_t scaled(uint32_t inner_sum, uint32_t outer_sum, Box box) {
    return (uint8_t)((inner_sum * box.inner + outer_sum * box.outer + (1u << 23)) >> 24);
}

// One row of w pixels: `padded` has radius + 1 copies of the edge pixel on both sides.
SR_VECTOR_CLONES
static void blur_line(const uint8_t *restrict padded, int w, Box box, uint32_t *restrict sum,
                      uint8_t *restrict out) {
    int n = w * 3, far = 3 * (2 * box.radius + 2);
    for (int i = 0; i < n; i++)
        sum[i] = padded[i + 3];
    for (int d = 2; d <= 2 * box.radius + 1; d++)
        for (int i = 0; i < n; i++)
            sum[i] += padded[i + 3 * d];
    for (int i = 0; i < n; i++)
        out[i] = scaled(sum[i], (uint32_t)padded[i] + padded[i + far], box);
}

// All three passes of a row while it is in the first-level cache.
static void blur_rows(SrImage *image, Box box, uint8_t *padded, uint32_t *sum) {
    size_t row = (size_t)image->W * 3, pad = (size_t)(box.radius + 1) * 3;
    for (int y = 0; y < image->H; y++) {
        uint8_t *line = image->rgb + (size_t)y * row;
        for (int pass = 0; pass < PASSES; pass++) {
            for (size_t i = 0; i < pad; i += 3) {
                memcpy(padded + i, line, 3);
                memcpy(padded + pad + row + i, line + row - 3, 3);
            }
            memcpy(padded + pad, line, row);
            blur_line(padded, image->W, box, sum, line);
        }
    }
}

// One output row of n bytes; `sum` moves one row down: + entering - leaving.
SR_VECTOR_CLONES
static void blur_row_down(uint32_t *restrict sum, const uint8_t *entering, const uint8_t *leaving,
                          const uint8_t *far, size_t n, Box box, uint8_t *restrict out) {
    for (size_t i = 0; i < n; i++) {
        sum[i] += (uint32_t)entering[i] - leaving[i];
        out[i] = scaled(sum[i], (uint32_t)leaving[i] + far[i], box);
    }
}

// One pass from `in` to `out`; `sum` (row) carries each column's window from row to row.
static void blur_columns(const uint8_t *in, int h, size_t row, Box box, uint32_t *sum,
                         uint8_t *out) {
    int r = box.radius;
    memset(sum, 0, row * sizeof *sum);
    for (int y = -r - 1; y < r; y++) {
        const uint8_t *line = in + (size_t)SR_MIN(SR_MAX(y, 0), h - 1) * row;
        for (size_t i = 0; i < row; i++)
            sum[i] += line[i];
    }
    for (int y = 0; y < h; y++, out += row) {
        const uint8_t *leaving = in + (size_t)SR_MAX(y - r - 1, 0) * row;
        const uint8_t *entering = in + (size_t)SR_MIN(y + r, h - 1) * row;
        const uint8_t *far = in + (size_t)SR_MIN(y + r + 1, h - 1) * row;
        blur_row_down(sum, entering, leaving, far, row, box, out);
    }
}

SrStatus sr_pixel_blur(SrImage *image, double radius, SrImagePool *pool) {
    if (image->f)
        return sr__wide_blur(image, radius, pool);
    Box box = box_of((float)radius);
    size_t row = (size_t)image->W * 3, bytes = row * (size_t)image->H;
    SrImage other;
    SR_TRY(sr_image_new(pool, image->H, image->W, &other));
    size_t mark = sr_image_pool_mark(pool);
    uint8_t *padded = sr_image_pool_take(pool, row + (size_t)(box.radius + 1) * 6);
    uint32_t *sum = sr_image_pool_take(pool, row * sizeof *sum);
    SR_TRY_MEMORY(padded && sum, "blurring %zu bytes", bytes);
    blur_rows(image, box, padded, sum);
    for (int pass = 0; pass < PASSES; pass++) {
        blur_columns(image->rgb, image->H, row, box, sum, other.rgb);
        uint8_t *swap = image->rgb;
        image->rgb = other.rgb;
        other.rgb = swap;
    }
    sr_image_pool_rewind(pool, mark);
    return SR_OK;
}
