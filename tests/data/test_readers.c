// Tests the readers of further image formats against Pillow's pixels (readers.py), pages of TIFF,
// orientations, and damaged files.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/text/text.h"
#include "data/dataset.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "data/readers/exif.h"
#include "data/readers/tiff_page.h"
#include "data/sets/source.h"
#include "gen/build.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/skip.h"
#include "tests/temp_dir.h"

static char dir[64];
static SrImagePool *pool;

static int set_up(void **state) {
    (void)state;
    temp_dir_make(dir);
    CHECK_OK(sr_image_pool_new(&pool));
    return fixture_pillow("readers.py", dir);
}

static int tear_down(void **state) {
    (void)state;
    sr_image_pool_free(pool);
    temp_dir_remove(dir);
    return 0;
}

static bool is_built(const char *name) {
    return !(strstr(name, ".tif") && !SR_TIFF) && !(strstr(name, ".webp") && !SR_WEBP);
}

// Every file that Pillow wrote has Pillow's pixels: exactly, except that stb_image's JPEG and the
// conversions of ink differ by some levels.
TEST(test_pillows_pixels) {
    int compared = 0;
    fixture_need_pillow();
    DIR *d = opendir(dir);
    CHECK(d != NULL);
    for (const struct dirent *e; (e = readdir(d));) {
        const char *name = e->d_name, *dot = strrchr(name, '.');
        char stem[300];
        SrImage image;
        size_t n;
        if (name[0] == '.' || !dot || strcmp(dot, ".ppm") == 0 || !is_built(name))
            continue;
        snprintf(stem, sizeof stem, "%.*s", (int)(dot - name), name);
        char *bytes = fixture_read(dir, name, &n);
        sr_image_pool_reset(pool);
        if (sr_image_decode(bytes, n, pool, &image) != SR_OK)
            fail_msg("%s: %s", name, sr_status_message());
        bool near = strstr(name, "ink") || (strstr(name, ".jpg") && !SR_TURBOJPEG);
        fixture_check_pixels(&image, dir, stem, near ? 10 : 0);
        sr_free(bytes);
        compared++;
    }
    closedir(d);
    CHECK(compared >= (SR_TIFF && SR_WEBP ? 65 : 30));
}

// A decoder at a reduced size gives the upright size too.
TEST(test_turned_and_reduced) {
    size_t n;
    SrImage image;
    fixture_need_pillow();
    char *bytes = fixture_read(dir, "turned6_jpeg.jpg", &n);
    CHECK_OK(sr_image_open(bytes, n, &image));
    CHECK(image.H == 21 && image.W == 13);
    CHECK_OK(sr_image_finish(&image, 4, pool));
    CHECK(SR_TURBOJPEG ? image.H == 6 && image.W == 4 : image.H == 21);
    sr_free(bytes);
}

TEST(test_pages) {
    static const char *const files[] = {"pages.tif", "pages_big.tif"};
    char path[300];
    const void *bytes;
    size_t n;
    int page = 0;
    CHECK_INT(sr__tiff_page_split("a/b.tif#12", &page), 7);
    CHECK_INT(page, 12);
    CHECK_INT(sr__tiff_page_split("b.TIFF#1", &page), 6);
    CHECK_INT(sr__tiff_page_split("b.tif#0", &page), 0);
    CHECK_INT(sr__tiff_page_split("b.tif#", &page), 0);
    CHECK_INT(sr__tiff_page_split("b.tif#2x", &page), 0);
    CHECK_INT(sr__tiff_page_split("b.png#2", &page), 0);
    CHECK_INT(sr__tiff_page_split("b.tif#99999999999999", &page), 0);
    fixture_need_pillow();
    if (!SR_TIFF)
        SKIP("this build reads no TIFF", "apt-get install libtiff-dev && make test");
    for (int i = 0; i < 2; i++) {
        SrImage image;
        snprintf(path, sizeof path, "%s/%s#2", dir, files[i]);
        sr_image_pool_reset(pool);
        CHECK_OK(sr__source_read_file(path, pool, &bytes, &n));
        CHECK_OK(sr_image_decode(bytes, n, pool, &image));
        fixture_check_pixels(&image, dir, "page2", 0);
        path[strlen(path) - 1] = '1';
        CHECK_OK(sr__source_read_file(path, pool, &bytes, &n));
        CHECK_OK(sr_image_decode(bytes, n, pool, &image));
        fixture_check_pixels(&image, dir, "pages", 0);
        path[strlen(path) - 1] = '3';
        CHECK_FAILS(sr__source_read_file(path, pool, &bytes, &n), SR_ERR_IO,
                    "the TIFF has 2 pages, and page 3 was asked for");
    }
}

