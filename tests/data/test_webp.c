// Tests WebP images, decoded as by Pillow if libwebp was found at build time; otherwise refused
// with an error that says what to do.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "gen/build.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

static char *read_file(const char *name, size_t *n) {
    char path[64], *bytes;
    snprintf(path, sizeof path, "tests/data/files/%s", name);
    CHECK_OK(sr_file_read(path, 1 << 16, &bytes, n));
    return bytes;
}

static void check_pixels(const char *stem, SrImagePool *pool) {
    char name[64];
    size_t n, m;
    SrImage image;
    snprintf(name, sizeof name, "%s.webp", stem);
    char *webp = read_file(name, &n);
    snprintf(name, sizeof name, "%s.ppm", stem);
    char *ppm = read_file(name, &m);
    CHECK_OK(sr_image_decode(webp, n, pool, &image));
    CHECK(image.H == 13 && image.W == 21 && m > 13 * 21 * 3);
    CHECK(memcmp(image.rgb, ppm + m - 13 * 21 * 3, 13 * 21 * 3) == 0);
    for (size_t keep = 0; keep < n; keep += 11)
        CHECK_FAILS(sr_image_decode(webp, keep, pool, &image), SR_ERR_IO, "");
    sr_free(webp);
    sr_free(ppm);
}

TEST(test_pillows_pixels) {
    static const char *const stems[] = {"lossy", "lossless", "transparent"};
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    for (int i = 0; i < SR_COUNT(stems) && SR_WEBP; i++)
        check_pixels(stems[i], pool);
    sr_image_pool_free(pool);
}

TEST(test_refused) {
    size_t n;
    SrImage image;
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    char *moving = read_file("moving.webp", &n);
    CHECK_FAILS(sr_image_decode(moving, n, pool, &image), SR_ERR_IO,
                SR_WEBP ? "an animated WebP" : "build with libwebp-dev");
    sr_free(moving);
    char *file = read_file("transparent.webp", &n);
    memset(file + 24, 0xFF, 6); // a canvas of 2^24 pixels per side
    CHECK_FAILS(sr_image_decode(file, n, pool, &image), SR_ERR_IO,
                SR_WEBP ? "16777216 x 16777216" : "build with libwebp-dev");
    sr_free(file);
    sr_image_pool_free(pool);
}

// A damaged file gives an error, or pixels that depend on its bytes only.
TEST(test_damaged) {
    size_t n;
    char *file = read_file("lossy.webp", &n);
    fixture_check_damaged(file, n, 20, 8, 200, 9);
    sr_free(file);
}

SR_TESTS(webp, unit(test_pillows_pixels), unit(test_refused), unit(test_damaged))
