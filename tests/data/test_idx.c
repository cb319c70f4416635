// Tests the data set of IDX files (MNIST), plain and compressed by gzip, paired with labels, and
// damaged.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "data/dataset.h"
#include "data/image_pool.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

static const SrDataset *source(void) {
    const SrDataset *d;
    CHECK_OK(sr_dataset_find("idx", &d));
    return d;
}

// Fills `out` with 3 images of 2 x 4 pixels, where pixel k of image i is 10 i + k. The labels are
// 4, 0, 2.
static size_t images_file(uint8_t *out) {
    const uint8_t head[16] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 4};
    memcpy(out, head, 16);
    for (int i = 0; i < 24; i++)
        out[16 + i] = (uint8_t)(10 * (i / 8) + i % 8);
    return 40;
}

static const uint8_t labels_file[11] = {0, 0, 8, 1, 0, 0, 0, 3, 4, 0, 2};

static void write_gz(const char *dir, const char *name, const void *bytes, size_t n) {
    const char *path = fixture_write(dir, name, "", 0);
    gzFile f = gzopen(path, "wb");
    CHECK(f != NULL && gzwrite(f, bytes, (unsigned)n) == (int)n);
    gzclose(f);
}

static void check_set(const SrDatasetConfig *config, int classes) {
    void *set;
    SrImagePool *pool;
    SrSample sample;
    CHECK_OK(sr_dataset_open(source(), config, &set));
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_INT(source()->length(set), 3);
    CHECK_INT(source()->classes(set), classes);
    CHECK_INT(source()->label(set, 0), classes ? 4 : -1);
    CHECK_OK(source()->read(set, 2, pool, &sample));
    CHECK(sample.encoded == NULL && sample.image.H == 2 && sample.image.W == 4);
    for (int k = 0; k < 24; k++)
        CHECK_INT(sample.image.rgb[k], 20 + k / 3); // all three channels hold the grey level
    sr_dataset_close(source(), set);
    sr_image_pool_free(pool);
}

TEST(test_folder) {
    char dir[256];
    uint8_t images[40];
    size_t n = images_file(images);
    fixture_folder(dir);
    fixture_write(dir, "train-images-idx3-ubyte", images, n);
    fixture_write(dir, "train-labels-idx1-ubyte", labels_file, 11);
    write_gz(dir, "t10k-images-idx3-ubyte.gz", images, n);
    SrDatasetConfig config = {.split = "TRAIN", .data_path = dir, .label_path = ""};
    check_set(&config, 5);
    config.split = "TEST"; // compressed, without labels
    check_set(&config, 0);
    write_gz(dir, "t10k-labels-idx1-ubyte.gz", labels_file, 11);
    check_set(&config, 5);
    CHECK(source()->accepts(dir, "TRAIN") && source()->accepts(dir, "TEST"));
    fixture_remove(dir);
}

// Uncompressed images with compressed labels, and the other way round.
// Fashion-MNIST's files hold no names: 10 classes of 28 x 28 below a folder of that name have them.
TEST(test_class_names) {
    static const uint8_t labels[18] = {0, 0, 8, 1, 0, 0, 0, 10, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    static uint8_t images[16 + 10 * 28 * 28] = {0, 0, 8, 3, 0, 0, 0, 10, 0, 0, 0, 28, 0, 0, 0, 28};
    static const char *const folders[] = {"Fashion-MNIST", "MNIST"};
    char dir[256], path[300], name[96];
    fixture_folder(dir);
    for (int i = 0; i < 2; i++) {
        void *set;
        snprintf(name, sizeof name, "%s/train-images-idx3-ubyte", folders[i]);
        fixture_write(dir, name, images, sizeof images);
        snprintf(name, sizeof name, "%s/train-labels-idx1-ubyte", folders[i]);
        fixture_write(dir, name, labels, sizeof labels);
        snprintf(path, sizeof path, "%s/%s", dir, folders[i]);
        CHECK_OK(sr_dataset_open(source(), &(SrDatasetConfig){.split = "TRAIN", .data_path = path},
                                 &set));
        if (i == 0)
            CHECK_STR(source()->class_name(set, 9), "Ankle boot");
        else
            CHECK(!source()->class_name(set, 9));
        CHECK(!source()->class_name(set, 10));
        sr_dataset_close(source(), set);
    }
}

TEST(test_mixed_compression) {
    char dir[256];
    uint8_t images[40];
    size_t n = images_file(images);
    fixture_folder(dir);
    SrDatasetConfig config = {.split = "TRAIN", .data_path = dir, .label_path = ""};
    fixture_write(dir, "train-images-idx3-ubyte", images, n);
    write_gz(dir, "train-labels-idx1-ubyte.gz", labels_file, 11);
    check_set(&config, 5);
    config.split = "TEST";
    write_gz(dir, "t10k-images-idx3-ubyte.gz", images, n);
    fixture_write(dir, "t10k-labels-idx1-ubyte", labels_file, 11);
    check_set(&config, 5);
    fixture_remove(dir);
}

TEST(test_single_file) {
    char dir[256], path[300];
    uint8_t images[40];
    size_t n = images_file(images);
    fixture_folder(dir);
    fixture_write(dir, "my-labels.idx1-ubyte", labels_file, 11);
    snprintf(path, sizeof path, "%s", fixture_write(dir, "my-images.idx3-ubyte", images, n));
    SrDatasetConfig config = {.split = "TRAIN", .data_path = path};
    check_set(&config, 5); // the labels are found next to it
    CHECK(!source()->accepts(dir, "TRAIN") && source()->accepts(path, "TRAIN"));
    fixture_remove(dir);
}

static void refused(const char *dir, const void *bytes, size_t n, SrStatus status,
                    const char *words) {
    void *set;
    int64_t live = sr_mem_live();
    SrDatasetConfig config = {.split = "TRAIN",
                              .data_path = fixture_write(dir, "x-images-idx3", bytes, n)};
    CHECK_FAILS(sr_dataset_open(source(), &config, &set), status, words);
    CHECK_INT(sr_mem_live(), live);
}

TEST(test_errors) {
    char dir[256];
    uint8_t images[40];
    size_t n = images_file(images);
    fixture_folder(dir);
    void *set;
    SrDatasetConfig config = {.split = "TEST", .data_path = dir};
    CHECK_FAILS(sr_dataset_open(source(), &config, &set), SR_ERR_CONFIG, "dataset-fashion-mnist");
    refused(dir, images, n - 1, SR_ERR_IO, "cut off");
    refused(dir, images, 9, SR_ERR_IO, "cut off");
    refused(dir, "GIF89a", 6, SR_ERR_CONFIG, "not an IDX file");
    refused(dir, labels_file, 11, SR_ERR_CONFIG, "1 dimensions");
    images[5] = 0x10; // a million images
    refused(dir, images, n, SR_ERR_CONFIG, "but the file has only 40");
    images[4] = images[8] = images[12] = 0x7F;
    refused(dir, images, n, SR_ERR_CONFIG, "dimension");
    images[4] = images[5] = images[7] = images[8] = images[12] = 0; // no images
    refused(dir, images, n, SR_ERR_CONFIG, "dimension 0 is 0");
    images_file(images);
    fixture_write(dir, "x-labels-idx1", "\0\0\x08\1\0\0\0\2ab", 10);
    refused(dir, images, n, SR_ERR_CONFIG, "2 labels for 3 images");
    fixture_remove(dir);
}

SR_TESTS(idx, unit(test_folder), unit(test_class_names), unit(test_mixed_compression),
         unit(test_single_file), unit(test_errors))