// A list names pages of a file as it names files.
TEST(test_list_of_pages) {
    static const char lines[] = "pages.tif#1\npages.tif#2\n";
    const SrDataset *list;
    void *set;
    SrSample sample;
    SrImage image;
    fixture_need_pillow();
    if (!SR_TIFF)
        SKIP("this build reads no TIFF", "apt-get install libtiff-dev && make test");
    CHECK_OK(sr_dataset_find("disk_filelist", &list));
    const char *path = fixture_write(dir, "list.txt", lines, strlen(lines));
    SrDatasetConfig config = {.split = "TRAIN",
                              .data_path = path,
                              .label_path = "",
                              .remove_prefix = "",
                              .new_prefix = ""};
    CHECK_OK(sr_dataset_open(list, &config, &set));
    CHECK_OK(list->read(set, 1, pool, &sample));
    CHECK_OK(sr_image_decode(sample.encoded, sample.encoded_bytes, pool, &image));
    fixture_check_pixels(&image, dir, "page2", 0);
    sr_dataset_close(list, set);
}

// HEIC and AVIF that heif-enc wrote, with the pixels that heif-convert reads from them.
TEST(test_heif) {
    static const char *const names[] = {"photo.heic", "photo.avif", "turned.heic"};
    size_t n;
    SrImage image;
    for (int i = 0; i < SR_COUNT(names); i++) {
        char *bytes = fixture_read("tests/data/files", names[i], &n), stem[32];
        snprintf(stem, sizeof stem, "%.*s_%s", (int)strcspn(names[i], "."), names[i],
                 strchr(names[i], '.') + 1);
        sr_image_pool_reset(pool);
        if (!SR_HEIF)
            CHECK_FAILS(sr_image_decode(bytes, n, pool, &image), SR_ERR_IO,
                        "needs a build with libheif-dev");
        else {
            CHECK_OK(sr_image_decode(bytes, n, pool, &image));
            fixture_check_pixels(&image, "tests/data/files", stem, 2);
            CHECK_FAILS(sr_image_decode(bytes, n / 2, pool, &image), SR_ERR_IO, "HEIC or AVIF");
            CHECK_FAILS(sr_image_decode(bytes, 40, pool, &image), SR_ERR_IO, "HEIC or AVIF");
        }
        sr_free(bytes);
    }
}

// A HEIC that claims a part of 4 GiB is a bad image, and no lack of memory, which would end a run.
TEST(test_heif_limits) {
    enum { LENGTH = 135 }; // of the first item's data, in the box iloc
    size_t n;
    SrImage image;
    char *bytes = fixture_read("tests/data/files", "photo.heic", &n);
    CHECK(memcmp(bytes + LENGTH, "\0\0\2\x3e", 4) == 0);
    memset(bytes + LENGTH, 0xFF, 4);
    CHECK_FAILS(sr_image_decode(bytes, n, pool, &image), SR_ERR_IO,
                SR_HEIF ? "damaged HEIC or AVIF" : "needs a build with libheif-dev");
    sr_free(bytes);
}

static void refuse(const char *name, size_t at, const char *with, size_t with_n, const char *why) {
    size_t n;
    SrImage image;
    char *bytes = fixture_read(dir, name, &n);
    CHECK(at + with_n <= n);
    memcpy(bytes + at, with, with_n);
    CHECK_FAILS(sr_image_decode(bytes, n, pool, &image), SR_ERR_IO, why);
    sr_free(bytes);
}

