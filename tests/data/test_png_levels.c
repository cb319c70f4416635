// Tests the reader of masks: numbers of every depth as they are stored, all filters, and files that
// are no masks.
#include "data/readers/png_levels.h"

#include "base/mem.h"
#include "data/image_pool.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

enum { GREY = 0, RGB = 2, PALETTE = 3 };

static SrImagePool *pool;

// bytes: of all rows, each with its filter.
static SrStatus read_raw(int h, int w, int depth, int color, const uint8_t *rows, size_t bytes,
                         uint8_t **level) {
    static const uint8_t palette[6] = {0, 0, 0, 255, 0, 0};
    size_t n;
    int got_h, got_w;
    void *png = fixture_raw_png(h, w, depth, color, palette, color == PALETTE ? 6 : 0, rows,
                                bytes / (size_t)h, &n);
    SrStatus status = sr_png_levels(png, n, pool, &got_h, &got_w, level);
    sr_free(png);
    CHECK(status != SR_OK || (got_h == h && got_w == w));
    return status;
}

// A picture of 1 bit shows 1 as 255; a mask keeps 1.
TEST(test_depths) {
    uint8_t *level;
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_OK(read_raw(1, 10, 1, GREY, (const uint8_t[]){0, 0xA5, 0x40}, 3, &level));
    CHECK(memcmp(level, (const uint8_t[]){1, 0, 1, 0, 0, 1, 0, 1, 0, 1}, 10) == 0);
    CHECK_OK(read_raw(1, 5, 2, PALETTE, (const uint8_t[]){0, 0x1B, 0x80}, 3, &level));
    CHECK(memcmp(level, (const uint8_t[]){0, 1, 2, 3, 2}, 5) == 0);
    CHECK_OK(read_raw(1, 3, 4, GREY, (const uint8_t[]){0, 0x9F, 0x30}, 3, &level));
    CHECK(memcmp(level, (const uint8_t[]){9, 15, 3}, 3) == 0);
    CHECK_OK(read_raw(2, 2, 8, PALETTE, (const uint8_t[]){0, 7, 255, 0, 21, 0}, 6, &level));
    CHECK(memcmp(level, (const uint8_t[]){7, 255, 21, 0}, 4) == 0);
    sr_image_pool_free(pool);
}

// Each row has another filter; all decode to 10 20 30.
TEST(test_filters) {
    static const uint8_t rows[] = {0, 10, 20, 30, 1, 10, 10, 10, 2, 0,
                                   0, 0,  3,  5,  5, 5,  4,  0,  0, 0};
    uint8_t *level;
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_OK(read_raw(5, 3, 8, GREY, rows, sizeof rows, &level));
    for (int i = 0; i < 15; i++)
        CHECK_INT(level[i], 10 * (i % 3 + 1));
    CHECK_FAILS(read_raw(1, 3, 8, GREY, (const uint8_t[]){9, 1, 2, 3}, 4, &level), SR_ERR_IO,
                "pixels of the PNG are damaged");
    sr_image_pool_free(pool);
}

// Sizes of 0 and beyond all bounds, and a depth that no PNG has.
TEST(test_headers) {
    static const struct {
        uint32_t w, h;
        int depth;
    } cases[] = {{0, 1, 8},         {1, 0, 8}, {1u << 31, 1, 8}, {1, 1u << 31, 8},
                 {65535, 65535, 8}, {1, 1, 3}, {1, 1, 0}};
    uint8_t *level;
    size_t n;
    int h, w;
    CHECK_OK(sr_image_pool_new(&pool));
    for (int i = 0; i < SR_COUNT(cases); i++) {
        uint8_t *png = fixture_raw_png(1, 1, 8, GREY, NULL, 0, (const uint8_t[]){0, 1}, 2, &n);
        for (int k = 0; k < 4; k++) {
            png[16 + k] = (uint8_t)(cases[i].w >> (24 - 8 * k));
            png[20 + k] = (uint8_t)(cases[i].h >> (24 - 8 * k));
        }
        png[24] = (uint8_t)cases[i].depth;
        CHECK_FAILS(sr_png_levels(png, n, pool, &h, &w, &level), SR_ERR_IO,
                    "the header of the PNG is damaged");
        sr_free(png);
    }
    sr_image_pool_free(pool);
}

// Fourth filters that choose each of their three neighbours.
TEST(test_fourth_filter) {
    static const uint8_t rows[] = {0, 10, 50, 20, 4, 0, 0, 0, 4, 5, 0, 0};
    static const uint8_t want[] = {10, 50, 20, 10, 50, 20, 15, 50, 20};
    uint8_t *level;
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_OK(read_raw(3, 3, 8, GREY, rows, sizeof rows, &level));
    for (int i = 0; i < 9; i++)
        CHECK_INT(level[i], want[i]);
    static const uint8_t left[] = {0, 100, 100, 4, 50, 0}; // 150 left of 150, below 100: the left
    CHECK_OK(read_raw(2, 2, 8, GREY, left, sizeof left, &level));
    CHECK_INT(level[2], 150);
    CHECK_INT(level[3], 150);
    static const uint8_t corner[] = {0, 100, 110, 4, 246, 0}; // 90, 100, 110: the corner
    CHECK_OK(read_raw(2, 2, 8, GREY, corner, sizeof corner, &level));
    CHECK_INT(level[2], 90);
    CHECK_INT(level[3], 100);
    sr_image_pool_free(pool);
}

TEST(test_not_masks) {
    uint8_t *level, rgb[12] = {0};
    size_t n;
    int h, w;
    CHECK_OK(sr_image_pool_new(&pool));
    uint8_t *png = fixture_png(rgb, 2, 2, 3, &n);
    CHECK_FAILS(sr_png_levels(png, n, pool, &h, &w, &level), SR_ERR_IO, "has several channels");
    sr_free(png);
    void *jpeg = fixture_jpeg(rgb, 2, 2, 3, &n);
    CHECK_FAILS(sr_png_levels(jpeg, n, pool, &h, &w, &level), SR_ERR_IO, "the file is no PNG");
    sr_free(jpeg);
    CHECK_FAILS(read_raw(1, 1, 16, GREY, (const uint8_t[]){0, 1, 2}, 3, &level), SR_ERR_IO,
                "16 bits per pixel");
    CHECK_FAILS(read_raw(2, 2, 8, GREY, (const uint8_t[]){0, 1, 2, 0}, 4, &level), SR_ERR_IO,
                "pixels of the PNG are damaged");
    png = fixture_png(rgb, 3, 4, 1, &n);
    for (size_t cut = 0; cut < n; cut++) { // never more than a message
        uint8_t *part = sr_alloc(cut + 1);
        memcpy(part, png, cut);
        SrStatus status = sr_png_levels(part, cut, pool, &h, &w, &level);
        CHECK(status == SR_ERR_IO || (status == SR_OK && cut >= n - 12));
        sr_free(part);
    }
    for (size_t at = 0; at < n; at++) { // any damaged byte: pixels or a message
        uint8_t keep = png[at];
        png[at] = (uint8_t)~keep;
        SrStatus status = sr_png_levels(png, n, pool, &h, &w, &level);
        CHECK(status == SR_ERR_IO || status == SR_OK || status == SR_ERR_MEMORY);
        png[at] = keep;
        sr_image_pool_reset(pool);
    }
    sr_free(png);
    sr_image_pool_free(pool);
}

SR_TESTS(png_levels, unit(test_depths), unit(test_filters), unit(test_not_masks),
         unit(test_headers), unit(test_fourth_filter))
