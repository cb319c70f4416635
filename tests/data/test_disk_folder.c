// Tests the data set disk_folder: folders of classes and flat folders of images, links, and files
// that are no images.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/dataset.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "gen/build.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

static const SrDataset *source(void) {
    const SrDataset *d;
    CHECK_OK(sr_dataset_find("disk_folder", &d));
    return d;
}

static void write_png(const char *folder, const char *name, int level) {
    uint8_t pixels[4 * 5 * 3];
    size_t n;
    memset(pixels, level, sizeof pixels);
    void *png = fixture_png(pixels, 4, 5, 3, &n);
    fixture_write(folder, name, png, n);
    free(png);
}

static void *open_set(const char *path) {
    SrDatasetConfig config = {.split = "TRAIN", .data_path = path};
    void *set;
    CHECK_OK(sr_dataset_open(source(), &config, &set));
    return set;
}

static int level_of(void *set, int64_t i, SrImagePool *pool, const char *ending) {
    SrSample sample;
    SrImage image;
    CHECK_OK(source()->read(set, i, pool, &sample));
    CHECK(strlen(sample.path) > strlen(ending) &&
          strcmp(sample.path + strlen(sample.path) - strlen(ending), ending) == 0);
    CHECK_OK(sr_image_decode(sample.encoded, sample.encoded_bytes, pool, &image));
    CHECK_INT(image.H, 4);
    return image.rgb[0];
}

TEST(test_classes) {
    char dir[256];
    fixture_folder(dir);
    // Order is by bytes, upper case first. Files in deeper folders belong to their class, and
    // other files are skipped.
    write_png(dir, "cat/b.PNG", 2);
    write_png(dir, "cat/a.png", 1);
    write_png(dir, "cat/deep/er/z.jpeg", 3);
    write_png(dir, "Zebra/only.jpg", 4);
    fixture_write(dir, "cat/notes.txt", "x", 1);
    fixture_write(dir, "cat/.hidden.png", "x", 1);
    fixture_write(dir, ".cache/x.png", "x", 1);
    fixture_write(dir, "empty/readme", "x", 1);
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    void *set = open_set(dir);
    CHECK_INT(source()->length(set), 4);
    CHECK_INT(source()->classes(set), 2);
    CHECK_STR(source()->class_name(set, 0), "Zebra");
    CHECK_STR(source()->class_name(set, 1), "cat");
    CHECK_STR(source()->skipped(set), "2 other, 1 folder(s) without an image (empty)");
    static const int labels[4] = {0, 1, 1, 1}, levels[4] = {4, 1, 2, 3};
    static const char *const endings[4] = {"/Zebra/only.jpg", "/cat/a.png", "/cat/b.PNG",
                                           "/cat/deep/er/z.jpeg"};
    for (int i = 0; i < 4; i++) {
        CHECK_INT(source()->label(set, i), labels[i]);
        CHECK_INT(level_of(set, i, pool, endings[i]), levels[i]);
    }
    sr_dataset_close(source(), set);
    sr_image_pool_free(pool);
    fixture_remove(dir);
}

// Two images in the root next to the only class folder: a single class sorts nothing, so the
// images have no classes.
TEST(test_one_class_is_flat) {
    char dir[256];
    fixture_folder(dir);
    write_png(dir, "1.png", 1);
    write_png(dir, "2.png", 1);
    write_png(dir, "cat/a.png", 1);
    write_png(dir, "cat/b.png", 2);
    write_png(dir, "cat/c.png", 3);
    fixture_write(dir, "empty/readme", "x", 1);
    void *set = open_set(dir);
    CHECK_INT(source()->length(set), 5);
    CHECK_INT(source()->classes(set), 0);
    sr_dataset_close(source(), set);
    fixture_remove(dir);
}

TEST(test_flat) {
    char dir[256];
    fixture_folder(dir);
    write_png(dir, "b.png", 2);
    write_png(dir, "a.png", 1);
    write_png(dir, "more/c.png", 3);
    void *set = open_set(dir);
    CHECK_INT(source()->length(set), 3);
    CHECK_INT(source()->classes(set), 0);
    CHECK_INT(source()->label(set, 2), -1);
    sr_dataset_close(source(), set);
    fixture_remove(dir);
}

TEST(test_links) {
    char dir[256], link[300];
    fixture_folder(dir);
    write_png(dir, "a/x.png", 1);
    write_png(dir, "b/y.png", 1);
    snprintf(link, sizeof link, "%s/a/up", dir);
    CHECK(symlink("..", link) == 0); // leads back to the root
    snprintf(link, sizeof link, "%s/a/self", dir);
    CHECK(symlink(".", link) == 0);
    snprintf(link, sizeof link, "%s/all", dir);
    CHECK(symlink(".", link) == 0); // no class of its own
    void *set = open_set(dir);
    CHECK_INT(source()->length(set), 2);
    CHECK_INT(source()->classes(set), 2);
    CHECK_STR(source()->skipped(set), "2 link(s) back to a folder above");
    sr_dataset_close(source(), set);
    fixture_remove(dir);
}

