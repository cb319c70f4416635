// Tests the binary batch files of CIFAR-10 and CIFAR-100: labels, pixels, names of classes,
// damaged files.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/dataset.h"
#include "data/image_pool.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

static const SrDataset *source(void) {
    const SrDataset *d;
    CHECK_OK(sr_dataset_find("cifar", &d));
    return d;
}

// Writes a file of n records. Each has `label_bytes` label bytes, of which the last is `label` +
// i, and colour planes filled with i, 50 + i and 100 + i.
static void write_batch(const char *dir, const char *name, int n, int label_bytes, int label) {
    size_t record = (size_t)label_bytes + 3072;
    uint8_t *bytes = calloc((size_t)n, record);
    CHECK(bytes != NULL);
    for (int i = 0; i < n; i++) {
        uint8_t *p = bytes + (size_t)i * record;
        p[0] = 99;
        p[label_bytes - 1] = (uint8_t)(label + i);
        for (int c = 0; c < 3; c++)
            memset(p + label_bytes + c * 1024, 50 * c + i, 1024);
        p[label_bytes + 2 * 1024 + 33] = 7; // blue at row 1, column 1
    }
    fixture_write(dir, name, bytes, (size_t)n * record);
    free(bytes);
}

TEST(test_ten) {
    char dir[256];
    fixture_folder(dir);
    write_batch(dir, "data_batch_1.bin", 2, 1, 3);
    write_batch(dir, "data_batch_2.bin", 3, 1, 6);
    write_batch(dir, "test_batch.bin", 1, 1, 9);
    SrDatasetConfig config = {.split = "TRAIN", .data_path = dir};
    void *set;
    SrImagePool *pool;
    SrSample sample;
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_OK(sr_dataset_open(source(), &config, &set));
    CHECK_INT(source()->length(set), 5);
    CHECK_INT(source()->classes(set), 10);
    CHECK_STR(source()->class_name(set, 3), "cat");
    CHECK_INT(source()->label(set, 1), 4);
    CHECK_INT(source()->label(set, 2), 6); // the first record of the second file
    CHECK_OK(source()->read(set, 4, pool, &sample));
    CHECK(sample.image.H == 32 && sample.image.W == 32 && !sample.encoded);
    CHECK_INT(sample.image.rgb[0], 2);
    CHECK_INT(sample.image.rgb[1], 52);
    CHECK_INT(sample.image.rgb[2], 102);
    CHECK_INT(sample.image.rgb[3 * 33 + 2], 7);
    sr_dataset_close(source(), set);
    config.split = "TEST";
    CHECK_OK(sr_dataset_open(source(), &config, &set));
    CHECK_INT(source()->length(set), 1);
    CHECK_INT(source()->label(set, 0), 9);
    sr_dataset_close(source(), set);
    CHECK(source()->accepts(dir, "TEST"));
    sr_image_pool_free(pool);
    fixture_remove(dir);
}

TEST(test_hundred) {
    char dir[256];
    fixture_folder(dir);
    write_batch(dir, "train.bin", 2, 2, 77);
    SrDatasetConfig config = {.split = "TRAIN", .data_path = dir};
    void *set;
    CHECK_OK(sr_dataset_open(source(), &config, &set));
    CHECK_INT(source()->length(set), 2);
    CHECK_INT(source()->classes(set), 100);
    CHECK_INT(source()->label(set, 0), 77);
    CHECK(source()->class_name(set, 0) == NULL);
    sr_dataset_close(source(), set);
    CHECK(!source()->accepts(dir, "TEST"));
    fixture_remove(dir);
}

TEST(test_errors) {
    char dir[256], path[300];
    void *set;
    int64_t live = sr_mem_live();
    fixture_folder(dir);
    SrDatasetConfig config = {.split = "TRAIN", .data_path = dir};
    CHECK_FAILS(sr_dataset_open(source(), &config, &set), SR_ERR_CONFIG, "no data_batch_*.bin");
    snprintf(path, sizeof path, "%s", fixture_write(dir, "data_batch_1.bin", "12345", 5));
    CHECK_FAILS(sr_dataset_open(source(), &config, &set), SR_ERR_CONFIG, "5 bytes");
    config.data_path = path;
    CHECK_FAILS(sr_dataset_open(source(), &config, &set), SR_ERR_CONFIG, "DATA.TRAIN.DATA_PATHS");
    CHECK_INT(sr_mem_live(), live);
    fixture_remove(dir);
}

SR_TESTS(cifar, unit(test_ten), unit(test_hundred), unit(test_errors))
