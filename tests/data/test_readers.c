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

#define in_folder(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

SR_TESTS(readers, in_folder(test_pillows_pixels), in_folder(test_turned_and_reduced),
         in_folder(test_pages), in_folder(test_list_of_pages), in_folder(test_heif),
         in_folder(test_heif_limits), in_folder(test_bounds), in_folder(test_damaged),
         in_folder(test_exif))