// Sizes are bounded before memory is taken.
TEST(test_bounds) {
    fixture_need_pillow();
    refuse("bmp24.bmp", 18, "\xff\xff\xff\x7f", 4, "2147483647 x 13 pixels");
    refuse("bmp24.bmp", 18, "\xdc\xff\0\0\xdc\xff\0\0", 8, "in all");
    refuse("bmp24.bmp", 18, "\0\1\0\0", 4, "cut off");
    refuse("bmp24.bmp", 28, "\7", 1, "7 bits per pixel");
    refuse("bmp24.bmp", 30, "\1", 1, "is compressed (kind 1)");
    refuse("bmp8.bmp", 14, "\377\3", 2, "palette is cut off");
    refuse("pgm8.pgm", 3, "91", 2, "91 x 13 pixels, which");
    refuse("gif.gif", 6, "\377\377\377\377", 4, "65535 x 65535 pixels");
    refuse("gif.gif", 6, "\5", 1, "outside of its canvas");
    if (SR_TIFF) {
        size_t n;
        SrImage image;
        CHECK_FAILS(sr_image_decode("II*\0\010\0\0\0\0\0", 10, pool, &image), SR_ERR_IO,
                    "damaged TIFF");
        char *bytes = fixture_read(dir, "tiff_white.tif", &n);
        uint8_t *width = memmem(bytes, n, "\0\1\3\0\1\0\0\0\x15", 9);
        CHECK(width != NULL);
        width[8] = width[9] = 255;
        CHECK_FAILS(sr_image_decode(bytes, n, pool, &image), SR_ERR_IO, "65535 x 13 pixels");
        sr_free(bytes);
    }
}

// Damage gives an error or pixels that depend on the bytes only.
static void damage(const char *name, SrImagePool *other) {
    size_t n;
    char *file = fixture_read(dir, name, &n), *copy = sr_alloc(n);
    CHECK(copy != NULL);
    for (uint64_t round = 0; round < 150; round++) {
        SrRng rng = sr_rng(strlen(name), SR_RNG_TEST, round, 0, 0, 0);
        SrImage a, b;
        memcpy(copy, file, n);
        size_t keep = round % 5 == 4 ? sr_rng_below(&rng, (uint32_t)n) : n;
        for (uint32_t k = 1 + sr_rng_below(&rng, 6); k > 0; k--)
            copy[sr_rng_below(&rng, (uint32_t)n)] = (char)sr_rng_u32(&rng);
        if (sr_image_open(copy, keep, &a) == SR_OK && (int64_t)a.H * a.W > 1 << 22)
            continue; // large, and slow under a sanitizer
        sr_image_pool_reset(pool);
        memset(sr_image_pool_take(other, 1 << 18), (int)round, 1 << 18);
        sr_image_pool_reset(other);
        SrStatus first = sr_image_decode(copy, keep, pool, &a);
        CHECK_INT(first, sr_image_decode(copy, keep, other, &b));
        CHECK(first == SR_OK || first == SR_ERR_IO);
        if (first == SR_OK)
            CHECK(a.H == b.H && memcmp(a.rgb, b.rgb, (size_t)a.H * (size_t)a.W * 3) == 0);
    }
    sr_free(copy);
    sr_free(file);
}

TEST(test_damaged) {
    static const char *const names[] = {
        "bmp24.bmp",          "bmp8.bmp",        "bmp4.bmp",         "bmp32.bmp",
        "ppm8.pnm",           "pgm16.pgm16",     "gif.gif",          "gif_large.gif",
        "gif_interlaced.gif", "tiff_lzw.tif",    "tiff_tiles.tif",   "tiff_palette.tif",
        "tiff_jpeg.tif",      "tiff16_big.tif",  "tiff_fax.tif",     "tiff_deflate.tif",
        "turned6_tiff.tiff",  "turned5_png.png", "turned7_webp.webp"};
    SrImagePool *other;
    fixture_need_pillow();
    CHECK_OK(sr_image_pool_new(&other));
    for (int i = 0; i < SR_COUNT(names); i++)
        if (is_built(names[i]))
            damage(names[i], other);
    sr_image_pool_free(other);
}