// Links lead out of the folder, to files and to folders, as in torchvision's ImageFolder. A link
// to a missing file is an image that cannot be read.
TEST(test_links_out) {
    char dir[256], elsewhere[256], link[600], target[600];
    fixture_folder(dir);
    fixture_folder(elsewhere);
    write_png(dir, "a/x.png", 1);
    write_png(elsewhere, "b/y.png", 2);
    write_png(elsewhere, "z.png", 3);
    snprintf(target, sizeof target, "%s/b", elsewhere);
    snprintf(link, sizeof link, "%s/b", dir);
    CHECK(symlink(target, link) == 0);
    snprintf(target, sizeof target, "%s/z.png", elsewhere);
    snprintf(link, sizeof link, "%s/a/z.png", dir);
    CHECK(symlink(target, link) == 0);
    snprintf(link, sizeof link, "%s/b/nowhere.png", elsewhere);
    CHECK(symlink("gone.png", link) == 0);
    snprintf(link, sizeof link, "%s/c", dir); // a class folder that is a link to nothing
    CHECK(symlink("gone", link) == 0);
    SrImagePool *pool;
    SrSample sample;
    CHECK_OK(sr_image_pool_new(&pool));
    void *set = open_set(dir);
    CHECK_INT(source()->length(set), 4);
    CHECK_INT(source()->classes(set), 2);
    CHECK_INT(level_of(set, 1, pool, "/a/z.png"), 3);
    CHECK_FAILS(source()->read(set, 2, pool, &sample), SR_ERR_IO, "No such file");
    CHECK_INT(level_of(set, 3, pool, "/b/y.png"), 2);
    sr_dataset_close(source(), set);
    sr_image_pool_free(pool);
    fixture_remove(elsewhere);
    fixture_remove(dir);
}

// Folders more than 32 levels down are passed over, and the message says that it is for this.
TEST(test_deep_folders) {
    char dir[256], name[256] = "a";
    fixture_folder(dir);
    write_png(dir, "a/x.png", 1);
    write_png(dir, "b/y.png", 1);
    for (int i = 0; i < 40; i++)
        strcat(name, "/d");
    strcat(name, "/z.png");
    write_png(dir, name, 1);
    void *set = open_set(dir);
    CHECK_INT(source()->length(set), 2);
    CHECK_STR(source()->skipped(set), "1 folder(s) more than 32 levels down");
    sr_dataset_close(source(), set);
    fixture_remove(dir);
}

// Twenty folders, each with two links to the next, stand for a million folders.
TEST(test_links_that_multiply) {
    char dir[256], link[600], target[32];
    void *set;
    fixture_folder(dir);
    write_png(dir, "a/0/x.png", 1);
    write_png(dir, "a/20/x.png", 1);
    for (int i = 1; i <= 20; i++)
        for (int k = 0; k < 2; k++) {
            snprintf(link, sizeof link, "a/%d/%d.txt", i - 1, k);
            fixture_write(dir, link, "", 0);
            snprintf(link, sizeof link, "%s/a/%d/link%d", dir, i - 1, k);
            snprintf(target, sizeof target, "../%d", i);
            CHECK_INT(symlink(target, link), 0);
        }
    SrDatasetConfig config = {.split = "TRAIN", .data_path = dir};
    CHECK_FAILS(sr_dataset_open(source(), &config, &set), SR_ERR_CONFIG,
                "links that lead to folders of links stand for more than 100000 folders");
    fixture_remove(dir);
}

// Everything else in the folder is counted, and only regular files are opened.
TEST(test_what_is_no_image) {
    char dir[256], path[300];
    fixture_folder(dir);
    write_png(dir, "a/x.png", 1);
    write_png(dir, "a/folder.jpg/y.png", 1);
    fixture_write(dir, "a/1.gif", "x", 1);
    fixture_write(dir, "a/2.GIF", "x", 1);
    fixture_write(dir, "a/3.tiff", "x", 1);
    fixture_write(dir, "b/notes", "x", 1);
    fixture_write(dir, "b/5.webp", "x", 1);
    snprintf(path, sizeof path, "%s/a/pipe.jpg", dir);
    CHECK(mkfifo(path, 0600) == 0);
    void *set = open_set(dir);
    CHECK_INT(source()->length(set), 4 + SR_WEBP + SR_TIFF);
    snprintf(path, sizeof path, "%s%s2 other",
             SR_WEBP ? "" : "1 .webp (a build with libwebp-dev reads it), ",
             SR_TIFF ? "" : "1 .tiff (a build with libtiff-dev reads it), ");
    CHECK_STR(source()->skipped(set), path);
    sr_dataset_close(source(), set);
    // A pipe took the place of an image after the scan.
    set = open_set(dir);
    snprintf(path, sizeof path, "%s/a/x.png", dir);
    CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0);
    SrImagePool *pool;
    SrSample sample;
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_FAILS(source()->read(set, 3 + SR_TIFF, pool, &sample), SR_ERR_IO, "not a regular file");
    sr_image_pool_free(pool);
    sr_dataset_close(source(), set);
    fixture_remove(dir);
}

