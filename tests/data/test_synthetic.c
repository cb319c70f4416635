// Tests the synthetic data set, and which data set is inferred from a path.
#include <stdio.h>
#include <string.h>

#include "data/dataset.h"
#include "data/image_pool.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

static const SrDataset *source(void) {
    const SrDataset *d;
    CHECK_OK(sr_dataset_find("synthetic", &d));
    return d;
}

TEST(test_grey) {
    SrDatasetConfig config = {.split = "TRAIN", .data_limit = -1, .gray_size = 9};
    void *set;
    SrImagePool *pool;
    SrSample sample;
    CHECK_OK(sr_dataset_open(source(), &config, &set));
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_INT(source()->length(set), 50000);
    CHECK_INT(source()->label(set, 7), 0);
    CHECK_OK(source()->read(set, 7, pool, &sample));
    for (int i = 0; i < 9 * 9 * 3; i++)
        CHECK_INT(sample.image.rgb[i], 128);
    sr_dataset_close(source(), set);
    config.gray_size = 0;
    CHECK_FAILS(sr_dataset_open(source(), &config, &set), SR_ERR_CONFIG, "DEFAULT_GRAY_IMG_SIZE");
    sr_image_pool_free(pool);
}

TEST(test_noise) {
    SrDatasetConfig config = {.split = "TRAIN",
                              .data_limit = 60000,
                              .gray_size = 31,
                              .random_images = true,
                              .random_labels = 4,
                              .seed = 1};
    void *set;
    SrImagePool *pool;
    SrSample a, b, c;
    CHECK_OK(sr_dataset_open(source(), &config, &set));
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_INT(source()->length(set), 60000);
    CHECK_INT(source()->classes(set), 4);
    CHECK_INT(source()->label(set, 7), 3);
    CHECK_OK(source()->read(set, 7, pool, &a));
    CHECK_OK(source()->read(set, 7, pool, &b));
    CHECK_OK(source()->read(set, 8, pool, &c));
    CHECK(memcmp(a.image.rgb, b.image.rgb, 31 * 31 * 3) == 0);
    CHECK(memcmp(a.image.rgb, c.image.rgb, 31 * 31 * 3) != 0);
    sr_dataset_close(source(), set);
    sr_image_pool_free(pool);
}

TEST(test_inference) {
    char dir[256], path[300];
    const SrDataset *d;
    fixture_folder(dir);
    CHECK_OK(sr_dataset_infer(dir, "TRAIN", &d));
    CHECK_STR(d->name, "disk_folder");
    snprintf(path, sizeof path, "%s", fixture_write(dir, "list.npy", "", 0));
    CHECK_OK(sr_dataset_infer(path, "TRAIN", &d));
    CHECK_STR(d->name, "disk_filelist");
    fixture_write(dir, "train-images-idx3-ubyte.gz", "", 0);
    CHECK_OK(sr_dataset_infer(dir, "TRAIN", &d));
    CHECK_STR(d->name, "idx");
    // A folder is a test set only if a data set finds test files in it.
    CHECK_FAILS(sr_dataset_infer(dir, "TEST", &d), SR_ERR_CONFIG, "DATA.TEST.DATA_SOURCES");
    fixture_write(dir, "t10k-images-idx3-ubyte.gz", "", 0);
    CHECK_OK(sr_dataset_infer(dir, "TEST", &d));
    CHECK_STR(d->name, "idx");
    snprintf(path, sizeof path, "%s", fixture_write(dir, "test_batch.bin", "", 0));
    CHECK_OK(sr_dataset_infer(path, "TEST", &d));
    CHECK_STR(d->name, "cifar");
    CHECK_FAILS(sr_dataset_infer("/no/such", "TRAIN", &d), SR_ERR_CONFIG,
                "no such file or folder: /no/such");
    CHECK_FAILS(sr_dataset_find("disk_foldr", &d), SR_ERR_CONFIG, "disk_folder");
    for (int i = 0; (d = sr_dataset_at(i)); i++)
        CHECK(d->name && d->help && d->open && d->length && d->read && d->label && d->classes);
    fixture_remove(dir);
}

SR_TESTS(synthetic, unit(test_grey), unit(test_noise), unit(test_inference))
