// Tests sslrun segment as a user calls it: pictures in the size of their images, tables, one sheet
// and one page, equal files for any number of threads, and mistakes.
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "data/decode.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/folder/scene.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

static ProgramResult result; // two large texts: too large for the stack of a test

#define RUN(...) program_run(&result, 1, (const char *const[]){__VA_ARGS__, NULL})
#define RUN3(...) program_run(&result, 3, (const char *const[]){__VA_ARGS__, NULL})

typedef struct {
    char dir[64], images[96], masks[96], a[128], b[128];
} Fixture;

static void begin(Fixture *f, int n) {
    temp_dir_make(f->dir);
    scene_write_folder(f->dir, n);
    snprintf(f->images, sizeof f->images, "%s/images", f->dir);
    snprintf(f->masks, sizeof f->masks, "%s/masks", f->dir);
    snprintf(f->a, sizeof f->a, "%s/a", f->dir);
    snprintf(f->b, sizeof f->b, "%s/b", f->dir);
}

static void expect(int code, const char *text) {
    if (result.code != code || !strstr(code ? result.err : result.out, text))
        fail_msg("expected exit code %d and \"%s\", got %d and:\n%s%s", code, text, result.code,
                 result.out, result.err);
}

static void expect_equal_files(const char *a, const char *b) {
    char *x, *y;
    size_t n, m;
    CHECK_OK(sr_file_read(a, 1 << 24, &x, &n));
    CHECK_OK(sr_file_read(b, 1 << 24, &y, &m));
    CHECK(n > 500 && n == m && memcmp(x, y, n) == 0);
    sr_free(x);
    sr_free(y);
}

static void expect_size(const char *folder, const char *name, int h, int w) {
    size_t n;
    SrImage image;
    char *bytes = fixture_read(folder, name, &n);
    CHECK_OK(sr_image_open(bytes, n, &image));
    CHECK_INT(image.H, h);
    CHECK_INT(image.W, w);
    sr_free(bytes);
}

// The first scene has 64 x 48 pixels, the second 71 x 53.
TEST(test_pca) {
    Fixture f;
    char page[160], sheet[2][160];
    begin(&f, 5);
    snprintf(page, sizeof page, "%s/page.html", f.dir);
    snprintf(sheet[0], sizeof sheet[0], "%s/one.png", f.dir);
    snprintf(sheet[1], sizeof sheet[1], "%s/three.png", f.dir);
    RUN("segment", "pca", f.images, "--model", "resnet18", "--layers", "res2", "--size", "64",
        "--out", f.a, "--page", page, "--sheet", sheet[0]);
    expect(0, "5 images; res2, 16 x 16 patches of each\nthree directions hold ");
    expect(0, "one.png\n");
    expect(0, "000001_images_1.png  ");
    expect_size(f.a, "000000_images_0.png", 64, 48);
    expect_size(f.a, "000001_images_1.png", 71, 53);
    RUN3("segment", "pca", f.images, "--model", "resnet18", "--layers", "res2", "--size", "64",
         "--out", f.b, "--sheet", sheet[1]);
    CHECK_INT(result.code, 0);
    expect_equal_files(sheet[0], sheet[1]);
    RUN("segment", "pca", f.images, "--model", "resnet18", "--size", "64", "--foreground",
        "--sheet", sheet[1], "--json");
    CHECK_INT(result.code, 0);
    char *html;
    size_t n;
    CHECK_OK(sr_file_read(page, 1 << 24, &html, &n));
    CHECK(strstr(html, "<h1>Main directions of patches</h1>") &&
          strstr(html, "alt=\"images/4.png: "));
    sr_free(html);
    temp_dir_remove(f.dir);
}