TEST(test_exif) {
    uint8_t block[] = "Exif\0\0MM\0*\0\0\0\010\0\1\1\022\0\3\0\0\0\1\0\6\0\0";
    CHECK_INT(sr__exif_orientation(block, sizeof block - 1), 6);
    CHECK_INT(sr__exif_orientation(block + 6, sizeof block - 7), 6);
    CHECK_INT(sr__exif_orientation(block, 20), 1);
    block[13] = 0xFF; // the directory lies beyond the end
    CHECK_INT(sr__exif_orientation(block, sizeof block - 1), 1);
    CHECK_INT(sr__exif_orientation((const uint8_t *)"II*\0\377\377\377\377zz", 10), 1);
}

// Directories of little-endian files, and values that are no orientation.
TEST(test_exif_values) {
    uint8_t block[] = "II*\0\010\0\0\0\2\0\017\1\2\0\1\0\0\0\0\0\0\0\022\1\3\0\1\0\0\0\10\0\0";
    const size_t n = sizeof block; // with the zero at its end
    const int wrong[] = {0, 9, 255};
    CHECK_INT(sr__exif_orientation(block, n), 8);
    for (int i = 0; i < SR_COUNT(wrong); i++) {
        block[30] = (uint8_t)wrong[i];
        CHECK_INT(sr__exif_orientation(block, n), 1);
    }
    block[30] = 3;
    CHECK_INT(sr__exif_orientation(block, n), 3);
    CHECK_INT(sr__exif_orientation(block, 9), 1);
    CHECK_INT(sr__exif_orientation(block, n - 1), 1); // the second entry is cut off
    block[8] = 1;                                     // the directory ends before the orientation
    CHECK_INT(sr__exif_orientation(block, n), 1);
    block[8] = 0;
    CHECK_INT(sr__exif_orientation(block, n), 1);
    block[2] = '+';
    CHECK_INT(sr__exif_orientation(block, n), 1);
}

// ---- files built by hand ------------------------------------------------------------------------

static int make_pool(void **state) {
    (void)state;
    CHECK_OK(sr_image_pool_new(&pool));
    return 0;
}

static int free_pool(void **state) {
    (void)state;
    sr_image_pool_free(pool);
    return 0;
}

static SrStatus decode_text(const SrText *file, int channels, SrImage *out) {
    SR_TRY(sr_image_open(file->s, file->len, out));
    out->channels = channels;
    return sr_image_finish(out, 1, pool);
}

static SrStatus decode_pnm(const char *head, const char *pixels, size_t n, int channels,
                           SrImage *out) {
    SrText file = SR_TEXT_INIT;
    sr_text_add(&file, head);
    sr_text_addn(&file, pixels, n);
    SrStatus status = decode_text(&file, channels, out);
    sr_text_deinit(&file);
    return status;
}

