// Tests decoding JPEG and PNG to RGB: exact and near pixels, and hostile files that must be
// refused without a crash.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

static SrImagePool *pool;

static int setup(void) { return sr_image_pool_new(&pool); }

static void png_matches(int channels, int alpha) {
    int h = 13, w = 17, colors = channels - alpha;
    uint8_t pixels[13 * 17 * 4];
    fixture_noise(pixels, sizeof pixels, (uint64_t)channels);
    size_t n;
    void *png = fixture_png(pixels, h, w, channels, &n);
    SrImage image;
    CHECK_OK(sr_image_decode(png, n, pool, &image));
    CHECK_INT(image.H, h);
    CHECK_INT(image.W, w);
    for (int i = 0; i < h * w; i++)
        for (int c = 0; c < 3; c++)
            CHECK_INT(image.rgb[3 * i + c], pixels[channels * i + (colors == 3 ? c : 0)]);
    free(png);
}

TEST(test_png_exact) {
    CHECK_OK(setup());
    png_matches(1, 0);
    png_matches(2, 1);
    png_matches(3, 0);
    png_matches(4, 1);
    sr_image_pool_free(pool);
}

TEST(test_png_depths) {
    CHECK_OK(setup());
    size_t n;
    SrImage image;
    // 16-bit grey keeps the high byte only.
    const uint8_t deep[] = {0, 0x12, 0x34, 0xFF, 0x00};
    void *png = fixture_raw_png(1, 2, 16, 0, NULL, 0, deep, sizeof deep, &n);
    CHECK_OK(sr_image_decode(png, n, pool, &image));
    CHECK_INT(image.rgb[0], 0x12);
    CHECK_INT(image.rgb[3], 0xFF);
    free(png);
    // One-bit grey maps to 0 and 255.
    const uint8_t bits[] = {0, 0xA0};
    png = fixture_raw_png(1, 3, 1, 0, NULL, 0, bits, sizeof bits, &n);
    CHECK_OK(sr_image_decode(png, n, pool, &image));
    CHECK_INT(image.rgb[0], 255);
    CHECK_INT(image.rgb[3], 0);
    CHECK_INT(image.rgb[6], 255);
    free(png);
    // An index beyond a palette of two colours is black, independent of the content of the stack.
    const uint8_t palette[] = {10, 20, 30, 40, 50, 60}, indices[] = {0, 1, 0, 200};
    png = fixture_raw_png(1, 3, 8, 3, palette, 6, indices, sizeof indices, &n);
    CHECK_OK(sr_image_decode(png, n, pool, &image));
    CHECK_INT(image.rgb[0], 40);
    CHECK_INT(image.rgb[5], 30);
    CHECK_INT(image.rgb[6] + image.rgb[7] + image.rgb[8], 0);
    free(png);
    sr_image_pool_free(pool);
}

TEST(test_jpeg_near) {
    CHECK_OK(setup());
    SrImage source = fixture_gradient(pool, 37, 50), image;
    size_t n;
    void *jpeg = fixture_jpeg(source.rgb, 37, 50, 3, &n);
    CHECK_OK(sr_image_decode(jpeg, n, pool, &image));
    CHECK_INT(image.H, 37);
    CHECK_INT(image.W, 50);
    double sum = 0;
    for (int i = 0; i < 37 * 50 * 3; i++)
        sum += abs(image.rgb[i] - source.rgb[i]);
    CHECK(sum / (37 * 50 * 3) < 3);
    free(jpeg);
    sr_image_pool_free(pool);
}

