// Tests the data set disk_filelist: paths and labels from text files and from .npy files.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/npy.h"
#include "data/dataset.h"
#include "data/image_pool.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

static const SrDataset *source(void) {
    const SrDataset *d;
    CHECK_OK(sr_dataset_find("disk_filelist", &d));
    return d;
}

// Writes a .npy file of format 1 with this dtype, shape and elements.
static const char *write_npy(const char *dir, const char *name, const char *descr,
                             const char *shape, const void *items, size_t n) {
    char file[4096];
    int len = snprintf(file + 10, 2000,
                       "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n", descr, shape);
    memcpy(file, "\x93NUMPY\1\0", 8);
    file[8] = (char)len;
    file[9] = (char)(len >> 8);
    memcpy(file + 10 + len, items, n);
    return fixture_write(dir, name, file, 10 + (size_t)len + n);
}

static void open_list(const char *data, const char *labels, SrDatasetConfig config, void **set) {
    config.split = "TRAIN";
    config.data_path = data;
    config.label_path = labels;
    CHECK_OK(sr_dataset_open(source(), &config, set));
}

static void reads(void *set, int64_t i, const char *content) {
    SrImagePool *pool;
    SrSample sample;
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_OK(source()->read(set, i, pool, &sample));
    CHECK_INT(sample.encoded_bytes, strlen(content));
    CHECK(memcmp(sample.encoded, content, strlen(content)) == 0);
    sr_image_pool_free(pool);
}

TEST(test_text) {
    char dir[256], list[600], data[300], labels[300];
    fixture_folder(dir);
    fixture_write(dir, "img/one.jpg", "ONE", 3);
    fixture_write(dir, "img/two.jpg", "TWO", 3);
    snprintf(list, sizeof list, "img/one.jpg\r\n\n%s/img/two.jpg  ",
             dir); // a path relative to the list, and an absolute one
    snprintf(data, sizeof data, "%s", fixture_write(dir, "list.txt", list, strlen(list)));
    snprintf(labels, sizeof labels, "%s", fixture_write(dir, "labels.txt", "5\n2\n", 4));
    void *set;
    open_list(data, labels, (SrDatasetConfig){0}, &set);
    CHECK_INT(source()->length(set), 2);
    reads(set, 0, "ONE");
    reads(set, 1, "TWO");
    CHECK_INT(source()->label(set, 0), 5);
    CHECK_INT(source()->label(set, 1), 2);
    CHECK_INT(source()->classes(set), 6);
    CHECK(source()->class_name(set, 0) == NULL);
    sr_dataset_close(source(), set);
    // Names of classes are numbered in byte order.
    snprintf(labels, sizeof labels, "%s", fixture_write(dir, "labels.txt", "dog\ncat\n", 8));
    open_list(data, labels, (SrDatasetConfig){0}, &set);
    CHECK_INT(source()->label(set, 0), 1);
    CHECK_INT(source()->classes(set), 2);
    CHECK_STR(source()->class_name(set, 1), "dog");
    sr_dataset_close(source(), set);
    open_list(data, "", (SrDatasetConfig){0}, &set);
    CHECK_INT(source()->label(set, 0), -1);
    CHECK_INT(source()->classes(set), 0);
    sr_dataset_close(source(), set);
    fixture_remove(dir);
}

TEST(test_npy_strings) {
    char dir[256], data[300], labels[300];
    fixture_folder(dir);
    fixture_write(dir, "a.jpg", "A", 1);
    fixture_write(dir, "\xC3\xA9.jpg", "E", 1); // e acute, in UTF-8
    uint32_t wide[2][6] = {{'a', '.', 'j', 'p', 'g', 0}, {0xE9, '.', 'j', 'p', 'g', 0}};
    snprintf(data, sizeof data, "%s", write_npy(dir, "u.npy", "<U6", "2,", wide, sizeof wide));
    int16_t numbers[2] = {300, -1};
    snprintf(labels, sizeof labels, "%s",
             write_npy(dir, "l.npy", "<i2", "2,", numbers, sizeof numbers));
    void *set;
    open_list(data, labels, (SrDatasetConfig){0}, &set);
    reads(set, 0, "A");
    reads(set, 1, "E");
    CHECK_INT(source()->label(set, 0), 300);
    CHECK_INT(source()->label(set, 1), -1);
    sr_dataset_close(source(), set);
    snprintf(data, sizeof data, "%s", write_npy(dir, "s.npy", "|S5", "2,", "a.jpga.jpg", 10));
    snprintf(labels, sizeof labels, "%s", write_npy(dir, "l.npy", "|S3", "2, 1", "dogcat", 6));
    open_list(data, labels, (SrDatasetConfig){0}, &set);
    reads(set, 1, "A");
    CHECK_INT(source()->label(set, 0), 1);
    sr_dataset_close(source(), set);
    fixture_remove(dir);
}

