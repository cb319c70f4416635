// Tests lines of a run about its images: how many in which classes, where the test images were
// found, which files were skipped, and which could not be read and are left out of the figures.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define CONFIG "tests/cli/tiny.yaml"
static ProgramResult result;
static char dir[64], train_key[128], run_key[128];

#define RUN(...)                                                                 \
    program_run(&result, 1,                                                      \
                (const char *const[]){__VA_ARGS__, "DATA.TRAIN.DATA_SOURCES=[]", \
                                      "DATA.TRAIN.DATA_LIMIT=-1", run_key, NULL})

static void add(const char *name, uint64_t seed) {
    uint8_t pixels[20 * 20 * 3];
    size_t n;
    fixture_noise(pixels, sizeof pixels, seed);
    void *png = fixture_png(pixels, 20, 20, 3, &n);
    fixture_write(dir, name, seed ? png : "junk", seed ? n : 4);
    free(png);
}

// Makes train/ with 12 + 13 images, one of them unreadable, and two files of another format;
// test/ with 6 + 7, one unreadable.
static int set_up(void **state) {
    (void)state;
    char name[64];
    temp_dir_make(dir);
    for (int i = 0; i < 24; i++) {
        snprintf(name, sizeof name, "train/%s/%d.png", i % 2 ? "cat" : "ape", i);
        add(name, (uint64_t)i + 1);
    }
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "test/%s/%d.png", i % 2 ? "cat" : "ape", i);
        add(name, (uint64_t)i + 100);
    }
    add("train/cat/bad.png", 0);
    add("test/cat/worse.png", 0);
    add("train/cat/x.svg", 1);
    add("train/ape/y.svg", 1);
    snprintf(train_key, sizeof train_key, "DATA.TRAIN.DATA_PATHS=[%s/train]", dir);
    snprintf(run_key, sizeof run_key, "CHECKPOINT.DIR=%s/run", dir);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    temp_dir_remove(dir);
    return 0;
}

#define SAID(text) CHECK(strstr(result.err, text) || (fprintf(stderr, "%s", result.err), 0))

TEST(test_counts_and_origin) {
    RUN("check", CONFIG, train_key);
    CHECK_INT(result.code, 0);
    SAID("training images: 25 images in 2 classes from ");
    SAID("/train (skipped: 2 other)");
    RUN(CONFIG, train_key, "TEST_MODEL=True", "OPTIMIZER.num_epochs=1");
    CHECK_INT(result.code, 0);
    SAID("training images: 25 images in 2 classes from ");
    SAID("/train (skipped: 2 other)");
    SAID("test images: 13 images in 2 classes from ");
    SAID("/test, found by DATA.TRAIN.DATA_PATHS");
    SAID("24 images per epoch (1 images do not fill a batch and are left out: ");
    // In the final evaluation unreadable images are neither in the bank nor classified.
    SAID("1 of 25 training images could not be read and are left out:");
    SAID("train/cat/bad.png: the file is no image that this program knows");
    SAID("1 of 13 test images could not be read and are left out:");
    SAID("test/cat/worse.png: the file is no image that this program knows");
    CHECK(strstr(result.out, "kNN: 12 test images against 24,"));
    // The verb alone reports them in the same way.
    RUN("knn", CONFIG, train_key, "--no-baselines");
    CHECK_INT(result.code, 0);
    SAID("1 of 13 test images could not be read and are left out:");
    SAID("test images: 13 images in 2 classes from ");
    CHECK(strstr(result.out, "kNN: 12 test images against 24,"));
    RUN("logreg", CONFIG, train_key, "--no-baselines");
    SAID("1 of 25 training images could not be read and are left out:");
    CHECK(strstr(result.out, "12 test images against 24,"));
    // Extraction writes a row for every image.
    char data[128], out[128], weights[128];
    snprintf(data, sizeof data, "%s/train", dir);
    snprintf(out, sizeof out, "%s/features", dir);
    snprintf(weights, sizeof weights, "%s/run/checkpoint.safetensors", dir);
    program_run(&result, 1,
                (const char *const[]){"extract", CONFIG, "--weights", weights, "--data", data,
                                      "--out", out, "--nodes", "flatten", NULL});
    CHECK_INT(result.code, 0);
    SAID("images: 25 images in 2 classes from ");
    SAID("1 of 25 images could not be read and have the features of a grey image (valid is 0):");
}