static void put16(uint8_t *p, int v) {
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

// Returns the offset of the segment with this marker.
static size_t find_marker(const uint8_t *jpeg, size_t n, int marker) {
    for (size_t i = 2; i + 4 < n; i += 2 + ((size_t)jpeg[i + 2] << 8 | jpeg[i + 3]))
        if (jpeg[i + 1] == marker)
            return i;
    fail_msg("no marker %x", marker);
    return 0;
}

TEST(test_refused_before_decoding) {
    CHECK_OK(setup());
    SrImage source = fixture_gradient(pool, 16, 16), image;
    size_t n;
    uint8_t *jpeg = fixture_jpeg(source.rgb, 16, 16, 3, &n);
    size_t frame = find_marker(jpeg, n, 0xC0), table = find_marker(jpeg, n, 0xC4);
    put16(jpeg + frame + 5, 65501);
    CHECK_FAILS(sr_image_decode(jpeg, n, pool, &image), SR_ERR_IO, "65501");
    put16(jpeg + frame + 5, 60000);
    put16(jpeg + frame + 7, 60000);
    CHECK_FAILS(sr_image_decode(jpeg, n, pool, &image), SR_ERR_IO, "expected at most 178956970");
    put16(jpeg + frame + 7, 2900);
    CHECK_FAILS(sr_image_decode(jpeg, n, pool, &image), SR_ERR_IO, "bytes cannot hold");
    put16(jpeg + frame + 5, 0);
    CHECK_FAILS(sr_image_decode(jpeg, n, pool, &image), SR_ERR_IO, "2900 x 0");
    put16(jpeg + frame + 5, 16);
    put16(jpeg + frame + 7, 16);
    CHECK_OK(sr_image_decode(jpeg, n, pool, &image));
    memset(jpeg + table + 5, 255, 16); // 4080 codes for a table of 256
    CHECK_FAILS(sr_image_decode(jpeg, n, pool, &image), SR_ERR_IO, "Huffman");
    free(jpeg);
    CHECK_FAILS(sr_image_decode("", 0, pool, &image), SR_ERR_IO, "the file is empty");
    CHECK_FAILS(sr_image_decode("%PDF-1.4", 8, pool, &image), SR_ERR_IO,
                "a PDF file, which is not supported; convert it");
    CHECK_FAILS(sr_image_decode("GIF89a..", 8, pool, &image), SR_ERR_IO, "the GIF is damaged");
    CHECK_FAILS(sr_image_decode("BMxx....", 8, pool, &image), SR_ERR_IO, "the BMP's header");
    CHECK_FAILS(sr_image_decode("MM\0*....", 8, pool, &image), SR_ERR_IO, "TIFF");
    CHECK_FAILS(sr_image_decode("some text", 9, pool, &image), SR_ERR_IO,
                "no image that this program knows: JPEG, PNG, WebP");
    CHECK_FAILS(sr_image_decode("\xFF\xD8\xFF\xD9", 4, pool, &image), SR_ERR_IO, "has no image");
    CHECK_FAILS(sr_image_decode("\x89PNG\r\n\x1a\n", 8, pool, &image), SR_ERR_IO, "header");
    sr_image_pool_free(pool);
}

TEST(test_cut_off_is_refused) {
    CHECK_OK(setup());
    SrImage source = fixture_image(pool, 40, 40, 5), image;
    size_t n;
    uint8_t *jpeg = fixture_jpeg(source.rgb, 40, 40, 3, &n);
    uint8_t *png;
    for (size_t keep = 0; keep < n;
         keep += keep + 40 < n ? 37 : 1) // also a file without its end-of-image marker only
        CHECK_FAILS(sr_image_decode(jpeg, keep, pool, &image), SR_ERR_IO, "");
    free(jpeg);
    png = fixture_png(source.rgb, 40, 40, 3, &n);
    for (size_t keep = 0; keep < n; keep += 37)
        CHECK_FAILS(sr_image_decode(png, keep, pool, &image), SR_ERR_IO, "");
    png[17] ^= 1; // the width changes, so the header's checksum is wrong
    CHECK_FAILS(sr_image_decode(png, n, pool, &image), SR_ERR_IO, "");
    free(png);
    sr_image_pool_free(pool);
}

// Damaged bytes decode to some pixels or give an error. They never crash, and the result depends
// on the bytes only.
static void damage(const uint8_t *file, size_t n, uint64_t seed) {
    uint8_t *copy = malloc(n);
    CHECK(copy != NULL);
    SrImagePool *other;
    CHECK_OK(sr_image_pool_new(&other));
    // Old content of the pool must not show.
    memset(sr_image_pool_take(other, 1 << 20), 0xEE, 1 << 20);
    for (uint64_t round = 0; round < 300; round++) {
        SrRng rng = sr_rng(seed, SR_RNG_TEST, round, 0, 0, 0);
        memcpy(copy, file, n);
        for (uint32_t k = 1 + sr_rng_below(&rng, 8); k > 0; k--)
            copy[sr_rng_below(&rng, (uint32_t)n)] = (uint8_t)sr_rng_u32(&rng);
        SrImage a, b;
        sr_image_pool_reset(pool);
        sr_image_pool_reset(other);
        SrStatus first = sr_image_decode(copy, n, pool, &a),
                 second = sr_image_decode(copy, n, other, &b);
        CHECK_INT(first, second);
        CHECK(first == SR_OK || first == SR_ERR_IO);
        if (first == SR_OK)
            CHECK(a.H == b.H && a.W == b.W &&
                  memcmp(a.rgb, b.rgb, (size_t)a.H * (size_t)a.W * 3) == 0);
    }
    sr_image_pool_free(other);
    free(copy);
}

TEST(test_damaged_files) {
    CHECK_OK(setup());
    uint8_t pixels[24 * 31 * 4], palette[12];
    fixture_noise(pixels, sizeof pixels, 3);
    fixture_noise(palette, sizeof palette, 4);
    size_t n;
    void *file = fixture_jpeg(pixels, 24, 31, 3, &n);
    damage(file, n, 1);
    free(file);
    file = fixture_png(pixels, 24, 31, 4, &n);
    damage(file, n, 2);
    free(file);
    file = fixture_raw_png(20, 30, 8, 3, palette, 12, pixels, 31, &n);
    damage(file, n, 3);
    free(file);
    sr_image_pool_free(pool);
}

TEST(test_no_heap_once_warm) {
    CHECK_OK(setup());
    SrImage source = fixture_gradient(pool, 120, 100), image;
    size_t n, m;
    void *jpeg = fixture_jpeg(source.rgb, 120, 100, 3, &n),
         *png = fixture_png(source.rgb, 120, 100, 3, &m);
    int64_t calls = 0;
    for (int i = 0; i < 6; i++) {
        if (i == 3)
            calls = sr_mem_calls();
        sr_image_pool_reset(pool);
        CHECK_OK(sr_image_decode(jpeg, n, pool, &image));
        CHECK_OK(sr_image_decode(png, m, pool, &image));
    }
    CHECK_INT(sr_mem_calls(), calls);
    free(jpeg);
    free(png);
    sr_image_pool_free(pool);
}

// JPEG files that Pillow wrote and the pixels that it reads from them: CMYK in Adobe's
// convention, progressive, grey, and 4:2:2 with an EXIF orientation, which exif_transpose obeys.
// The pixels are equal with libjpeg-turbo and close with stb_image.
TEST(test_kinds_of_jpeg) {
    static const char *const names[] = {"cmyk", "progressive", "gray", "turned"};
    int levels = strcmp(sr_image_decoder_name(), "libjpeg-turbo") == 0 ? 0 : 10;
    CHECK_OK(setup());
    for (int k = 0; k < SR_COUNT(names); k++) {
        char path[64], *jpeg, *ppm;
        size_t n, m;
        SrImage image;
        snprintf(path, sizeof path, "tests/data/files/%s.jpg", names[k]);
        CHECK_OK(sr_file_read(path, 1 << 16, &jpeg, &n));
        snprintf(path, sizeof path, "tests/data/files/%s.ppm", names[k]);
        CHECK_OK(sr_file_read(path, 1 << 16, &ppm, &m));
        CHECK_OK(sr_image_decode(jpeg, n, pool, &image));
        bool turned = strcmp(names[k], "turned") == 0;
        CHECK(image.H == (turned ? 21 : 13) && image.W == (turned ? 13 : 21) && m > 13 * 21 * 3);
        const uint8_t *want = (const uint8_t *)ppm + m - 13 * 21 * 3;
        for (int i = 0; i < 13 * 21 * 3; i++)
            CHECK_NEAR(image.rgb[i], want[i], levels);
        sr_free(jpeg);
        sr_free(ppm);
    }
    sr_image_pool_free(pool);
}

SR_TESTS(decode, unit(test_png_exact), unit(test_png_depths), unit(test_jpeg_near),
         unit(test_refused_before_decoding), unit(test_cut_off_is_refused),
         unit(test_damaged_files), unit(test_no_heap_once_warm), unit(test_kinds_of_jpeg))