// Samples of two bytes, comments, and levels above white.
TEST(test_pnm) {
    static const char grey[] = "\1\364\3\351"; // 500 and 1001 of 1000
    static const char color[] = "\0\0\377\377\177\377";
    SrImage image;
    CHECK_OK(decode_pnm("P5 # words\n2 # more\n1\n1000\n", grey, 4, 0, &image));
    CHECK(image.H == 1 && image.W == 2);
    CHECK(memcmp(image.rgb, "\x80\x80\x80\xff\xff\xff", 6) == 0);
    CHECK_OK(decode_pnm("P5 2 1 1000 ", grey, 4, 1, &image));
    CHECK(image.f[0] == 0.5f && image.f[1] == 1);
    CHECK_OK(decode_pnm("P6 1 1 65535\n", color, 6, 0, &image));
    CHECK(memcmp(image.rgb, "\x00\xff\x7f", 3) == 0);
    CHECK_OK(decode_pnm("P6 1 1 65535\n", color, 6, 3, &image));
    CHECK(image.f[0] == 0 && image.f[1] == 1 && image.f[2] > 0.4999f && image.f[2] < 0.5f);
    CHECK_FAILS(decode_pnm("P6 1 1 65535\n", color, 6, 2, &image), SR_ERR_IO,
                "the image has 3 channels, and DATA.CHANNELS is 2");
    static const char *const damaged[] = {"P5 # without an end", "P5 1 1 123456789 ", "P5 1 1 255",
                                          "P5 1 1 255x",         "P5 1 x 255 ",       "P5 #\n"};
    for (int i = 0; i < SR_COUNT(damaged); i++)
        CHECK_FAILS(decode_pnm(damaged[i], "", 0, 0, &image), SR_ERR_IO,
                    "the header of the PGM or PPM file is damaged or cut off");
    CHECK_FAILS(decode_pnm("P5 1 1 65536 ", "\0\0", 2, 0, &image), SR_ERR_IO,
                "white is level 65536");
    CHECK_FAILS(decode_pnm("P5 1 1 0 ", "\0\0", 2, 0, &image), SR_ERR_IO, "white is level 0");
    CHECK_FAILS(decode_pnm("P5 2 1 1000 ", grey, 3, 0, &image), SR_ERR_IO, "is cut off after");
}

static void add_short(SrText *out, int v) {
    sr_text_addn(out, (char[]){(char)v, (char)(v >> 8)}, 2);
}

// Writes a GIF whose codes are single indices, so that the table of strings only grows.
static void write_gif(SrText *out, int h, int w, int palette_bits, bool interlaced,
                      const uint8_t *indices) {
    uint32_t bits = 0;
    int n_bits = 0, size = 9, codes = 258;
    char block[256];
    int n = 0;
    sr_text_add(out, "GIF89a");
    add_short(out, w), add_short(out, h);
    add_short(out, palette_bits ? 0x80 | (palette_bits - 1) : 0), sr_text_addn(out, "\0", 1);
    for (int i = 0; palette_bits && i < 1 << palette_bits; i++)
        sr_text_addn(out, (char[]){(char)(i + 1), (char)(2 * i), 7}, 3);
    sr_text_addn(out, ",\0\0\0\0", 5);
    add_short(out, w), add_short(out, h);
    sr_text_addn(out, interlaced ? "\x40" : "\0", 1);
    sr_text_addn(out, "\10", 1); // codes of 9 bits
    for (int i = -1; i <= h * w; i++) {
        int code = i < 0 ? 256 : i < h * w ? indices[i] : 257; // clear, an index, the end
        bits |= (uint32_t)code << n_bits;
        for (n_bits += size; n_bits >= (i == h * w ? 1 : 8); n_bits -= 8, bits >>= 8) {
            block[n++] = (char)bits;
            if (n == 255) {
                sr_text_addn(out, "\377", 1), sr_text_addn(out, block, 255);
                n = 0;
            }
        }
        codes += i > 0 && codes < 4096; // the first index adds no string
        size += codes >= 1 << size && size < 12;
    }
    sr_text_addn(out, (char[]){(char)n}, 1);
    sr_text_addn(out, block, (size_t)n);
    sr_text_addn(out, "\0;", 2);
}

// More codes than the table holds, rows of an interlaced file that is lower than a pass, indices
// beyond the palette, and no palette at all.
TEST(test_gif) {
    static uint8_t indices[80 * 70];
    SrText file = SR_TEXT_INIT;
    SrImage image;
    for (int i = 0; i < SR_COUNT(indices); i++)
        indices[i] = (uint8_t)(i * 7 % 256);
    write_gif(&file, 80, 70, 0, false, indices);
    CHECK_OK(decode_text(&file, 0, &image));
    CHECK(image.H == 80 && image.W == 70);
    for (int i = 0; i < SR_COUNT(indices); i++)
        CHECK(image.rgb[3 * i] == indices[i] && image.rgb[3 * i + 2] == indices[i]);
    sr_text_deinit(&file);
    static const int rows[][9] = {{0}, {0, 1}, {0, 2, 1}, {0, 2, 1, 3}, {0, 4, 2, 1, 3}};
    for (int h = 1; h <= SR_COUNT(rows); h++) {
        write_gif(&file, h, 1, 0, true, indices + 1);
        CHECK_OK(decode_text(&file, 0, &image));
        for (int k = 0; k < h; k++)
            CHECK_INT(image.rgb[3 * rows[h - 1][k]], indices[1 + k]);
        sr_text_deinit(&file);
    }
    static const uint8_t two[] = {3, 4};
    write_gif(&file, 1, 2, 2, false, two); // of four colours
    CHECK_OK(decode_text(&file, 0, &image));
    CHECK(memcmp(image.rgb, "\4\6\7\0\0\0", 6) == 0);
    sr_text_deinit(&file);
}

