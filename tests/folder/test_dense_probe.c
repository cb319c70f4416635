// Tests probes of dense features on scenes of stripes: a trunk tells their directions apart, pixels
// do not; masks of images that cannot be read; bounds; the same figures for any number of threads.
#include "folder/patches/dense_probe.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "data/decode.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/folder/scene.h"
#include "tests/temp_dir.h"

enum { N = 15 };

typedef struct {
    char dir[64], images[96], masks[96];
    SrImageSet set;
    SrDenseReport *report, *again;
} Fixture;

static void begin(Fixture *f, int n) {
    temp_dir_make(f->dir);
    scene_write_folder(f->dir, n);
    fixture_write(f->dir, "images/broken.png", "no", 2);
    fixture_write(f->dir, "masks/broken.png", "no", 2); // never read
    snprintf(f->images, sizeof f->images, "%s/images", f->dir);
    snprintf(f->masks, sizeof f->masks, "%s/masks", f->dir);
    CHECK_OK(sr_image_set_open(f->images, &f->set));
    f->report = sr_calloc(1, sizeof *f->report);
    f->again = sr_calloc(1, sizeof *f->again);
}

static void end(Fixture *f) {
    sr_image_set_close(&f->set);
    sr_free(f->report);
    sr_free(f->again);
    temp_dir_remove(f->dir);
}

static SrDenseOptions options(const Fixture *f) {
    return (SrDenseOptions){.patches = {.model = "resnet18", .layers = "res2", .size = 64},
                            .masks = f->masks,
                            .steps = 300};
}

typedef struct {
    int64_t images, right, pixels;
} Seen;

static SrStatus see(void *arg, int64_t image, const SrMask *mask, const uint8_t *predicted) {
    Seen *s = arg;
    (void)image;
    for (int64_t p = 0; p < (int64_t)mask->h * mask->w; p++)
        s->right += mask->class[p] == predicted[p];
    s->pixels += (int64_t)mask->h * mask->w;
    s->images++;
    return SR_OK;
}

static double iou(const SrDenseReport *r, SrDenseRow row) {
    CHECK(r->score[row].has);
    return sr_confusion_mean_iou(&r->score[row].confusion);
}

TEST(test_stripes) {
    Fixture f;
    Seen seen = {0, 0, 0};
    begin(&f, N);
    SrDenseOptions o = options(&f);
    int threads = sr_parallel_threads();
    CHECK_OK(sr_dense_probe(&o, &f.set, f.report, see, &seen));
    const SrDenseReport *r = f.report;
    CHECK_INT(r->classes, SCENE_CLASSES);
    CHECK_INT(r->value[2], SCENE_FLAT);
    CHECK_INT(r->test, 3);
    CHECK_INT(r->train, 12);
    CHECK_INT(r->bad, 1);
    CHECK(r->drawn && !r->score[SR_DENSE_DRAWN].has); // resnet18 without weights
    CHECK_STR(sr_dense_row_name(r, SR_DENSE_TRUNK), "untrained trunk, as drawn");
    CHECK_STR(r->layers, "res2");
    CHECK_INT(r->score[SR_DENSE_TRUNK].dim, 64);
    CHECK_INT(r->score[SR_DENSE_COLORS].dim, 3);
    CHECK_INT(r->score[SR_DENSE_PIXELS].dim, 4 * 4 * 3);
    CHECK(iou(r, SR_DENSE_TRUNK) > 0.75);
    CHECK(iou(r, SR_DENSE_TRUNK) > iou(r, SR_DENSE_PIXELS) + 0.2);
    CHECK(iou(r, SR_DENSE_TRUNK) > iou(r, SR_DENSE_COLORS) + 0.2);
    CHECK_INT(seen.images, 3);
    CHECK_NEAR((double)seen.right / (double)seen.pixels,
               sr_confusion_accuracy(&r->score[SR_DENSE_TRUNK].confusion), 1e-12);
    sr_parallel_set_threads(threads == 1 ? 3 : 1);
    CHECK_OK(sr_dense_probe(&o, &f.set, f.again, NULL, NULL));
    sr_parallel_set_threads(threads);
    CHECK(memcmp(f.report->score, f.again->score, sizeof f.report->score) == 0);
    end(&f);
}

TEST(test_bounds) {
    Fixture f;
    begin(&f, 4);
    SrDenseOptions o = options(&f);
    CHECK_FAILS(sr_dense_probe(&o, &f.set, f.report, NULL, NULL), SR_ERR_CONFIG,
                "has 4 images that can be read and have a pixel with a class, at least 5 are ");
    o.masks = "/none";
    CHECK_FAILS(sr_dense_probe(&o, &f.set, f.report, NULL, NULL), SR_ERR_CONFIG,
                "/none: no such folder; expected masks");
    end(&f);
}

static void write_blank_mask(const Fixture *f, const char *name) {
    static uint8_t level[96 * 96];
    SrImage image;
    size_t n, file_bytes;
    char path[32];
    snprintf(path, sizeof path, "images/%s", name);
    char *file = fixture_read(f->dir, path, &file_bytes);
    CHECK_OK(sr_image_open(file, file_bytes, &image));
    CHECK(image.H * image.W <= SR_COUNT(level));
    memset(level, SR_CONFUSION_IGNORED, sizeof level);
    void *png = fixture_png(level, image.H, image.W, 1, &n);
    snprintf(path, sizeof path, "masks/%s", name);
    fixture_write(f->dir, path, png, n);
    sr_free(png);
    sr_free(file);
}

// An image without a class changes nothing but its count: the figures are those of a set without
// it.
TEST(test_blank_masks) {
    Fixture f;
    SrImageSet without;
    char path[128];
    begin(&f, 9);
    SrDenseOptions o = options(&f);
    o.steps = 20;
    write_blank_mask(&f, "1.png");
    write_blank_mask(&f, "4.png");
    CHECK_OK(sr_dense_probe(&o, &f.set, f.report, NULL, NULL));
    CHECK_INT(f.report->blank, 2);
    CHECK_INT(f.report->bad, 1);
    CHECK_INT(f.report->test, 1);
    CHECK_INT(f.report->train, 6);
    CHECK_INT(f.report->classes, SCENE_CLASSES);
    snprintf(path, sizeof path, "%s/1.png", f.images);
    CHECK_OK(sr_file_remove(path));
    snprintf(path, sizeof path, "%s/4.png", f.images);
    CHECK_OK(sr_file_remove(path));
    CHECK_OK(sr_image_set_open(f.images, &without));
    CHECK_OK(sr_dense_probe(&o, &without, f.again, NULL, NULL));
    CHECK_INT(f.again->blank, 0);
    CHECK(memcmp(f.report->score, f.again->score, sizeof f.report->score) == 0);
    sr_image_set_close(&without);
    end(&f);
}

SR_TESTS(dense_probe, unit(test_stripes), unit(test_bounds), unit(test_blank_masks))
