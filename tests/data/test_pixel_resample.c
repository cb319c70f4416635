// Tests resizing against the textbook formula in double precision, and properties of its filters.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/image_pool.h"
#include "data/pixels/pixel.h"
#include "data/pixels/pixel_geometry.h"
#include "data/pixels/pixel_resample.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

// Applies the antialiased triangle filter along one axis in double precision: returns output i of
// n from `in` samples.
static double triangle(const double *samples, int in, int i, int n) {
    double scale = (double)in / n, stretch = fmax(1, scale), center = (i + 0.5) * scale, sum = 0,
           total = 0;
    for (int x = 0; x < in; x++) {
        double w = fmax(0, 1 - fabs((x + 0.5 - center) / stretch));
        sum += w * samples[x];
        total += w;
    }
    return sum / total;
}

// Returns channel c of the resized image at (y, x) by the formula, columns first, so that one row
// of temporaries suffices.
static double expected(const SrImage *src, SrBox b, int h, int w, int y, int x, int c) {
    double column[64], row[64];
    for (int sx = 0; sx < b.w; sx++) {
        for (int sy = 0; sy < b.h; sy++)
            column[sy] = src->rgb[((b.top + sy) * src->W + b.left + sx) * 3 + c];
        row[sx] = triangle(column, b.h, y, h);
    }
    return triangle(row, b.w, x, w);
}

TEST(test_against_formula) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    for (uint64_t round = 0; round < 60; round++) {
        SrRng rng = sr_rng(round, SR_RNG_TEST, 0, 0, 0, 0);
        sr_image_pool_reset(pool);
        int H = 1 + (int)sr_rng_below(&rng, 60), W = 1 + (int)sr_rng_below(&rng, 60);
        SrBox b = {.h = 1 + (int)sr_rng_below(&rng, (uint32_t)H),
                   .w = 1 + (int)sr_rng_below(&rng, (uint32_t)W)};
        b.top = (int)sr_rng_below(&rng, (uint32_t)(H - b.h + 1));
        b.left = (int)sr_rng_below(&rng, (uint32_t)(W - b.w + 1));
        int h = 1 + (int)sr_rng_below(&rng, 40), w = 1 + (int)sr_rng_below(&rng, 40);
        SrImage src = fixture_image(pool, H, W, round), out;
        CHECK_OK(sr_pixel_resize(&src, b, h, w, SR_FILTER_BILINEAR, pool, &out));
        CHECK_INT(out.H, h);
        CHECK_INT(out.W, w);
        for (int i = 0; i < h * w * 3; i++)
            // The result is rounded to bytes twice, after each axis.
            CHECK_NEAR(out.rgb[i], expected(&src, b, h, w, i / 3 / w, i / 3 % w, i % 3), 1.01);
    }
    sr_image_pool_free(pool);
}

TEST(test_filters) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    SrImage src, out;
    CHECK_OK(sr_image_new(pool, 4, 8, &src));
    for (int i = 0; i < 4 * 8; i++)
        memset(src.rgb + 3 * i, i % 8 < 4 ? 40 : 200, 3); // an edge in the middle
    // A box filter that halves an image averages pairs; nearest takes the pixel at the centre.
    CHECK_OK(sr_pixel_resize(&src, (SrBox){0, 0, 4, 8}, 2, 4, SR_FILTER_BOX, pool, &out));
    CHECK_INT(out.rgb[0], 40);
    CHECK_INT(out.rgb[3 * 2], 200);
    CHECK_OK(sr_pixel_resize(&src, (SrBox){0, 2, 4, 4}, 1, 1, SR_FILTER_BOX, pool, &out));
    CHECK_INT(out.rgb[0], 120);
    CHECK_OK(sr_pixel_resize(&src, (SrBox){0, 0, 4, 8}, 3, 3, SR_FILTER_NEAREST, pool, &out));
    CHECK_INT(out.rgb[0], 40);
    CHECK_INT(out.rgb[3], 200);
    // Cubic and Lanczos overshoot at the edge. The result is clipped to 0 and 255 instead of
    // wrapping around.
    for (int i = 0; i < 4 * 8; i++)
        memset(src.rgb + 3 * i, i % 8 < 4 ? 0 : 255, 3);
    const SrFilter sharp[] = {SR_FILTER_BICUBIC, SR_FILTER_LANCZOS, SR_FILTER_HAMMING};
    for (int f = 0; f < 3; f++) {
        CHECK_OK(sr_pixel_resize(&src, (SrBox){0, 0, 4, 8}, 8, 32, sharp[f], pool, &out));
        for (int x = 0; x < 32; x++)
            CHECK(x < 12 ? out.rgb[3 * x] < 20 : x < 20 || out.rgb[3 * x] > 235);
    }
    sr_image_pool_free(pool);
}

TEST(test_constant_stays_constant) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    for (int filter = 0; filter < 6; filter++)
        for (int size = 1; size < 60; size += 7) {
            SrImage src, out;
            CHECK_OK(sr_image_new(pool, 23, 31, &src));
            memset(src.rgb, 201, 23 * 31 * 3);
            CHECK_OK(sr_pixel_resize(&src, (SrBox){0, 0, 23, 31}, size, 2 * size, (SrFilter)filter,
                                     pool, &out));
            for (int i = 0; i < size * 2 * size * 3; i++)
                CHECK_INT(out.rgb[i], 201);
        }
    sr_image_pool_free(pool);
}

TEST(test_wide_rows) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    // The image is wider than one strip of the vertical pass: each column is resized alike.
    SrImage src = fixture_image(pool, 9, 1100, 1), out, narrow, part;
    CHECK_OK(
        sr_pixel_resize(&src, (SrBox){0, 0, 9, 1100}, 5, 1100, SR_FILTER_BILINEAR, pool, &out));
    CHECK_OK(
        sr_pixel_resize(&src, (SrBox){0, 700, 9, 20}, 5, 20, SR_FILTER_BILINEAR, pool, &narrow));
    CHECK_OK(sr_pixel_crop(&out, (SrBox){0, 700, 5, 20}, pool, &part));
    CHECK(memcmp(part.rgb, narrow.rgb, 5 * 20 * 3) == 0);
    sr_image_pool_free(pool);
}

// An image of 1 x 65,500 pixels cannot be resized to a shorter side of 10,000 or 65,500: the
// longer side would be too long.
TEST(test_too_long) {
    SrImagePool *pool;
    SrImage src, out;
    int h, w;
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_OK(sr_image_new(pool, 1, 65500, &src));
    memset(src.rgb, 7, 3 * 65500);
    for (int size = 10000; size <= 65500; size += 55500) {
        sr_pixel_fit_shorter(1, 65500, size, &h, &w);
        CHECK_FAILS(
            sr_pixel_resize(&src, (SrBox){0, 0, 1, 65500}, h, w, SR_FILTER_BILINEAR, pool, &out),
            SR_ERR_IO, "too long for its width");
    }
    sr_image_pool_free(pool);
}

SR_TESTS(pixel_resample, unit(test_too_long), unit(test_against_formula), unit(test_filters),
         unit(test_constant_stays_constant), unit(test_wide_rows))
