// Tests the readers of images with every allocation failing in turn, with files that are cut off
// after every byte, and with every byte of a file changed: a fault of the system is never taken for
// a bad image, and damage never for anything else.
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "data/readers/tiff_page.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/failures.h"
#include "tests/temp_dir.h"

enum { MOST_PIXELS = 1 << 16, CUTS = 150, CHANGED = 400 };

typedef struct {
    const char *bytes;
    size_t n;
    int channels; // 0: RGB
    bool large;   // more than MOST_PIXELS, so that the pixels were not decoded
} File;

static SrStatus decode(void *arg) {
    File *f = arg;
    SrImage image;
    SrImagePool *pool;
    SR_TRY(sr_image_pool_new(&pool));
    SrStatus status = sr_image_open(f->bytes, f->n, &image);
    f->large = status == SR_OK && (int64_t)image.H * image.W > MOST_PIXELS;
    if (status == SR_OK && !f->large) {
        image.channels = f->channels;
        status = sr_image_finish(&image, 1, pool);
    }
    sr_image_pool_free(pool);
    return status;
}

// Decodes damaged bytes, in memory of exactly their size.
static void decode_damaged(const File *f) {
    File copy = *f;
    char *exact = malloc(f->n ? f->n : 1);
    CHECK(exact != NULL);
    copy.bytes = memcpy(exact, f->bytes, f->n);
    int64_t live = sr_mem_live();
    SrStatus status = decode(&copy);
    CHECK(status == SR_OK || status == SR_ERR_IO || (f->channels && status == SR_ERR_CONFIG));
    CHECK_INT(sr_mem_live(), live);
    free(exact);
}

static size_t step_of(size_t n, size_t most) { return n > most ? n / most : 1; }

static void cut(File *f) {
    size_t n = f->n;
    for (size_t step = step_of(n, CUTS), at = 0; at < n; at += at < CUTS ? 1 : step) {
        f->n = at;
        decode_damaged(f);
    }
    f->n = n;
}

static void change(const File *f, char *bytes) {
    for (size_t step = step_of(f->n, CHANGED), at = 0; at < f->n; at += at < CHANGED ? 1 : step) {
        char old = bytes[at];
        const char values[] = {0, (char)0xFF, (char)(old ^ 1), (char)(old + 1), (char)(old ^ 0x80)};
        for (int i = 0; i < SR_COUNT(values); i++) {
            bytes[at] = values[i];
            decode_damaged(f);
        }
        bytes[at] = old;
    }
}

// Tries the files of a folder with these channels. Returns how many there were.
static int try_folder(const char *folder, int channels, const char *const *left_out) {
    int tried = 0;
    DIR *d = opendir(folder);
    CHECK(d != NULL);
    for (const struct dirent *e; (e = readdir(d));) {
        bool slow = strstr(e->d_name, ".heic") || strstr(e->d_name, ".avif");
        bool skipped = e->d_name[0] == '.';
        size_t n;
        for (int i = 0; left_out[i]; i++)
            skipped |= strstr(e->d_name, left_out[i]) != NULL;
        if (skipped)
            continue;
        char *bytes = fixture_read(folder, e->d_name, &n);
        File f = {bytes, n, channels, false};
        if (decode(&f) == SR_OK && !f.large) {
            CHECK(fail_allocations(decode, &f) > 0);
            if (!slow) {
                cut(&f);
                change(&f, bytes);
            }
            tried++;
        }
        sr_free(bytes);
    }
    closedir(d);
    return tried;
}

static char dir[64];

static int set_up(void **state) {
    (void)state;
    temp_dir_make(dir);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    temp_dir_remove(dir);
    return 0;
}

TEST(test_files) { CHECK(try_folder("tests/data/files", 0, (const char *const[]){NULL}) >= 7); }

TEST(test_pictures) {
    fixture_need_pillow();
    CHECK_INT(fixture_pillow("readers.py", dir), 0);
    CHECK(try_folder(dir, 0, (const char *const[]){".ppm", NULL}) >= 30);
}

// Chooses a page of a TIFF of which any byte may be wrong; SR_OK and SR_ERR_IO are the only ends.
static void choose_page(const char *bytes, size_t n, int page) {
    uint8_t *copy = malloc(n ? n : 1);
    CHECK(copy != NULL);
    memcpy(copy, bytes, n);
    SrStatus status = sr__tiff_page_choose(copy, n, page);
    CHECK(status == SR_OK || status == SR_ERR_IO);
    free(copy);
}

TEST(test_tiff_pages) {
    static const char *const names[] = {"pages.tif", "pages_big.tif"};
    fixture_need_pillow();
    CHECK_INT(fixture_pillow("readers.py", dir), 0);
    for (int i = 0; i < SR_COUNT(names); i++) {
        size_t n;
        char *bytes = fixture_read(dir, names[i], &n);
        for (size_t at = 0; at < n; at++) {
            char old = bytes[at];
            for (int page = 1; page <= 3; page++) {
                choose_page(bytes, at, page);
                for (int value = -1; value <= 1; value++) {
                    bytes[at] = (char)(value ? old + value : 0);
                    choose_page(bytes, n, page);
                }
                bytes[at] = (char)0xFF;
                choose_page(bytes, n, page);
                bytes[at] = old;
            }
        }
        sr_free(bytes);
    }
}

TEST(test_dicom) {
    fixture_need_pillow();
    if (fixture_pillow("dicom.py", dir) != 0)
        SKIP("/usr/bin/python3 has no pydicom", "apt-get install python3-pydicom");
    CHECK(try_folder(dir, 0, (const char *const[]){".ppm", ".f32", NULL}) >= 5);
    CHECK(try_folder(dir, 1, (const char *const[]){".ppm", ".f32", NULL}) >= 3);
}

TEST(test_channels) {
    static const int counts[] = {1, 3, 5};
    fixture_need_pillow();
    CHECK_INT(fixture_pillow("channels.py", dir), 0);
    for (int i = 0; i < SR_COUNT(counts); i++)
        CHECK(try_folder(dir, counts[i], (const char *const[]){".f32", NULL}) >= 1);
}

#define case_of(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
SR_TESTS(image_failures, case_of(test_files), case_of(test_pictures), case_of(test_tiff_pages),
         case_of(test_dicom), case_of(test_channels))
