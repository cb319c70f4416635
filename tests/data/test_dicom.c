// Tests DICOM files that pydicom wrote, against its pixels (dicom.py), and damaged ones.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "data/readers/dicom.h"
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
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    sr_image_pool_free(pool);
    temp_dir_remove(dir);
    return 0;
}

static void write_files(void) {
    char line[200];
    if (system("/usr/bin/python3 -c 'import pydicom, numpy, PIL' 2>/dev/null") != 0)
        SKIP("/usr/bin/python3 has no pydicom",
             "apt-get install python3-pydicom python3-numpy python3-pil");
    snprintf(line, sizeof line, "/usr/bin/python3 -B tests/data/dicom.py %s", dir);
    CHECK_INT(system(line), 0);
}

static const char *const stems[] = {
    "grey8",    "few", "grey8_white", "grey12", "scan", "scan_implicit", "scan_big",
    "signed12", "rgb", "rgb_planes",  "ybr",    "film", "jpeg_grey",     "jpeg_color"};

TEST(test_pydicoms_pixels) {
    write_files();
    for (int i = 0; i < SR_COUNT(stems); i++) {
        char name[64];
        size_t n;
        SrImage image;
        bool jpeg = strstr(stems[i], "jpeg") != NULL;
        snprintf(name, sizeof name, "%s.dcm", stems[i]);
        char *bytes = fixture_read(dir, name, &n);
        sr_image_pool_reset(pool);
        if (sr_image_decode(bytes, n, pool, &image) != SR_OK)
            fail_msg("%s: %s", name, sr_status_message());
        fixture_check_pixels(&image, dir, stems[i], jpeg && !SR_TURBOJPEG ? 12 : 1);
        sr_free(bytes);
    }
}

// Floats are the levels before they are rounded to bytes.
TEST(test_floats) {
    write_files();
    for (int i = 0; i < SR_COUNT(stems); i++) {
        char name[64];
        size_t n;
        SrImage rgb, image;
        int between = 0;
        bool deep = strstr(stems[i], "12") || strstr(stems[i], "scan");
        snprintf(name, sizeof name, "%s.dcm", stems[i]);
        char *bytes = fixture_read(dir, name, &n);
        sr_image_pool_reset(pool);
        CHECK_OK(sr_image_decode(bytes, n, pool, &rgb));
        CHECK_OK(sr_image_open(bytes, n, &image));
        image.channels = 3;
        CHECK_OK(sr_image_finish(&image, 1, pool));
        CHECK(image.f && image.H == rgb.H && image.W == rgb.W);
        for (int k = 0; k < rgb.H * rgb.W * 3; k++) {
            float level = 255 * image.f[k];
            CHECK(level > (float)rgb.rgb[k] - 0.501f && level < (float)rgb.rgb[k] + 0.501f);
            between += level - floorf(level) > 0.01f && level - floorf(level) < 0.99f;
        }
        CHECK(!deep || between > 20);
        sr_free(bytes);
    }
}

// Every file that ends early is refused: the pixels are its last element.
TEST(test_cut_off) {
    write_files();
    for (int i = 0; i < SR_COUNT(stems); i++) {
        char name[64];
        size_t n;
        SrImage image;
        snprintf(name, sizeof name, "%s.dcm", stems[i]);
        if (strcmp(stems[i], "film") == 0) // its second frame is not read
            continue;
        char *bytes = fixture_read(dir, name, &n);
        for (size_t keep = 0; keep + 12 < n; keep += keep % 5 + 1)
            CHECK_FAILS(sr_image_decode(bytes, keep, pool, &image), SR_ERR_IO, "");
        sr_free(bytes);
    }
}

// Finds an element's value in an explicit little-endian file.
static uint8_t *value_of(char *bytes, size_t n, const char *head, size_t head_n) {
    char *at = NULL, *next = bytes; // the last one: a sequence has elements of the same names
    while ((next = memmem(next, n - (size_t)(next - bytes), head, head_n)))
        at = next++;
    CHECK(at != NULL);
    return (uint8_t *)at + 8;
}