// One preview image next to class folders does not make the set flat; as many images as the
// smallest class has do.
TEST(test_strays) {
    char dir[256], name[64];
    fixture_folder(dir);
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "%c/%d.png", "ab"[i % 2], i);
        write_png(dir, name, i);
    }
    write_png(dir, "preview.png", 9);
    void *set = open_set(dir);
    CHECK_INT(source()->classes(set), 2);
    CHECK_INT(source()->length(set), 6);
    CHECK_STR(source()->skipped(set), "1 image(s) next to the class folders");
    sr_dataset_close(source(), set);
    write_png(dir, "p2.png", 9);
    write_png(dir, "p3.png", 9); // as many as the smallest class has
    set = open_set(dir);
    CHECK_INT(source()->classes(set), 0);
    CHECK_INT(source()->length(set), 9);
    CHECK_STR(source()->skipped(set), "");
    sr_dataset_close(source(), set);
    fixture_remove(dir);
}

TEST(test_errors) {
    char dir[256];
    void *set;
    fixture_folder(dir);
    SrDatasetConfig config = {.split = "TRAIN", .data_path = ""};
    CHECK_FAILS(sr_dataset_open(source(), &config, &set), SR_ERR_CONFIG,
                "DATA.TRAIN.DATA_PATHS is empty");
    config.data_path = "/no/such/folder";
    CHECK_FAILS(sr_dataset_open(source(), &config, &set), SR_ERR_CONFIG,
                "no such file or folder: /no/such/folder");
    config.data_path = dir;
    CHECK_FAILS(sr_dataset_open(source(), &config, &set), SR_ERR_CONFIG, "no .jpg, .jpeg");
    config.split = "TEST";
    config.data_path = fixture_write(dir, "c/list.svg", "x", 1);
    CHECK_FAILS(sr_dataset_open(source(), &config, &set), SR_ERR_CONFIG, "DATA.TEST.DATA_PATHS");
    config.data_path = dir;
    CHECK_FAILS(sr_dataset_open(source(), &config, &set), SR_ERR_CONFIG, "files there: 1 other");
    fixture_remove(dir);
}

TEST(test_file_vanishes) {
    char dir[256], path[300];
    fixture_folder(dir);
    write_png(dir, "a/x.png", 1);
    void *set = open_set(dir);
    snprintf(path, sizeof path, "%s/a/x.png", dir);
    CHECK(unlink(path) == 0);
    SrImagePool *pool;
    SrSample sample = {0};
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_FAILS(source()->read(set, 0, pool, &sample), SR_ERR_IO, path);
    CHECK_STR(sample.path, path);
    sr_dataset_close(source(), set);
    sr_image_pool_free(pool);
    fixture_remove(dir);
}

TEST(test_out_of_memory) {
    char dir[256];
    fixture_folder(dir);
    write_png(dir, "a/x.png", 1);
    write_png(dir, "b/y.png", 1);
    SrDatasetConfig config = {.split = "TRAIN", .data_path = dir};
    int64_t live = sr_mem_live();
    SrStatus status = SR_ERR_MEMORY;
    void *set = NULL;
    for (int at = 1; at < 200 && status != SR_OK; at++) {
        sr_mem_fail_at(at);
        status = sr_dataset_open(source(), &config, &set);
        sr_mem_fail_at(0);
        if (status != SR_OK)
            CHECK_INT(sr_mem_live(), live);
    }
    CHECK_OK(status);
    sr_dataset_close(source(), set);
    CHECK_INT(sr_mem_live(), live);
    fixture_remove(dir);
}

SR_TESTS(disk_folder, unit(test_classes), unit(test_one_class_is_flat), unit(test_flat),
         unit(test_links), unit(test_links_out), unit(test_deep_folders),
         unit(test_links_that_multiply), unit(test_what_is_no_image), unit(test_strays),
         unit(test_errors), unit(test_file_vanishes), unit(test_out_of_memory))
