// Tests colour operations on pixels computed by hand. The golden cases tf_color* compare whole
// images with PIL.
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "data/image_pool.h"
#include "data/pixels/pixel_color.h"
#include "data/pixels/pixel_geometry.h"
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

TEST(test_brightness_contrast_saturation) {
    CHECK_OK(sr_image_pool_new(&pool));
    SrImage p = one(100, 150, 201);
    sr_pixel_brightness(&p, 0.5);
    is(&p, 50, 75, 100); // truncated
    sr_pixel_brightness(&p, 10);
    is(&p, 255, 255, 255);
    p = one(100, 150, 200); // grey level 140.75, rounded to 141
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

TEST(test_contrast_uses_the_mean) {
    CHECK_OK(sr_image_pool_new(&pool));
    // An image with more pixels than one partial sum holds has a mean grey of exactly 100.
    SrImage image;
    CHECK_OK(sr_image_new(pool, 100, 101, &image));
    for (int i = 0; i < 100 * 101; i++)
        memset(image.rgb + 3 * i, i % 2 ? 50 : 150, 3);
    sr_pixel_contrast(&image, 0.5);
    CHECK_INT(image.rgb[0], 125);
    CHECK_INT(image.rgb[3], 75);
    sr_image_pool_free(pool);
}

TEST(test_hue) {
    CHECK_OK(sr_image_pool_new(&pool));
    SrImage p = one(255, 0, 0);
    sr_pixel_hue(&p, 1.0 / 3); // 85 of 255: green, up to the rounding of 8-bit hues
    CHECK(p.rgb[1] == 255 && p.rgb[0] <= 3 && p.rgb[2] <= 3);
    p = one(77, 77, 77); // grey has no hue
    sr_pixel_hue(&p, 0.4);
    is(&p, 77, 77, 77);
    p = one(0, 0, 0);
    sr_pixel_hue(&p, -0.5);
    is(&p, 0, 0, 0);
    // Full turns of the hue of every colour of a coarse cube stay within the 8-bit rounding of
    // PIL's HSV.
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

// Converts one pixel from RGB to HSV and back with the types of PIL's C code: the plain reference
// for sr_pixel_hue, which works on planes of integers.
static void plain_hue(uint8_t *p, int step) {
    int r = p[0], g = p[1], b = p[2];
    int high = SR_MAX(r, SR_MAX(g, b)), low = SR_MIN(r, SR_MIN(g, b));
    float range = (float)(high - low), h;
    if (high == low)
        return;
    float rc = (float)(high - r) / range, gc = (float)(high - g) / range,
          bc = (float)(high - b) / range;
    h = r == high ? bc - gc : g == high ? (float)(2.0 + rc - bc) : (float)(4.0 + gc - rc);
    h = (float)fmod(h / 6.0 + 1.0, 1.0);
    int h8 = ((int)(h * 255.0) + step) & 255, s8 = (int)(range / (float)high * 255.0);
    if (s8 == 0) {
        p[0] = p[1] = p[2] = (uint8_t)high;
        return;
    }
    double x = (float)h8 * 6.0 / 255.0;
    float f = (float)(x - floor(x)), s = (float)s8 / 255.0f, v = (float)high;
    int at_p = (int)(v * (1.0 - s) + 0.5), at_q = (int)(v * (1.0 - s * f) + 0.5);
    int at_t = (int)(v * (1.0 - s * (1.0 - f)) + 0.5);
    const int corner[6][3] = {{high, at_t, at_p}, {at_q, high, at_p}, {at_p, high, at_t},
                              {at_p, at_q, high}, {at_t, at_p, high}, {high, at_p, at_q}};
    for (int c = 0; c < 3; c++)
        p[c] = (uint8_t)corner[(int)floor(x) % 6][c];
}

static void hue_matches(const SrImage *image, double shift) {
    SrImage ours;
    size_t mark = sr_image_pool_mark(pool);
    CHECK_OK(sr_pixel_copy(image, pool, &ours));
    sr_pixel_hue(&ours, shift);
    for (int i = 0; i < image->H * image->W; i++) {
        uint8_t plain[3];
        memcpy(plain, image->rgb + 3 * i, 3);
        plain_hue(plain, (int)(shift * 255) & 255);
        if (memcmp(plain, ours.rgb + 3 * i, 3) != 0)
            fail_msg("hue %g of (%d, %d, %d) is (%d, %d, %d), PIL has (%d, %d, %d)", shift,
                     image->rgb[3 * i], image->rgb[3 * i + 1], image->rgb[3 * i + 2],
                     ours.rgb[3 * i], ours.rgb[3 * i + 1], ours.rgb[3 * i + 2], plain[0], plain[1],
                     plain[2]);
    }
    sr_image_pool_rewind(pool, mark);
}

// Checks every range, every place of the middle channel in it and every order of the channels.
// They cover all quotients that a hue can be, including the halfway cases.
TEST(test_hue_is_pil) {
    CHECK_OK(sr_image_pool_new(&pool));
    SrImage image, noise = fixture_image(pool, 301, 211, 8);
    CHECK_OK(sr_image_new(pool, 6 * 255, 256, &image));
    memset(image.rgb, 0, (size_t)image.H * (size_t)image.W * 3);
    static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int range = 1; range < 256; range++)
        for (int k = 0; k < 6; k++)
            for (int m = 0; m <= range; m++) {
                int low = (range * 7 + m) % (256 - range);
                uint8_t *p = image.rgb + (((range - 1) * 6 + k) * 256 + m) * 3;
                p[order[k][0]] = (uint8_t)low;
                p[order[k][1]] = (uint8_t)(low + m);
                p[order[k][2]] = (uint8_t)(low + range);
            }
    hue_matches(&image, 0);
    hue_matches(&image, 0.13);
    for (int i = -10; i <= 10; i++)
        hue_matches(&noise, i / 20.0);
    sr_image_pool_free(pool);
}

// A list of colour steps in one pass over the image equals the steps one after the other, for any
// place of the contrast.
TEST(test_steps_together) {
    CHECK_OK(sr_image_pool_new(&pool));
    SrImage image = fixture_image(pool, 37, 41, 3), a, b;
    static void (*const single[])(SrImage *, double) = {sr_pixel_brightness, sr_pixel_contrast,
                                                        sr_pixel_saturation, sr_pixel_hue};
    for (uint64_t round = 0; round < 50; round++) {
        SrRng rng = sr_rng(1, SR_RNG_TEST, round, 0, 0, 0);
        SrColorStep steps[5];
        uint32_t order[4];
        sr_rng_permutation(&rng, order, 4);
        CHECK_OK(sr_pixel_copy(&image, pool, &a));
        CHECK_OK(sr_pixel_copy(&image, pool, &b));
        for (int i = 0; i < 4; i++) {
            bool nothing = sr_rng_below(&rng, 4) == 0; // a factor of 1 is skipped
            double factor = order[i] == SR_COLOR_HUE ? sr_rng_range(&rng, -0.5, 0.5)
                            : nothing                ? 1
                                                     : sr_rng_range(&rng, 0, 2);
            steps[i] = (SrColorStep){(SrColorKind)order[i], factor};
            single[order[i]](&a, factor);
        }
        steps[4] = (SrColorStep){SR_COLOR_GRAY, 0};
        if (round % 2)
            sr_pixel_grayscale(&a);
        sr_pixel_color(&b, steps, round % 2 ? 5 : 4);
        CHECK(memcmp(a.rgb, b.rgb, 37 * 41 * 3) == 0);
    }
    sr_image_pool_free(pool);
}

SR_TESTS(pixel_color, unit(test_brightness_contrast_saturation), unit(test_contrast_uses_the_mean),
         unit(test_hue), unit(test_hue_is_pil), unit(test_steps_together))
