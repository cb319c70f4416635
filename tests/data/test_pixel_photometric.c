// Tests solarize, posterize, autocontrast and sharpness on pixels computed by hand, and the
// conversion to floats.
#include <string.h>

#include "data/image_pool.h"
#include "data/pixels/pixel_float.h"
#include "data/pixels/pixel_geometry.h"
#include "data/pixels/pixel_photometric.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

TEST(test_levels) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    SrImage image;
    CHECK_OK(sr_image_new(pool, 1, 2, &image));
    const uint8_t start[6] = {0, 127, 128, 255, 64, 200};
    memcpy(image.rgb, start, 6);
    sr_pixel_solarize(&image, 128);
    const uint8_t inverted[6] = {0, 127, 127, 0, 64, 55};
    CHECK(memcmp(image.rgb, inverted, 6) == 0);
    sr_pixel_solarize(&image, 256);
    CHECK(memcmp(image.rgb, inverted, 6) == 0);
    sr_pixel_solarize(&image, 0);
    CHECK_INT(image.rgb[0], 255);
    memcpy(image.rgb, start, 6);
    sr_pixel_posterize(&image, 1);
    CHECK_INT(image.rgb[1], 0);
    CHECK_INT(image.rgb[2], 128);
    CHECK_INT(image.rgb[3], 128);
    sr_image_pool_free(pool);
}

TEST(test_autocontrast) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    SrImage image;
    CHECK_OK(sr_image_new(pool, 1, 3, &image));
    const uint8_t start[9] = {100, 7, 0, 151, 7, 128, 202, 7, 255};
    memcpy(image.rgb, start, 9);
    sr_pixel_autocontrast(&image);
    // A channel of one level stays.
    const uint8_t stretched[9] = {0, 7, 0, 127, 7, 128, 255, 7, 255};
    CHECK(memcmp(image.rgb, stretched, 9) == 0);
    sr_image_pool_free(pool);
}

TEST(test_sharpness) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    SrImage image;
    CHECK_OK(sr_image_new(pool, 3, 3, &image));
    memset(image.rgb, 0, 27);
    memset(image.rgb + 12, 130, 3);
    CHECK_OK(sr_pixel_sharpness(&image, 0, pool));
    CHECK_INT(image.rgb[12], 50); // 130 * 5 / 13
    CHECK_INT(image.rgb[0], 0);   // the border is not smoothed
    memset(image.rgb + 12, 130, 3);
    CHECK_OK(sr_pixel_sharpness(&image, 2, pool));
    CHECK_INT(image.rgb[12], 210); // 50 + 2 * (130 - 50)
    SrImage line = fixture_image(pool, 1, 5, 1), same;
    CHECK_OK(sr_pixel_copy(&line, pool, &same));
    CHECK_OK(sr_pixel_sharpness(&line, 1.7, pool));
    CHECK(memcmp(line.rgb, same.rgb, 15) == 0);
    sr_image_pool_free(pool);
}

TEST(test_floats) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    SrImage image = fixture_image(pool, 5, 7, 1), bytes;
    CHECK_OK(sr_pixel_copy(&image, pool, &bytes));
    CHECK_OK(sr_pixel_to_tensor(&image, pool));
    CHECK(image.rgb == NULL);
    for (int i = 0; i < 5 * 7 * 3; i++)
        CHECK_NEAR(image.f[i], bytes.rgb[i] / 255.0, 1e-7);
    const double mean[3] = {0.1, 0.2, 0.3}, std[3] = {0.5, 0.25, 2};
    sr_pixel_normalize(&image, mean, std);
    for (int i = 0; i < 5 * 7 * 3; i++)
        CHECK_NEAR(image.f[i], (bytes.rgb[i] / 255.0 - mean[i % 3]) / std[i % 3], 1e-6);
    sr_image_pool_free(pool);
}

SR_TESTS(pixel_photometric, unit(test_levels), unit(test_autocontrast), unit(test_sharpness),
         unit(test_floats))