TEST(test_refused) {
    size_t n;
    SrImage image;
    write_files();
    char *bytes = fixture_read(dir, "jpeg_lossless.dcm", &n);
    CHECK_FAILS(sr_image_decode(bytes, n, pool, &image), SR_ERR_IO,
                "the transfer syntax 1.2.840.10008.1.2.4.70, which is not supported");
    sr_free(bytes);
    bytes = fixture_read(dir, "grey8.dcm", &n);
    uint8_t *rows = value_of(bytes, n, "\x28\0\x10\0US\2\0", 8);
    uint8_t *depth = value_of(bytes, n, "\x28\0\0\1US\2\0", 8);
    uint8_t *stored = value_of(bytes, n, "\x28\0\1\1US\2\0", 8);
    uint8_t *meaning = value_of(bytes, n, "\x28\0\4\0CS", 6);
    rows[0] = rows[1] = 0xFF;
    CHECK_FAILS(sr_image_decode(bytes, n, pool, &image), SR_ERR_IO, "20 x 65535 pixels");
    rows[1] = 0;
    CHECK_FAILS(sr_image_decode(bytes, n, pool, &image), SR_ERR_IO, "cannot hold");
    rows[0] = 14;
    CHECK_FAILS(sr_image_decode(bytes, n, pool, &image), SR_ERR_IO, "damaged or cut off");
    rows[0] = 13;
    depth[0] = 32;
    CHECK_FAILS(sr_image_decode(bytes, n, pool, &image), SR_ERR_IO, "1 channels of 32 bits");
    depth[0] = 8;
    stored[0] = 0;
    CHECK_FAILS(sr_image_decode(bytes, n, pool, &image), SR_ERR_IO, "stores 0 bits");
    stored[0] = 8;
    memcpy(meaning, "PALETTE", 7);
    CHECK_FAILS(sr_image_decode(bytes, n, pool, &image), SR_ERR_IO, "has a palette");
    sr_free(bytes);
}

// Sequences nest to a bounded depth.
TEST(test_nesting) {
    static const char head[] = "DICM\2\0\x10\0UI\x14\0"
                               "1.2.840.10008.1.2.1";
    uint8_t file[132 + sizeof head + 40 * 12] = {0};
    SrImage image;
    memcpy(file + 128, head, sizeof head);
    size_t at = 128 + sizeof head;
    for (int i = 0; i < 40; i++, at += 12)
        memcpy(file + at, "\x08\0\x40\x11SQ\0\0\xFF\xFF\xFF\xFF", 12);
    CHECK(sr__dicom_is(file, sizeof file));
    CHECK_FAILS(sr_image_decode(file, at, pool, &image), SR_ERR_IO, "nested more than 16 deep");
}

// ---- files built by hand ------------------------------------------------------------------------

typedef struct {
    uint8_t bytes[1024];
    size_t n;
} Made;

static void add(Made *m, const void *bytes, size_t n) {
    CHECK(m->n + n <= sizeof m->bytes);
    if (n)
        memcpy(m->bytes + m->n, bytes, n);
    m->n += n;
}

// Adds an element of the explicit little-endian syntax.  Types of two letters and a star have
// lengths of four bytes; n < 0: the length is not known.
static void add_element(Made *m, int group, int element, const char *type, const void *value,
                        int n) {
    bool far = type[2] == '*';
    add(m,
        (uint8_t[]){(uint8_t)group, (uint8_t)(group >> 8), (uint8_t)element,
                    (uint8_t)(element >> 8)},
        4);
    add(m, type, 2);
    add(m, "\0\0", far ? 2 : 0);
    add(m, (uint8_t[]){(uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16), (uint8_t)(n >> 24)},
        far ? 4 : 2);
    add(m, value, n < 0 ? 0 : (size_t)n);
}

static void add_short(Made *m, int element, int v) {
    add_element(m, 0x28, element, "US", (uint8_t[]){(uint8_t)v, (uint8_t)(v >> 8)}, 2);
}

