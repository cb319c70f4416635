// Colour operations at hand-computed pixels.  (Whole images against PIL: golden cases tf_color*.)
#include <string.h>

#include "data/pixel.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

static SrImagePool *pool;

static SrImage one(int r, int g, int b) {
    SrImage image;
    CHECK_OK(sr_image_new(pool, 1, 1, &image));
    image.rgb[0] = (uint8_t)r;
    image.rgb[1] = (uint8_t)g;
    image.rgb[2] = (uint8_t)b;
    return image;
}

static void is(const SrImage *image, int r, int g, int b) {
    CHECK_INT(image->rgb[0], r);
    CHECK_INT(image->rgb[1], g);
    CHECK_INT(image->rgb[2], b);
}

static void test_brightness_contrast_saturation(void **state) {
    (void)state;
    CHECK_OK(sr_image_pool_new(&pool));
    SrImage p = one(100, 150, 201);
    sr_pixel_brightness(&p, 0.5);
    is(&p, 50, 75, 100); // truncated
    sr_pixel_brightness(&p, 10);
    is(&p, 255, 255, 255);
    p = one(100, 150, 200); // grey 140.75 -> 141
    sr_pixel_contrast(&p, 0);
    is(&p, 141, 141, 141);
    p = one(100, 150, 200);
    sr_pixel_contrast(&p, 2); // 141 + 2 (x - 141)
    is(&p, 59, 159, 255);
    p = one(100, 150, 200);
    sr_pixel_saturation(&p, 0);
    is(&p, 141, 141, 141);
    p = one(100, 150, 200);
    sr_pixel_saturation(&p, 1.5);
    is(&p, 79, 154, 229);
    p = one(100, 150, 200);
    sr_pixel_saturation(&p, 1);
    is(&p, 100, 150, 200);
    sr_pixel_grayscale(&p);
    is(&p, 141, 141, 141);
    sr_image_pool_free(pool);
}

static void test_contrast_uses_the_mean(void **state) {
    (void)state;
    CHECK_OK(sr_image_pool_new(&pool));
    // More pixels than one partial sum holds; the mean grey is 100 exactly.
    SrImage image;
    CHECK_OK(sr_image_new(pool, 100, 101, &image));
    for (int i = 0; i < 100 * 101; i++)
        memset(image.rgb + 3 * i, i % 2 ? 50 : 150, 3);
    sr_pixel_contrast(&image, 0.5);
    CHECK_INT(image.rgb[0], 125);
    CHECK_INT(image.rgb[3], 75);
    sr_image_pool_free(pool);
}

static void test_hue(void **state) {
    (void)state;
    CHECK_OK(sr_image_pool_new(&pool));
    SrImage p = one(255, 0, 0);
    sr_pixel_hue(&p, 1.0 / 3); // 85 of 255: green, but for the rounding of 8-bit hues
    CHECK(p.rgb[1] == 255 && p.rgb[0] <= 3 && p.rgb[2] <= 3);
    p = one(77, 77, 77); // grey has no hue
    sr_pixel_hue(&p, 0.4);
    is(&p, 77, 77, 77);
    p = one(0, 0, 0);
    sr_pixel_hue(&p, -0.5);
    is(&p, 0, 0, 0);
    // Full turns of every colour of a coarse cube stay within the 8-bit rounding of PIL's HSV.
    for (int c = 0; c < 6 * 6 * 6; c++) {
        int r = c % 6 * 51, g = c / 6 % 6 * 51, b = c / 36 * 51;
        p = one(r, g, b);
        sr_pixel_hue(&p, 0);
        CHECK_NEAR(p.rgb[0], r, 8);
        CHECK_NEAR(p.rgb[1], g, 8);
        CHECK_NEAR(p.rgb[2], b, 8);
    }
    sr_image_pool_free(pool);
}

SR_TESTS(pixel_color, unit(test_brightness_contrast_saturation), unit(test_contrast_uses_the_mean),
         unit(test_hue))