typedef struct {
    int tag, type; // 3: 16 bits, 4: 32 bits
    uint32_t value;
} TiffTag;

// Writes a little-endian TIFF of one directory whose pixels lie at byte 8; the tags must rise.
static void write_tiff(SrText *out, const void *pixels, size_t n, const TiffTag *tags, int n_tags) {
    sr_text_addn(out, "II*\0", 4);
    add_short(out, (int)(8 + n)), add_short(out, 0);
    sr_text_addn(out, pixels, n);
    add_short(out, n_tags);
    for (int i = 0; i < n_tags; i++) {
        add_short(out, tags[i].tag), add_short(out, tags[i].type);
        add_short(out, 1), add_short(out, 0);
        add_short(out, (int)(tags[i].value & 0xFFFF)), add_short(out, (int)(tags[i].value >> 16));
    }
    sr_text_addn(out, "\0\0\0\0", 4);
}

enum {
    WIDTH = 256,
    HEIGHT,
    BITS,
    COMPRESSION,
    MEANING = 262,
    OFFSETS = 273,
    ORIENTATION,
    CHANNELS = 277,
    ROWS,
    COUNTS,
    TILE_WIDTH = 322,
    TILE_HEIGHT,
    TILE_OFFSETS,
    TILE_COUNTS,
    FORMAT = 339
};

static SrStatus decode_tiff(const TiffTag *tags, int n_tags, int channels, SrImage *out) {
    static const uint8_t pixels[16] = {10, 20, 30, 40, 50, 60, 70, 80};
    SrText file = SR_TEXT_INIT;
    write_tiff(&file, pixels, sizeof pixels, tags, n_tags);
    SrStatus status = decode_text(&file, channels, out);
    sr_text_deinit(&file);
    return status;
}

#define STRIP(bits, meaning, orientation, channels)                                              \
    {WIDTH, 3, 2}, {HEIGHT, 3, 2}, {BITS, 3, bits}, {COMPRESSION, 3, 1}, {MEANING, 3, meaning},  \
        {OFFSETS, 4, 8}, {ORIENTATION, 3, orientation}, {CHANNELS, 3, channels}, {ROWS, 3, 2}, { \
        COUNTS, 4, 16                                                                            \
    }
#define TILE(w, h)                                                                     \
    {WIDTH, 3, 2}, {HEIGHT, 3, 2}, {BITS, 3, 8}, {COMPRESSION, 3, 1}, {MEANING, 3, 1}, \
        {TILE_WIDTH, 4, w}, {TILE_HEIGHT, 4, h}, {TILE_OFFSETS, 4, 8}, {               \
        TILE_COUNTS, 4, 16                                                             \
    }