// Test images that are the training images are reported; a test class that training lacks ends
// the run before its first step.
TEST(test_which_test_images) {
    char more[128], same[128];
    for (int i = 0; i < 10; i++) {
        snprintf(same, sizeof same, "same/%s/%d.png", i % 2 ? "cat" : "ape", i);
        add(same, (uint64_t)i + 1);
    }
    snprintf(same, sizeof same, "DATA.TRAIN.DATA_PATHS=[%s/same]", dir);
    snprintf(more, sizeof more, "DATA.TEST.DATA_PATHS=[%s/same/.]", dir);
    RUN(CONFIG, same, more, "TEST_MODEL=True", "OPTIMIZER.num_epochs=1");
    CHECK_INT(result.code, 0);
    SAID("DATA.TEST has the same images as DATA.TRAIN");
    add("more/dog/1.png", 7);
    add("more/cat/1.png", 8);
    snprintf(more, sizeof more, "DATA.TEST.DATA_PATHS=[%s/more]", dir);
    RUN(CONFIG, train_key, more, "TEST_MODEL=True", "OPTIMIZER.num_epochs=9");
    CHECK_INT(result.code, 2);
    SAID("DATA.TEST has images of 1 class that DATA.TRAIN does not have: 'dog'");
    CHECK(!strstr(result.err, "epoch 0 done"));
}

// Probes and linear evaluations report unreadable images too, and MAX_BAD_IMAGE_SHARE ends a run
// with more.
TEST(test_bad_images_everywhere) {
    RUN(CONFIG, train_key, "TEST_MODEL=False", "OPTIMIZER.num_epochs=1",
        "HOOKS.PROBE.EVERY_NUM_EPOCHS=1");
    CHECK_INT(result.code, 0);
    SAID("1 of 25 training images could not be read and are left out:");
    SAID("1 of 13 test images could not be read and are left out:");
    char weights[128], data[128];
    snprintf(data, sizeof data, "%s/train", dir);
    snprintf(weights, sizeof weights, "%s/run/checkpoint.safetensors", dir);
    program_run(&result, 1,
                (const char *const[]){"linear", weights, "--data", data, "--json", NULL});
    CHECK_INT(result.code, 0);
    SAID("1 of 25 training images could not be read and are left out:");
    SAID("1 of 13 test images could not be read and are left out:");
    RUN(CONFIG, train_key, "TEST_MODEL=False", "OPTIMIZER.num_epochs=1",
        "CHECKPOINT.AUTO_RESUME=False", "DATA.TRAIN.MAX_BAD_IMAGE_SHARE=0.01");
    CHECK_INT(result.code, 1);
    SAID("more than the share of 0.01 that MAX_BAD_IMAGE_SHARE allows");
}

// A run of one epoch reports a single mean loss.
TEST(test_only_epoch) {
    RUN(CONFIG, train_key, "TEST_MODEL=False", "OPTIMIZER.num_epochs=1");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "mean loss in this session: ") && !strstr(result.out, "last epoch"));
}

// VISSL's files name images by a catalogue; the error says where it was looked for.
TEST(test_no_catalog) {
    static const char *const sources[] = {"[disk_folder]", "[]"};
    for (int i = 0; i < SR_COUNT(sources); i++) {
        char source[96];
        snprintf(source, sizeof source, "DATA.TRAIN.DATA_SOURCES=%s", sources[i]);
        RUN(CONFIG, source, "DATA.TRAIN.DATA_PATHS=[]",
            "DATA.TRAIN.DATASET_NAMES=[imagenet1k_folder]");
        CHECK_INT(result.code, 2);
        SAID("DATA.TRAIN.DATA_PATHS is empty: name ");
        SAID(
            "; DATASET_NAMES: [imagenet1k_folder] is not looked up, since "
            "VISSL_DATASET_CATALOG_PATH is not set and no dataset_catalog.json is in the folder of "
            "the configuration or above");
        RUN(CONFIG, source, "DATA.TRAIN.DATA_PATHS=[]");
        CHECK(!strstr(result.err, "dataset_catalog"));
    }
}

// A NaN loss ends a run; with CHECK_NAN=False the run completes and its result is saved.
TEST(test_check_nan) {
    static const char lr[] = "OPTIMIZER.param_schedulers.lr={name: constant, value: 1e6}",
                      decay[] = "OPTIMIZER.weight_decay=1e6";
    RUN(CONFIG, train_key, "TEST_MODEL=False", "OPTIMIZER.num_epochs=2", lr, decay);
    CHECK_INT(result.code, 1);
    RUN(CONFIG, train_key, "TEST_MODEL=False", "OPTIMIZER.num_epochs=2", lr, decay,
        "HOOKS.CHECK_NAN=False", "CHECKPOINT.AUTO_RESUME=False");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "mean loss in this session: first epoch"));
}

SR_TESTS(data_told, cmocka_unit_test_setup_teardown(test_counts_and_origin, set_up, tear_down),
         cmocka_unit_test_setup_teardown(test_which_test_images, set_up, tear_down),
         cmocka_unit_test_setup_teardown(test_bad_images_everywhere, set_up, tear_down),
         cmocka_unit_test_setup_teardown(test_only_epoch, set_up, tear_down),
         cmocka_unit_test_setup_teardown(test_check_nan, set_up, tear_down),
         cmocka_unit_test_setup_teardown(test_no_catalog, set_up, tear_down))
