// Tests the index of a folder: rows of a model, updates that embed new and changed files only,
// and updates that were stopped.
#include "folder/index/index_update.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stop.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/temp_dir.h"

enum { SIDE = 20 };

typedef struct {
    char dir[64], images[96], file[128];
    SrEmbedder *embedder;
} Fixture;

static void write_image(const Fixture *f, const char *name, int seed) {
    uint8_t pixels[SIDE * SIDE * 3];
    char path[256];
    size_t bytes;
    fixture_noise(pixels, sizeof pixels, (uint64_t)seed);
    void *png = fixture_png(pixels, SIDE, SIDE, 3, &bytes);
    snprintf(path, sizeof path, "images/%s", name);
    fixture_write(f->dir, path, png, bytes);
    sr_free(png);
}

static void begin(Fixture *f) {
    temp_dir_make(f->dir);
    snprintf(f->images, sizeof f->images, "%s/images", f->dir);
    snprintf(f->file, sizeof f->file, "%s/x.index", f->dir);
    for (int i = 0; i < 6; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s/%d.png", i % 2 ? "dog" : "cat", i);
        write_image(f, name, i);
    }
    write_image(f, "dog/line\nbreak \xc3\xbc.png", 6);
    CHECK_OK(sr_embedder_open(&(SrEmbedOptions){.model = "pixels"}, &f->embedder));
}

static void end(Fixture *f) {
    sr_embedder_close(f->embedder);
    temp_dir_remove(f->dir);
}

static SrStatus update(const Fixture *f, SrIndexReport *report, SrIndex **out) {
    const SrIndexOptions o = {.data = f->images, .file = f->file};
    return sr_index_update(f->embedder, &o, report, out);
}

static void check_report(const SrIndexReport *r, int rows, int added, int changed, int removed,
                         int embedded) {
    CHECK_INT(r->rows, rows);
    CHECK_INT(r->added, added);
    CHECK_INT(r->changed, changed);
    CHECK_INT(r->removed, removed);
    CHECK_INT(r->embedded, embedded);
}

static int64_t find(const Fixture *f, const SrIndex *index, const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", f->images, name);
    return sr_index_find(index, path);
}

TEST(test_rows_and_labels) {
    Fixture f;
    SrIndex *index;
    SrIndexReport report;
    begin(&f);
    CHECK_OK(update(&f, &report, &index));
    check_report(&report, 7, 7, 0, 0, 7);
    CHECK_INT(sr_index_rows(index), 7);
    CHECK_INT(sr_index_dim(index), 32 * 32 * 3);
    CHECK_INT(sr_index_classes(index), 2);
    CHECK_STR(sr_index_class(index, 1), "dog");
    int64_t odd = find(&f, index, "dog/line\nbreak \xc3\xbc.png");
    CHECK(odd >= 0);
    CHECK_INT(sr_index_label(index, odd), 1);
    CHECK_INT(sr_index_label(index, find(&f, index, "cat/2.png")), 0);
    // Blocks, single rows and products agree, and rows have length 1.
    int d = sr_index_dim(index);
    float *x = sr_alloc(7 * (size_t)d * sizeof *x), *y = sr_alloc((size_t)d * sizeof *y), p[7];
    sr_index_read(index, 0, 7, x);
    for (int64_t i = 0; i < 7; i++) {
        sr_index_take(index, &i, 1, y);
        CHECK(memcmp(y, x + i * d, (size_t)d * sizeof *x) == 0);
        sr_index_products(index, y, 0, 7, p);
        CHECK_NEAR(p[i], 1, 1e-3);
        for (int k = 0; k < 7; k++)
            CHECK(k == i || p[k] < 0.99f);
    }
    sr_free(x);
    sr_free(y);
    sr_index_close(index);
    end(&f);
}