static void add_item(Made *m, const char *tag, const void *value, int n) {
    add(m, tag, 4);
    add(m, (uint8_t[]){(uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16), (uint8_t)(n >> 24)}, 4);
    add(m, value, n < 0 ? 0 : (size_t)n);
}

#define RAW "1.2.840.10008.1.2.1\0"
#define JPEG "1.2.840.10008.1.2.4.50"
#define ITEM_TAG "\xFE\xFF\x00\xE0"
#define END_TAG "\xFE\xFF\xDD\xE0"

// Begins a file of 1 x 4 pixels.
static Made begin(const char *syntax, int channels, int bits, const char *meaning) {
    Made m = {.n = 128};
    add(&m, "DICM", 4);
    add_element(&m, 2, 0x10, "UI", syntax, syntax[18] == '4' ? 22 : 20);
    add_short(&m, 0x2, channels);
    add_element(&m, 0x28, 0x4, "CS", meaning, (int)strlen(meaning));
    add_short(&m, 0x10, 1);
    add_short(&m, 0x11, 4);
    add_short(&m, 0x100, bits);
    add_short(&m, 0x101, bits);
    add_short(&m, 0x102, bits - 1);
    return m;
}

static SrStatus decode_made(Made *m, SrImage *out) {
    return sr_image_decode(m->bytes, m->n, pool, out);
}

// Windows, numbers of frames and slopes that are no numbers, or no sensible ones, do not count.
TEST(test_odd_numbers) {
    static const char *const windows[] = {"0", "-3", "x ", "", "1e999"};
    static const char *const frames[] = {"0 ", "x ", "2 ", "1e10", "-1", "1e999"};
    static const uint8_t pixels[] = {10, 20, 30, 40}, whole[] = {0, 85, 170, 255};
    SrImage image;
    for (int i = 0; i < SR_COUNT(windows) + SR_COUNT(frames); i++) {
        bool window = i < SR_COUNT(windows);
        const char *text = window ? windows[i] : frames[i - SR_COUNT(windows)];
        Made m = begin(RAW, 1, 8, "MONOCHROME2 ");
        if (window)
            add_element(&m, 0x28, 0x1050, "DS", "25", 2);
        add_element(&m, 0x28, window ? 0x1051 : 0x8, window ? "DS" : "IS", text, (int)strlen(text));
        add_element(&m, 0x28, 0x1052, "DS", "x ", 2);
        add_element(&m, 0x28, 0x1053, "DS", "x ", 2);
        add_element(&m, 0x29, 0, "OW*", NULL, 0); // an element that is not known
        add_element(&m, 0x7FE0, 0x10, "OW*", pixels, 4);
        CHECK_OK(decode_made(&m, &image));
        for (int k = 0; k < 4; k++)
            CHECK_INT(image.rgb[3 * k], whole[k]);
        CHECK_OK(sr_image_open(m.bytes, m.n, &image));
        image.channels = 4;
        CHECK_FAILS(sr_image_finish(&image, 1, pool), SR_ERR_IO, "DATA.CHANNELS is 4");
    }
}

static void refuse_kind(const char *syntax, int channels, int bits, const char *meaning,
                        const char *message) {
    static const uint8_t pixels[48] = {0};
    SrImage image;
    Made m = begin(syntax, channels, bits, meaning);
    add_element(&m, 0x7FE0, 0x10, "OW*", pixels, 48);
    CHECK_FAILS(decode_made(&m, &image), SR_ERR_IO, message);
}