TEST(test_tiff) {
    SrImage image;
    if (!SR_TIFF)
        SKIP("this build reads no TIFF", "apt-get install libtiff-dev && make test");
    const TiffTag plain[] = {STRIP(8, 1, 1, 1)}, turned[] = {STRIP(8, 1, 9, 1)};
    CHECK_OK(decode_tiff(plain, SR_COUNT(plain), 0, &image));
    CHECK(image.H == 2 && image.W == 2 && image.rgb[0] == 10 && image.rgb[9] == 40);
    CHECK_OK(decode_tiff(turned, SR_COUNT(turned), 0, &image)); // 9 is no orientation
    CHECK(image.rgb[0] == 10 && image.rgb[9] == 40);
    const TiffTag two[] = {STRIP(8, 1, 1, 2)}; // grey and one more channel
    CHECK_OK(decode_tiff(two, SR_COUNT(two), 2, &image));
    CHECK(image.f[0] == 10 / 255.0f && image.f[7] == 80 / 255.0f);
    const TiffTag half[] = {STRIP(16, 1, 1, 1), {FORMAT, 3, 3}};
    CHECK_FAILS(decode_tiff(half, SR_COUNT(half), 0, &image), SR_ERR_IO, "16-bit float samples");
    CHECK_FAILS(decode_tiff(half, SR_COUNT(half), 1, &image), SR_ERR_IO, "16-bit float samples");
    const TiffTag negative[] = {STRIP(8, 1, 1, 1), {FORMAT, 3, 2}};
    CHECK_FAILS(decode_tiff(negative, SR_COUNT(negative), 0, &image), SR_ERR_IO,
                "8-bit integer samples");
    static const uint32_t sides[][2] = {
        {16, 1 << 17}, {1 << 17, 16}, {60000, 60000}, {0, 16}, {16, 0}};
    for (int i = 0; i < SR_COUNT(sides); i++) {
        const TiffTag tiles[] = {TILE(sides[i][0], sides[i][1])};
        CHECK_FAILS(decode_tiff(tiles, SR_COUNT(tiles), 0, &image), SR_ERR_IO, "TIFF");
    }
}

// Directories whose end or number of entries lies beyond the file; sr__tiff_page_choose leaves a
// file that is no TIFF as it is.
TEST(test_tiff_directories) {
    static const struct {
        const char *bytes;
        size_t n;
        int page;
        const char *message; // NULL: nothing is refused
    } cases[] = {
        {"II*\0\10\0\0", 7, 1, NULL},
        {"II+\0\10\0\0\0\20\0\0\0\0\0\0", 15, 1, NULL}, // BigTIFF, too short
        {"II,\0\10\0\0\0", 8, 1, NULL},
        {"XX*\0\10\0\0\0", 8, 1, NULL},
        {"II*\0\0\0\0\0", 8, 1, "the TIFF has 0 pages, and page 1 was asked for"},
        {"II*\0\7\0\0\0", 8, 2, "the TIFF is damaged after its page 1"}, // no room for a number
        {"II*\0\10\0\0\0\1\0", 10, 2, "the TIFF is damaged after its page 1"},
        {"II*\0\10\0\0\0\0\0\0\0", 12, 2, "the TIFF is damaged after its page 1"},
        {"MM\0*\0\0\0\10\0\0\0\0\0\0", 14, 2, "the TIFF has 1 page, and page 2 was asked"},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        uint8_t copy[16];
        memcpy(copy, cases[i].bytes, cases[i].n);
        SrStatus status = sr__tiff_page_choose(copy, cases[i].n, cases[i].page);
        if (status != (cases[i].message ? SR_ERR_IO : SR_OK) ||
            (cases[i].message && !strstr(sr_status_message(), cases[i].message)))
            fail_msg("case %d: %d %s", i, (int)status, sr_status_message());
        CHECK(cases[i].message || memcmp(copy, cases[i].bytes, cases[i].n) == 0);
    }
    int page = 0;
    CHECK_INT(sr__tiff_page_split("tif#1", &page), 0);
    CHECK_INT(sr__tiff_page_split(".tif#1", &page), 0);
    CHECK_INT(sr__tiff_page_split("b.tif", &page), 0);
}

#define in_folder(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define in_memory(f) cmocka_unit_test_setup_teardown(f, make_pool, free_pool)

SR_TESTS(readers, in_folder(test_pillows_pixels), in_folder(test_turned_and_reduced),
         in_folder(test_pages), in_folder(test_list_of_pages), in_folder(test_heif),
         in_folder(test_heif_limits), in_folder(test_bounds), in_folder(test_damaged),
         in_folder(test_exif), unit(test_exif_values), in_memory(test_pnm), in_memory(test_gif),
         in_memory(test_tiff), unit(test_tiff_directories))
