// The data set torchvision_dataset finds the files of CIFAR and MNIST below its root and reads
// them as the data sets of those files do.
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
    CHECK_OK(sr_dataset_find("torchvision_dataset", &d));
    return d;
}

// Writes two CIFAR images with labels i + 3 and pixels i.
static void write_cifar(const char *dir, const char *name) {
    static uint8_t bytes[2 * 3073];
    for (int i = 0; i < 2; i++) {
        memset(bytes + i * 3073, i, 3073);
        bytes[i * 3073] = (uint8_t)(i + 3);
    }
    fixture_write(dir, name, bytes, sizeof bytes);
}

// Writes one MNIST image of 2 x 2 pixels of value 9, with label 7.
static void write_mnist(const char *dir) {
    static const uint8_t image[] = {0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2, 9, 9, 9, 9},
                         label[] = {0, 0, 8, 1, 0, 0, 0, 1, 7};
    fixture_write(dir, "MNIST/raw/train-images-idx3-ubyte", image, sizeof image);
    fixture_write(dir, "MNIST/raw/train-labels-idx1-ubyte", label, sizeof label);
}

static void check_first(const SrDatasetConfig *config, int64_t length, int64_t label, int pixel) {
    void *set;
    SrImagePool *pool;
    SrSample sample;
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_OK(sr_dataset_open(source(), config, &set));
    CHECK_INT(source()->length(set), length);
    CHECK_INT(source()->label(set, length - 1), label);
    CHECK_OK(source()->read(set, length - 1, pool, &sample));
    CHECK_INT(sample.image.rgb[0], pixel);
    CHECK(source()->classes(set) > 0);
    sr_dataset_close(source(), set);
    sr_image_pool_free(pool);
}

TEST(test_found) {
    char dir[256];
    int64_t live = sr_mem_live();
    fixture_folder(dir);
    SrDatasetConfig config = {.split = "TRAIN", .data_path = dir, .label_path = ""};
    void *set;
    CHECK_FAILS(sr_dataset_open(source(), &config, &set), SR_ERR_CONFIG,
                "neither CIFAR's binary batches");
    write_mnist(dir);
    // Without t10k- files there is no test set.
    CHECK(!source()->accepts(dir, "TEST") && source()->accepts(dir, "TRAIN"));
    check_first(&config, 1, 7, 9);
    write_cifar(dir, "cifar-10-batches-bin/data_batch_1.bin");
    write_cifar(dir, "cifar-10-batches-bin/test_batch.bin");
    check_first(&config, 2, 4, 1);
    config.split = "TEST";
    check_first(&config, 2, 4, 1);
    CHECK(source()->accepts(dir, "TEST") && source()->accepts(dir, "TRAIN"));
    write_cifar(dir, "data_batch_1.bin"); // the root itself is searched first
    config.split = "TRAIN";
    check_first(&config, 2, 4, 1);
    config.data_path = "";
    CHECK_FAILS(sr_dataset_open(source(), &config, &set), SR_ERR_CONFIG, "DATA_PATHS");
    fixture_remove(dir);
    CHECK_INT(sr_mem_live(), live);
}

SR_TESTS(torchvision_dataset, unit(test_found))
