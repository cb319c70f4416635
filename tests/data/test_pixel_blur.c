// Tests Pillow's Gaussian blur (extended box blur) against its definition with clamped edges, for
// every size down to one pixel.
#include <math.h>
#include <string.h>

#include "data/image_pool.h"
#include "data/pixels/pixel_blur.h"
#include "data/pixels/pixel_geometry.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

// Computes one pass along `step` in PIL's integers, directly from the definition.
static void pass(const uint8_t *in, uint8_t *out, int n, int step, int radius, uint32_t inner,
                 uint32_t outer) {
    for (int i = 0; i < n; i++) {
        uint32_t sum = 0, ends = 0;
        for (int d = -radius - 1; d <= radius + 1; d++) {
            int j = i + d < 0 ? 0 : i + d >= n ? n - 1 : i + d;
            if (d < -radius || d > radius)
                ends += in[j * step];
            else
                sum += in[j * step];
        }
        out[i * step] = (uint8_t)((sum * inner + ends * outer + (1u << 23)) >> 24);
    }
}

static void naive(uint8_t *p, int h, int w, float sigma) {
    static uint8_t other[64 * 64 * 3];
    float v = sigma * sigma / 3, length = (float)sqrt(12.0 * v + 1),
          l = (float)floor((length - 1.0) / 2);
    float a = (2 * l + 1) * (l * (l + 1) - 3 * v) / (6 * (v - (l + 1) * (l + 1))), r = l + a;
    uint32_t inner = (uint32_t)((float)(1 << 24) / (r * 2 + 1));
    uint32_t outer = ((1u << 24) - (uint32_t)(2 * (int)r + 1) * inner) / 2;
    for (int k = 0; k < 6; k++) {
        for (int line = 0; line < (k < 3 ? h : w); line++)
            for (int c = 0; c < 3; c++) {
                int at = (k < 3 ? line * w * 3 : line * 3) + c;
                pass(p + at, other + at, k < 3 ? w : h, k < 3 ? 3 : w * 3, (int)r, inner, outer);
            }
        memcpy(p, other, (size_t)h * (size_t)w * 3);
    }
}

TEST(test_against_definition) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    static const int sizes[][2] = {{1, 1}, {1, 9}, {9, 1}, {2, 3}, {5, 5}, {33, 48}, {64, 64}};
    static const double radii[] = {0, 0.1, 0.7, 1.2, 2, 3.3, 8, 40};
    for (int s = 0; s < 7; s++)
        for (int r = 0; r < 8; r++) {
            int h = sizes[s][0], w = sizes[s][1];
            SrImage image = fixture_image(pool, h, w, (uint64_t)s), expected;
            CHECK_OK(sr_pixel_copy(&image, pool, &expected));
            naive(expected.rgb, h, w, (float)radii[r]);
            CHECK_OK(sr_pixel_blur(&image, radii[r], pool));
            for (int i = 0; i < h * w * 3; i++)
                CHECK_INT(image.rgb[i], expected.rgb[i]);
        }
    sr_image_pool_free(pool);
}

TEST(test_width_is_the_deviation) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    SrImage image; // a bright line of 1 x 3 on black, blurred along the row
    CHECK_OK(sr_image_new(pool, 1, 41, &image));
    memset(image.rgb, 0, 41 * 3);
    memset(image.rgb + 19 * 3, 255, 9);
    CHECK_OK(sr_pixel_blur(&image, 2, pool));
    double mass = 0, mean = 0, square = 0;
    for (int x = 0; x < 41; x++) {
        mass += image.rgb[3 * x];
        mean += x * (double)image.rgb[3 * x];
        square += (double)x * x * image.rgb[3 * x];
    }
    mean /= mass;
    CHECK_NEAR(mean, 20, 0.05);
    // The variance is 2^2 plus that of the line itself.
    CHECK_NEAR(square / mass - mean * mean, 4 + 2.0 / 3, 0.4);
    sr_image_pool_free(pool);
}

SR_TESTS(pixel_blur, unit(test_against_definition), unit(test_width_is_the_deviation))