TEST(test_updates_embed_what_changed) {
    Fixture f;
    SrIndex *index;
    SrIndexReport report;
    struct stat before, after;
    char path[256];
    begin(&f);
    CHECK_OK(update(&f, &report, &index));
    sr_index_close(index);
    CHECK(stat(f.file, &before) == 0);
    CHECK_OK(update(&f, &report, &index)); // nothing to do, and nothing is written
    check_report(&report, 7, 0, 0, 0, 0);
    sr_index_close(index);
    CHECK(stat(f.file, &after) == 0);
    CHECK(after.st_size == before.st_size && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
    write_image(&f, "cat/7.png", 7);
    write_image(&f, "cat/0.png", 100);
    snprintf(path, sizeof path, "%s/dog/1.png", f.images);
    CHECK(unlink(path) == 0);
    CHECK_OK(update(&f, &report, &index));
    check_report(&report, 7, 1, 1, 1, 2);
    CHECK(find(&f, index, "dog/1.png") < 0 && find(&f, index, "cat/7.png") >= 0);
    sr_index_close(index);
    // Same bytes with another time: the row is kept without the model.
    write_image(&f, "cat/0.png", 100);
    snprintf(path, sizeof path, "%s/cat/0.png", f.images);
    const struct timespec times[2] = {{1000, 0}, {1000, 0}};
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
    CHECK_OK(update(&f, &report, &index));
    check_report(&report, 7, 0, 0, 0, 0);
    sr_index_close(index);
    end(&f);
}

TEST(test_bad_images) {
    Fixture f;
    SrIndex *index;
    SrIndexReport report;
    begin(&f);
    fixture_write(f.dir, "images/cat/broken.png", "\x89PNG\r\n\x1a\n broken", 16);
    SrLogLevel level = sr_log_set_level(SR_LOG_ERROR);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(update(&f, &report, &index));
        check_report(&report, 7, i ? 0 : 7, 0, 0, i ? 0 : 7);
        CHECK_INT(report.bad, 1);
        sr_index_close(index);
    }
    write_image(&f, "cat/broken.png", 50);
    CHECK_OK(update(&f, &report, &index));
    check_report(&report, 8, 0, 1, 0, 1);
    sr_index_close(index);
    sr_log_set_level(level);
    end(&f);
}

// One image is a folder's index; a folder whose images are all broken has none.
TEST(test_fewest_images) {
    Fixture f;
    SrIndex *index = NULL;
    SrIndexReport report;
    temp_dir_make(f.dir);
    snprintf(f.images, sizeof f.images, "%s/images", f.dir);
    snprintf(f.file, sizeof f.file, "%s/x.index", f.dir);
    CHECK_OK(sr_embedder_open(&(SrEmbedOptions){.model = "pixels"}, &f.embedder));
    write_image(&f, "only.png", 1);
    CHECK_OK(update(&f, &report, &index));
    check_report(&report, 1, 1, 0, 0, 1);
    CHECK_INT(sr_index_rows(index), 1);
    sr_index_close(index);
    SrLogLevel level = sr_log_set_level(SR_LOG_ERROR);
    fixture_write(f.dir, "images/only.png", "\x89PNG\r\n\x1a\n broken", 16);
    CHECK_FAILS(update(&f, &report, &index), SR_ERR_CONFIG, "no image could be read");
    CHECK(index == NULL);
    sr_log_set_level(level);
    end(&f);
}

static int stop_now(void *arg) {
    int *left = arg;
    return (*left)-- <= 0;
}

// 300 images are two batches: the first is kept, and the next update embeds the second.
TEST(test_stopped_updates_resume) {
    Fixture f;
    SrIndex *index;
    SrIndexReport report;
    int batches = 0;
    begin(&f);
    for (int i = 0; i < 293; i++) {
        char name[64];
        snprintf(name, sizeof name, "cat/more-%d.png", i);
        write_image(&f, name, 1000 + i);
    }
    sr_stop_set(stop_now, &batches);
    CHECK(update(&f, &report, &index) == SR_ERR_INTERRUPT);
    sr_stop_set(NULL, NULL);
    CHECK_FAILS(sr_index_open(f.file, &index), SR_ERR_CONFIG, "not finished");
    CHECK_OK(update(&f, &report, &index));
    CHECK_INT(report.embedded, 300 - sr_embedder_batch(f.embedder));
    CHECK_INT(report.rows, 300);
    sr_index_close(index);
    end(&f);
}

TEST(test_other_models_are_refused) {
    Fixture f;
    SrIndex *index;
    begin(&f);
    CHECK_OK(update(&f, NULL, &index));
    sr_index_close(index);
    SrIndexOptions o = {.data = f.images, .file = f.file, .look = SR_LOOK_MIRRORED};
    CHECK_FAILS(sr_index_update(f.embedder, &o, NULL, &index), SR_ERR_CONFIG, "another model");
    end(&f);
}

SR_TESTS(index, unit(test_rows_and_labels), unit(test_updates_embed_what_changed),
         unit(test_bad_images), unit(test_fewest_images), unit(test_stopped_updates_resume),
         unit(test_other_models_are_refused))