TEST(test_prefixes) {
    char dir[256], data[300], new_prefix[300];
    fixture_folder(dir);
    fixture_write(dir, "moved/a.jpg", "A", 1);
    snprintf(new_prefix, sizeof new_prefix, "%s/moved", dir);
    const char *list = "/datasets/in1k/a.jpg\n/other/in1k/b.jpg\n";
    snprintf(data, sizeof data, "%s", fixture_write(dir, "list.txt", list, strlen(list)));
    void *set;
    open_list(data, "",
              (SrDatasetConfig){.remove_prefix = "/datasets/in1k", .new_prefix = new_prefix}, &set);
    reads(set, 0, "A");
    SrImagePool *pool;
    SrSample sample;
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_FAILS(source()->read(set, 1, pool, &sample), SR_ERR_IO,
                "/other/in1k/b.jpg"); // a path with another prefix stays
    sr_image_pool_free(pool);
    sr_dataset_close(source(), set);
    fixture_remove(dir);
}

static void refused(const char *data, const char *labels, const char *words) {
    SrDatasetConfig config = {.split = "TRAIN", .data_path = data, .label_path = labels};
    void *set;
    int64_t live = sr_mem_live();
    CHECK_FAILS(sr_dataset_open(source(), &config, &set), SR_ERR_CONFIG, words);
    CHECK_INT(sr_mem_live(), live);
}

TEST(test_errors) {
    char dir[256], list[300];
    fixture_folder(dir);
    snprintf(list, sizeof list, "%s", fixture_write(dir, "list.txt", "a.jpg\nb.jpg\n", 12));
    refused("", "", "DATA.TRAIN.DATA_PATHS is empty");
    refused(dir, "", "disk_folder");
    refused(fixture_write(dir, "none.txt", "\n \n", 3), "", "lists no image");
    refused(list, fixture_write(dir, "l.txt", "1\n", 2), "1 labels for 2 images");
    refused(write_npy(dir, "n.npy", "<i4", "2,", "\1\0\0\0\2\0\0\0", 8), "", "holds numbers");
    // The rows of floats: 1.0 and 0.4; 1.0 and NaN.
    const uint8_t parts[16] = {0, 0, 0x80, 0x3f, 0xcd, 0xcc, 0xcc, 0x3e,
                               0, 0, 0x80, 0x3f, 0,    0,    0xc0, 0x7f};
    refused(list, write_npy(dir, "l.npy", "<f4", "2,", parts, 8), "row 1: not a whole number");
    refused(list, write_npy(dir, "l.npy", "<f4", "2,", parts + 8, 8), "row 1: not a whole number");
    refused(write_npy(dir, "n.npy", "|O", "2,", "xx", 2), "", "pickled");
    refused(write_npy(dir, "n.npy", ">U2", "1,", "12345678", 8), "", "little-endian");
    refused(write_npy(dir, "n.npy", "<U2", "3,", "12345678", 8), "", "8 bytes of data");
    refused(write_npy(dir, "n.npy", "<U2", "1, 1, 1", "12345678", 8), "", "shape");
    refused(write_npy(dir, "n.npy", "<U2", "-1,", "12345678", 8), "", "shape");
    refused(fixture_write(dir, "n.npy", "hello", 5), "", "not a .npy");
    refused(fixture_write(dir, "n.npy", "\x93NUMPY\1\0\xFF\xFF{", 11), "", "its header is cut off");
    fixture_remove(dir);
}

TEST(test_npy_numbers) {
    char dir[256];
    fixture_folder(dir);
    SrNpy npy;
    const uint8_t bytes[16] = {0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 7};
    CHECK_OK(sr_npy_open(write_npy(dir, "n.npy", "<i8", "2,", bytes, 16), &npy));
    CHECK_INT(sr_npy_integer(&npy, 0), -2);
    CHECK_INT(sr_npy_integer(&npy, 1), 7);
    sr_npy_close(&npy);
    CHECK_OK(sr_npy_open(write_npy(dir, "n.npy", "|u1", "4, 4", bytes, 16), &npy));
    CHECK_INT(npy.columns, 4);
    CHECK_INT(sr_npy_integer(&npy, 0), 254);
    sr_npy_close(&npy);
    const double reals[2] = {3, -1e300};
    CHECK_OK(sr_npy_open(write_npy(dir, "n.npy", "<f8", "2,", reals, 16), &npy));
    CHECK_INT(sr_npy_integer(&npy, 0), 3);
    CHECK_INT(sr_npy_integer(&npy, 1), -1);
    sr_npy_close(&npy);
    const float halves[2] = {0.5f, -1};
    CHECK_OK(sr_npy_open(write_npy(dir, "n.npy", "<f4", "2,", halves, 8), &npy));
    CHECK(!sr_npy_is_whole(&npy, 0) && sr_npy_is_whole(&npy, 1));
    sr_npy_close(&npy);
    CHECK_FAILS(sr_npy_open(write_npy(dir, "n.npy", "<f2", "2,", halves, 4), &npy), SR_ERR_CONFIG,
                "floats of 2 bytes");
    fixture_remove(dir);
}