TEST(test_kinds) {
    SrImage image;
    refuse_kind(RAW, 2, 8, "MONOCHROME2 ", "has 2 channels of 8 bits, expected");
    refuse_kind(RAW, 3, 16, "RGB ", "has 3 channels of 16 bits, expected");
    refuse_kind(JPEG, 1, 16, "MONOCHROME2 ", "has 1 channels of 16 bits, expected");
    refuse_kind(JPEG, 1, 8, "MONOCHROME2 ", "damaged or cut off"); // pixels of a known length
    refuse_kind(RAW, 3, 8, "YBR_FULL_422", "has a palette or another kind of colour");
    refuse_kind(RAW, 3, 8, "HSV ", "has a palette or another kind of colour");
    Made m = begin(RAW, 1, 8, "MONOCHROME2 ");
    add_element(&m, 0x7FE0, 0x10, "OB*", NULL, -1); // raw pixels of no length
    CHECK_FAILS(decode_made(&m, &image), SR_ERR_IO, "damaged or cut off");
    m = (Made){.n = 128};
    add(&m, "DICM", 4);
    add_element(&m, 2, 0x1, "OB*", NULL, -1); // facts of the file of no length
    CHECK_FAILS(decode_made(&m, &image), SR_ERR_IO, "damaged or cut off");
}

// The pixels of a JPEG lie in items after a table of offsets.
TEST(test_fragments) {
    static const char no_jpeg[] = "the pixels of the DICOM file are no JPEG";
    static const struct {
        const char *first, *second;
        int n_first, n_second;
        const char *data, *frames, *message;
    } cases[] = {
        {ITEM_TAG, ITEM_TAG, 0, 4, "\0\0\0\0", "1 ", no_jpeg},
        {ITEM_TAG, ITEM_TAG, 0, 4, "\xFF\0\0\0", "1 ", no_jpeg},
        {ITEM_TAG, ITEM_TAG, 0, 0, "", "1 ", no_jpeg},
        {ITEM_TAG, ITEM_TAG, 0, 4, "\0\0\0\0", "2 ", no_jpeg},
        {ITEM_TAG, ITEM_TAG, 0, 4, "\xFF\xD8\0\0", "1 ", "JPEG"},
        {ITEM_TAG, "\x28\0\0\0", 0, 4, "\xFF\xD8\0\0", "1 ", "damaged or cut off"},
        {ITEM_TAG, ITEM_TAG, 0, -1, "", "1 ", "damaged or cut off"},
        {"\x28\0\0\0", ITEM_TAG, 0, 4, "\xFF\xD8\0\0", "1 ", "damaged or cut off"},
        {ITEM_TAG, ITEM_TAG, -1, 4, "\xFF\xD8\0\0", "1 ", "damaged or cut off"},
        {ITEM_TAG, END_TAG, 0, 0, "", "1 ", no_jpeg},
        {END_TAG, ITEM_TAG, 0, 0, "", "1 ", "damaged or cut off"},
    };
    SrImage image;
    for (int i = 0; i < SR_COUNT(cases); i++) {
        Made m = begin(JPEG, 1, 8, "MONOCHROME2 ");
        add_element(&m, 0x28, 0x8, "IS", cases[i].frames, 2);
        add_element(&m, 0x7FE0, 0x10, "OB*", NULL, -1);
        add_item(&m, cases[i].first, "", cases[i].n_first);
        add_item(&m, cases[i].second, cases[i].data, cases[i].n_second);
        add_item(&m, END_TAG, "", 0);
        SrStatus status = decode_made(&m, &image);
        if (status != SR_ERR_IO || !strstr(sr_status_message(), cases[i].message))
            fail_msg("case %d: %d %s", i, (int)status, sr_status_message());
    }
}

TEST(test_damaged) {
    write_files();
    for (int i = 0; i < SR_COUNT(stems); i++) {
        char name[64];
        size_t n;
        snprintf(name, sizeof name, "%s.dcm", stems[i]);
        char *file = fixture_read(dir, name, &n);
        fixture_check_damaged(file, n, 132, 6, 150, (uint64_t)i);
        sr_free(file);
    }
}

#define in_folder(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

SR_TESTS(dicom, in_folder(test_pydicoms_pixels), in_folder(test_floats), in_folder(test_cut_off),
         in_folder(test_refused), in_folder(test_nesting), in_folder(test_odd_numbers),
         in_folder(test_kinds), in_folder(test_fragments), in_folder(test_damaged))
