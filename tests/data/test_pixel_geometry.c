// Tests crop, flip and rotation of images, and torchvision's sizes and positions of boxes.
#include <math.h>
#include <string.h>

#include "data/image_pool.h"
#include "data/pixels/pixel.h"
#include "data/pixels/pixel_geometry.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

TEST(test_crop_pads_with_black) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    SrImage src = fixture_image(pool, 5, 6, 1), out;
    CHECK_OK(sr_pixel_crop(&src, (SrBox){-2, -1, 10, 9}, pool, &out));
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 9; x++)
            for (int c = 0; c < 3; c++) {
                int sy = y - 2, sx = x - 1;
                bool inside = sy >= 0 && sy < 5 && sx >= 0 && sx < 6;
                CHECK_INT(out.rgb[(y * 9 + x) * 3 + c],
                          inside ? src.rgb[(sy * 6 + sx) * 3 + c] : 0);
            }
    CHECK_OK(sr_pixel_crop(&src, (SrBox){20, 20, 2, 2}, pool, &out)); // entirely outside the image
    for (int i = 0; i < 12; i++)
        CHECK_INT(out.rgb[i], 0);
    sr_image_pool_free(pool);
}

TEST(test_flip) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    for (int w = 1; w < 6; w++) {
        SrImage src = fixture_image(pool, 3, w, 2), flipped;
        CHECK_OK(sr_pixel_copy(&src, pool, &flipped));
        sr_pixel_flip(&flipped);
        for (int i = 0; i < 3 * w * 3; i++)
            CHECK_INT(flipped.rgb[i], src.rgb[(i / 3 / w * w + w - 1 - i / 3 % w) * 3 + i % 3]);
    }
    sr_image_pool_free(pool);
}

TEST(test_rotate_quarters) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    SrImage src = fixture_image(pool, 7, 7, 3), turned;
    CHECK_OK(sr_pixel_copy(&src, pool, &turned));
    CHECK_OK(sr_pixel_rotate(&turned, 90, pool));
    for (int y = 0; y < 7; y++) // counter-clockwise: the right column becomes the top row
        for (int x = 0; x < 7; x++)
            CHECK_INT(turned.rgb[(y * 7 + x) * 3], src.rgb[(x * 7 + 6 - y) * 3]);
    CHECK_OK(sr_pixel_rotate(&turned, 270, pool));
    CHECK(memcmp(turned.rgb, src.rgb, 7 * 7 * 3) == 0);
    CHECK_OK(sr_pixel_rotate(&turned, -360, pool));
    CHECK(memcmp(turned.rgb, src.rgb, 7 * 7 * 3) == 0);
    sr_image_pool_free(pool);
}

TEST(test_sizes_and_centers) {
    int h, w;
    sr_pixel_fit_shorter(90, 120, 64, &h, &w);
    CHECK_INT(h, 64);
    CHECK_INT(w, 85); // int(64 * 120 / 90)
    sr_pixel_fit_shorter(333, 100, 50, &h, &w);
    CHECK_INT(h, 166);
    CHECK_INT(w, 50);
    // Python rounds halves to even: 22.5 to 22 and 23.5 to 24.
    CHECK_INT(sr_pixel_center_box(101, 103, 56, 56).top, 22);
    CHECK_INT(sr_pixel_center_box(101, 103, 56, 56).left, 24);
    // Padding puts the odd pixel after the image.
    CHECK_INT(sr_pixel_center_box(5, 6, 10, 10).top, -2);
    CHECK_INT(sr_pixel_center_box(5, 6, 10, 10).left, -2);
}

TEST(test_boxes_lie_inside) {
    static const int sizes[][2] = {{1, 1}, {1, 500}, {500, 1}, {3, 4}, {375, 500}, {900, 300}};
    static const double scale[2] = {0.08, 1}, ratio[2] = {3.0 / 4, 4.0 / 3};
    for (int s = 0; s < 6; s++)
        for (uint64_t i = 0; i < 2000; i++) {
            SrRng rng = sr_rng(7, SR_RNG_TEST, (uint64_t)s, i, 0, 0);
            int H = sizes[s][0], W = sizes[s][1];
            SrBox b = sr_pixel_draw_box(&rng, H, W, scale, ratio);
            CHECK(b.h >= 1 && b.w >= 1 && b.top >= 0 && b.left >= 0);
            CHECK(b.top + b.h <= H && b.left + b.w <= W);
        }
    // No box of the requested aspect ratio fits into a line: torchvision falls back to a centred
    // box.
    SrRng rng = sr_rng(7, SR_RNG_TEST, 0, 0, 0, 0);
    SrBox b = sr_pixel_draw_box(&rng, 30, 3000, (double[2]){0.9, 1}, ratio);
    CHECK_INT(b.h, 30);
    CHECK_INT(b.w, 40);
    CHECK_INT(b.left, 1480);
}

SR_TESTS(pixel_geometry, unit(test_crop_pads_with_black), unit(test_flip),
         unit(test_rotate_quarters), unit(test_sizes_and_centers), unit(test_boxes_lie_inside))