// One column per class gives several labels per image.
TEST(test_targets) {
    char dir[256], list[300];
    void *set;
    fixture_folder(dir);
    snprintf(list, sizeof list, "%s", fixture_write(dir, "list.txt", "a.jpg\nb.jpg\n", 12));
    open_list(list, write_npy(dir, "l.npy", "|i1", "2, 3", "\1\0\377\0\0\1", 6),
              (SrDatasetConfig){0}, &set);
    CHECK_INT(source()->classes(set), 3);
    CHECK_INT(source()->label(set, 1), -1);
    CHECK_INT(source()->targets(set, 0)[2], -1);
    CHECK_INT(source()->targets(set, 1)[2], 1);
    sr_dataset_close(source(), set);
    open_list(list, write_npy(dir, "l.npy", "|i1", "2, 1", "\1\0", 2), (SrDatasetConfig){0}, &set);
    CHECK(!source()->targets(set, 0) && source()->label(set, 0) == 1);
    sr_dataset_close(source(), set);
    open_list(list, fixture_write(dir, "l.txt", "0, 2\n1\n", 7), (SrDatasetConfig){0}, &set);
    CHECK_INT(source()->classes(set), 3);
    CHECK(memcmp(source()->targets(set, 0), "\1\0\1\0\1\0", 6) == 0);
    CHECK_INT(source()->label(set, 1), -1);
    sr_dataset_close(source(), set);
    open_list(list, fixture_write(dir, "l.txt", "0 2 dogs\n1\n", 11), (SrDatasetConfig){0}, &set);
    CHECK(!source()->targets(set, 0) && source()->classes(set) == 2); // names
    sr_dataset_close(source(), set);
    refused(list, write_npy(dir, "l.npy", "|i1", "2, 2", "\1\0\2\0", 4), "row 1, column 0");
    refused(list, write_npy(dir, "l.npy", "|S1", "2, 2", "1001", 4), "column per class");
    refused(list, write_npy(dir, "l.npy", "|i1", "1, 2", "\1\0", 2), "1 labels for 2 images");
    fixture_remove(dir);
}

// The path to an image is a list of it, by its ending or by its first bytes.
TEST(test_one_image) {
    char dir[256], path[300];
    void *set;
    const char *listed;
    const SrDataset *found;
    SrImagePool *pool;
    fixture_folder(dir);
    CHECK_OK(sr_image_pool_new(&pool));
    snprintf(path, sizeof path, "%s", fixture_write(dir, "a\nb.jpg", "broken", 6));
    CHECK_OK(sr_dataset_infer(path, "TRAIN", &found));
    CHECK(found == source());
    CHECK_OK(
        sr_dataset_open(source(), &(SrDatasetConfig){.split = "TEST", .data_path = path}, &set));
    CHECK_INT(source()->length(set), 1);
    CHECK_OK(source()->path(set, 0, pool, &listed));
    CHECK_STR(listed, path);
    sr_dataset_close(source(), set);
    snprintf(path, sizeof path, "%s",
             fixture_write(dir, "photo", "\xff\xd8\xff\xe0 a JPEG's first bytes", 25));
    CHECK_OK(sr_dataset_infer(path, "TRAIN", &found));
    CHECK(found == source());
    snprintf(path, sizeof path, "%s", fixture_write(dir, "notes", "no image's first bytes", 22));
    CHECK_FAILS(sr_dataset_infer(path, "TRAIN", &found), SR_ERR_CONFIG,
                "neither a folder of images nor an image");
    sr_image_pool_free(pool);
    fixture_remove(dir);
}

SR_TESTS(disk_filelist, unit(test_text), unit(test_npy_strings), unit(test_prefixes),
         unit(test_errors), unit(test_npy_numbers), unit(test_targets), unit(test_one_image))