TEST(test_cluster) {
    Fixture f;
    begin(&f, 5);
    RUN("segment", "cluster", "3", f.images, "--model", "resnet18", "--layers", "res2", "--size",
        "64", "--csv", "--out", f.a);
    expect(0, "segment_0,segment_1,segment_2,file\n");
    int rows = 0;
    for (const char *line = strchr(result.out, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
        double a, b, c;
        CHECK_INT(sscanf(line, "%lf,%lf,%lf,", &a, &b, &c), 3);
        CHECK_NEAR(a + b + c, 1, 2e-4);
        rows++;
    }
    CHECK_INT(rows, 5);
    expect_size(f.a, "000004_images_4.png", 71, 48);
    static ProgramResult one;
    one = result;
    RUN3("segment", "cluster", "3", f.images, "--model", "resnet18", "--layers", "res2", "--size",
         "64", "--csv", "--out", f.b);
    CHECK_STR(result.out, one.out);
    char first[200], second[200];
    snprintf(first, sizeof first, "%s/000002_images_2.png", f.a);
    snprintf(second, sizeof second, "%s/000002_images_2.png", f.b);
    expect_equal_files(first, second);
    RUN("segment", "cluster", "2", f.images, "--model", "resnet18", "--size", "32", "--json");
    expect(0, "{\"segment_0\": ");
    temp_dir_remove(f.dir);
}

TEST(test_probe) {
    Fixture f;
    char page[160];
    begin(&f, 10);
    snprintf(page, sizeof page, "%s/page.html", f.dir);
    RUN("segment", "probe", f.masks, f.images, "--model", "resnet18", "--layers", "res2", "--size",
        "64", "--steps", "100", "--page", page, "--out", f.a);
    expect(0, "3 classes; fitted to 8 images, judged on 2 held out; trunk by res2\n");
    expect(0, "16 x 16 x 64  untrained trunk, as drawn\n");
    expect(0, "64 x 64 x 3  colours of pixels\n");
    expect(0, "16 x 16 x 48  pixels of patches\n");
    expect(0, "class  IoU by the trunk, %  share of pixels, %\n    0  ");
    expect_size(f.a, "000004_images_4.png", 71, 48); // the fifth image is held out
    char *html;
    size_t n;
    CHECK_OK(sr_file_read(page, 1 << 24, &html, &n));
    CHECK(strstr(html, "<td>colours of pixels</td>") && strstr(html, "class 2"));
    sr_free(html);
    RUN("segment", "probe", f.masks, f.images, "--model", "resnet18", "--layers", "res2", "--size",
        "64", "--steps", "100", "--json");
    expect(0, "{\"miou\": ");
    expect(0, "\"iou_2\": ");
    static ProgramResult one;
    one = result;
    RUN3("segment", "probe", f.masks, f.images, "--model", "resnet18", "--layers", "res2", "--size",
         "64", "--steps", "100", "--json");
    CHECK_STR(result.out, one.out);
    temp_dir_remove(f.dir);
}

#define PROBE(masks) RUN("segment", "probe", masks, f.images, "--model", "resnet18", "--size", "32")

static void write_mask(const Fixture *f, const char *name, int h, int w, int kind) {
    uint8_t level[90 * 90 * 3];
    size_t n;
    for (int i = 0; i < h * w * 3; i++)
        level[i] = (uint8_t)(kind == 0 ? 255 * (i % 2) : kind == 1 ? i : 0);
    void *png = fixture_png(level, h, w, kind == 2 ? 3 : 1, &n);
    fixture_write(f->dir, name, png, n);
    sr_free(png);
}

TEST(test_masks) {
    Fixture f;
    char other[96], name[64];
    begin(&f, 5);
    PROBE("/none");
    expect(2, "/none: no such folder; expected masks, a PNG for each image");
    snprintf(other, sizeof other, "%s/other", f.dir);
    write_mask(&f, "other/0.png", 64, 48, 1);
    PROBE(other);
    expect(2, "4 of 5 images have no mask, such as ");
    expect(2, "/images/1.png: expected ");
    for (int i = 1; i < 5; i++) {
        snprintf(name, sizeof name, "other/%d.png", i);
        write_mask(&f, name, 64 + i % 3 * 7, 48 + i % 4 * 5, 1);
    }
    PROBE(other);
    expect(2, "have 255 different numbers, and 200 classes are the most: they look like pictures");
    for (int i = 0; i < 5; i++) { // 0 and 255
        snprintf(name, sizeof name, "other/%d.png", i);
        write_mask(&f, name, 64 + i % 3 * 7, 48 + i % 4 * 5, 0);
    }
    PROBE(other);
    expect(2, "have 1 class next to 255, which means ignored; at least 2 are needed (write 1 for");
    write_mask(&f, "other/3.png", 63, 60, 0);
    PROBE(other);
    expect(2, "other/3.png has 63 x 60 pixels, but its image ");
    expect(2, "images/3.png has 64 x 63 (height x width)");
    write_mask(&f, "other/2.png", 78, 58, 2);
    PROBE(other);
    expect(2, "other/2.png: the PNG has several channels; a mask has one");
    RUN("segment", "probe", f.masks, f.images, "--model", "resnet18", "--steps", "0");
    expect(2, "--steps needs at least 1");
    temp_dir_remove(f.dir);
}

// An image corresponds to itself, place by place.
TEST(test_match) {
    Fixture f;
    char a[128], b[128], sheet[128];
    double cosine, xa, ya, xb, yb;
    begin(&f, 2);
    snprintf(a, sizeof a, "%s/0.png", f.images);
    snprintf(b, sizeof b, "%s/1.png", f.images);
    snprintf(sheet, sizeof sheet, "%s/match.png", f.dir);
    RUN("segment", "match", a, a, "--model", "resnet18", "--layers", "res2", "--size", "64",
        "--csv", "--count", "500");
    expect(0, "cosine,x_a,y_a,x_b,y_b\n");
    int pairs = 0;
    for (const char *line = strchr(result.out, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
        CHECK_INT(sscanf(line, "%lf,%lf,%lf,%lf,%lf", &cosine, &xa, &ya, &xb, &yb), 5);
        CHECK_NEAR(cosine, 1, 1e-3);
        CHECK(xa == xb && ya == yb && xa < 48 && ya < 64);
        pairs++;
    }
    CHECK(pairs > 240);
    RUN("segment", "match", a, b, "--model", "resnet18", "--layers", "res2", "--size", "64",
        "--sheet", sheet, "--count", "5");
    expect(0, "match.png\n");
    expect_size(f.dir, "match.png", 480, 360 + 8 + 358);
    RUN("segment", "match", a, "/none.png", "--model", "resnet18");
    CHECK(result.code != 0 && strstr(result.err, "/none.png"));
    RUN("segment", "match", a, b, "--model", "resnet18", "--page", sheet);
    expect(2, "match draws one picture: name it by --sheet");
    temp_dir_remove(f.dir);
}

TEST(test_mistakes) {
    Fixture f;
    begin(&f, 2);
    RUN("segment");
    expect(2, "sslrun segment needs `pca DIR`");
    RUN("segment", "pca", f.images, "--model", "resnet18");
    expect(2, "sslrun segment pca writes pictures: say where by --sheet FILE.png");
    RUN("segment", "pca", f.images, "--sheet", f.a);
    expect(2, "the name should end in .png");
    RUN("segment", "pca", f.images, "--page", f.a);
    expect(2, "sslrun segment needs --model");
    RUN("segment", "pca", f.masks, "--model", "resnet18", "--size", "9999", "--page", f.a);
    expect(2, "--size 9999: expected 1 to 4096 pixels");
    RUN("segment", "pca", "/none", "--model", "resnet18", "--page", f.a);
    expect(2, "/none");
    RUN("segment", "cluster", "1", f.images, "--model", "resnet18");
    expect(2, "cluster 1: expected a number of segments from 2 to 64");
    RUN("segment", "cluster", "six", f.images, "--model", "resnet18");
    expect(2, "cluster six: expected a number of segments from 2 to 64");
    RUN("segment", "cluster", "64", f.images, "--model", "resnet18", "--size", "32");
    expect(2, "64");
    RUN("segment", "cluster", "3", f.images, "--model", "resnet18", "--layers", "res9");
    expect(2, "res9");
    RUN("segment", "cluster", "3", f.images, "--model", "resnet18", "--layers", "flatten");
    expect(2, "is no map of (rows, columns, channels)");
    RUN("segment", "cluster", "3", f.images, "--model", "resnet18", "--json", "--csv");
    expect(2, "--json and --csv are two forms of one list");
    RUN("segment", "cluster", "3", f.images, "--model", "resnet18", "--foreground");
    expect(2, "sslrun segment cluster does not read --foreground: leave it out");
    RUN("segment", "pca", f.images, "--model", "resnet18", "--seed", "3", "--page", f.a);
    expect(2, "sslrun segment pca does not read --seed");
    RUN("segment", "match", f.images, f.images, "--model", "resnet18", "--steps", "3");
    expect(2, "sslrun segment match does not read --steps");
    RUN("segment", "probe", f.masks, f.images, "--model", "resnet18", "--count", "3");
    expect(2, "sslrun segment probe does not read --count");
    CHECK(!sr_file_exists(f.a));
    temp_dir_remove(f.dir);
}

SR_TESTS(segment_verb, unit(test_pca), unit(test_cluster), unit(test_probe), unit(test_masks),
         unit(test_match), unit(test_mistakes))
