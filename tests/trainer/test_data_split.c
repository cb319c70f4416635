// Tests which images a run trains on and which are its test images, decided from folders alone.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "data/load/loader.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/temp_dir.h"
#include "trainer/config/paths_check.h"
#include "trainer/data/data_split.h"

#define CONFIG "tests/cli/tiny.yaml"

// Writes n files that look like images of one class; the tests do not decode them.
static void make_images(const char *root, const char *folder, int n) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, folder);
    CHECK_OK(sr_file_mkdirs(path));
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s/%d.png", root, folder, i);
        FILE *f = fopen(path, "w");
        CHECK(f && fclose(f) == 0);
    }
}

typedef struct {
    int64_t train, bank, test;
    int classes;
    bool noted;
    const char *note; // static text
} Sizes;

static SrStatus sizes_of(const char *const *overrides, int n, Sizes *out) {
    SrConfig *config;
    SrSplit train = {.note = ""}, bank = {.note = ""}, test = {.note = ""};
    SrStatus status;
    SR_TRY(sr_config_load(CONFIG, overrides, n, &config));
    SR_TRY_GOTO(sr_split_open_train(config, &train));
    SR_TRY_GOTO(sr_split_open_eval(config, SR_SIDE_BANK, false, 8, 16, NULL, &bank));
    SR_TRY_GOTO(sr_split_open_eval(config, SR_SIDE_TEST, false, 8, 16, &bank, &test));
    *out = (Sizes){sr_loader_length(train.loader),
                   sr_loader_length(bank.loader),
                   sr_loader_length(test.loader),
                   test.classes,
                   *test.note != '\0',
                   test.note};
    CHECK(train.n_views == 3 && bank.n_views == 1 && bank.h[0] == 16);
done:
    sr_split_close(&train);
    sr_split_close(&bank);
    sr_split_close(&test);
    sr_config_free(config);
    return status;
}

static Sizes sizes_at(const char *path, const char *test_path) {
    char train[256], test[256];
    Sizes s = {0};
    snprintf(train, sizeof train, "DATA.TRAIN.DATA_PATHS=[%s]", path);
    snprintf(test, sizeof test, "DATA.TEST.DATA_PATHS=[%s]", test_path ? test_path : "");
    const char *overrides[] = {"DATA.TRAIN.DATA_SOURCES=[]", "DATA.TRAIN.DATA_LIMIT=-1", train,
                               test};
    CHECK_OK(sizes_of(overrides, test_path ? 4 : 3, &s));
    return s;
}

TEST(test_folders) {
    char dir[64], path[128], other[128];
    Sizes s;
    temp_dir_make(dir);
    make_images(dir, "set/train/cat", 9);
    make_images(dir, "set/train/dog", 10);
    make_images(dir, "set/test/cat", 3);
    make_images(dir, "set/test/dog", 2);
    make_images(dir, "flat", 20);
    // A folder with train/ and test/ may be named itself, or by its train/.
    snprintf(path, sizeof path, "%s/set", dir);
    s = sizes_at(path, NULL);
    CHECK(s.train == 16 && s.bank == 19 && s.test == 5 && s.classes == 2 && !s.noted);
    snprintf(path, sizeof path, "%s/set/train", dir);
    s = sizes_at(path, NULL);
    CHECK(s.train == 16 && s.bank == 19 && s.test == 5 && s.classes == 2);
    // From a folder without such parts a tenth is held out, and a note reports it.
    snprintf(other, sizeof other, "%s/set/test", dir);
    snprintf(path, sizeof path, "%s/flat", dir);
    s = sizes_at(path, NULL);
    CHECK(s.train == 16 && s.bank == 18 && s.test == 2 && s.classes == 0 && s.noted);
    // A configured test folder is used as it is.
    s = sizes_at(path, other);
    CHECK(s.bank == 20 && s.test == 5 && s.classes == 2 && !s.noted);
    temp_dir_remove(dir);
}

TEST(test_limits_and_errors) {
    Sizes s;
    const char *small[] = {"DATA.TRAIN.DATA_LIMIT=7"};
    CHECK_FAILS(sizes_of(small, 1, &s), SR_ERR_CONFIG, "7 images do not fill one batch");
    const char *limited[] = {"DATA.TRAIN.DATA_LIMIT=50"};
    CHECK_OK(sizes_of(limited, 1, &s));
    CHECK(s.train == 48 && s.bank == 45 && s.test == 5);
    const char *capped[] = {"DATA.TRAIN.DATA_LIMIT=50", "NEAREST_NEIGHBOR.BANK_LIMIT=20"};
    CHECK_OK(sizes_of(capped, 2, &s));
    CHECK(s.train == 48 && s.bank == 20 && s.test == 5);
    // Nothing is held out of a balanced draw; the note says what is done instead.
    const char *balanced[] = {"DATA.TRAIN.DATA_LIMIT=50",
                              "DATA.TRAIN.DATA_LIMIT_SAMPLING.IS_BALANCED=True"};
    CHECK_OK(sizes_of(balanced, 2, &s));
    CHECK(s.bank == 45 && s.test == 5 && strstr(s.note, "without IS_BALANCED"));
    CHECK_OK(sizes_of(limited, 1, &s));
    CHECK(strstr(s.note, "no test set") && !strstr(s.note, "IS_BALANCED"));
    const char *two[] = {"DATA.TRAIN.DATA_SOURCES=[synthetic,synthetic]"};
    CHECK_FAILS(sizes_of(two, 1, &s), SR_ERR_CONFIG, "2 data sources");
    const char *views[] = {"DATA.TEST.TRANSFORMS=[{name: ImgReplicatePil, num_times: 2}, {name: "
                           "Resize, size: [16, 16]}, {name: ToTensor}]"};
    CHECK_FAILS(sizes_of(views, 1, &s), SR_ERR_CONFIG, "2 views");
}

// Folders give labels only if the loss reads them.
TEST(test_labels_of_folders) {
    char root[64], data[128];
    Sizes s;
    temp_dir_make(root);
    make_images(root, "a", 9);
    make_images(root, "b", 9);
    snprintf(data, sizeof data, "DATA.TRAIN.DATA_PATHS=[%s]", root);
    const char *overrides[] = {
        data, "DATA.TRAIN.DATA_SOURCES=[disk_folder]", "DATA.TRAIN.DATA_LIMIT=-1",
        "DATA.TRAIN.LABEL_SOURCES=[disk_filelist]", "DATA.TRAIN.LABEL_PATHS=[labels.npy]"};
    CHECK_OK(sizes_of(overrides, 4, &s));
    CHECK_FAILS(sizes_of(overrides, 5, &s), SR_ERR_CONFIG, "list the images too");
    temp_dir_remove(root);
}

// Reads the labels of the test images from the loader, in the order of its files.
static SrStatus test_labels(const char *train, const char *test, int64_t *labels, int n) {
    char a[256], b[256];
    SrConfig *config;
    SrSplit bank = {.note = ""}, split = {.note = ""};
    const SrBatch *batch;
    SrStatus status;
    snprintf(a, sizeof a, "DATA.TRAIN.DATA_PATHS=[%s]", train);
    snprintf(b, sizeof b, "DATA.TEST.DATA_PATHS=[%s]", test);
    const char *overrides[] = {a, b, "DATA.TRAIN.DATA_SOURCES=[]", "DATA.TRAIN.DATA_LIMIT=-1",
                               "DATA.TEST.MAX_BAD_IMAGE_SHARE=1"};
    SR_TRY(sr_config_load(CONFIG, overrides, 5, &config));
    SR_TRY_GOTO(sr_split_open_eval(config, SR_SIDE_BANK, false, 8, 16, NULL, &bank));
    SR_TRY_GOTO(sr_split_open_eval(config, SR_SIDE_TEST, false, 8, 16, &bank, &split));
    CHECK_INT(sr_loader_length(split.loader), n);
    CHECK_OK(sr_loader_start(split.loader, 0, 0));
    CHECK_OK(sr_loader_next(split.loader, &batch, NULL));
    for (int i = 0; i < n; i++)
        labels[i] = batch->label[i];
done:
    sr_split_close(&bank);
    sr_split_close(&split);
    sr_config_free(config);
    return status;
}

// Writes an image of one colour, which can be decoded.
static void make_readable(const char *root, const char *folder, const char *name) {
    uint8_t pixels[16 * 16 * 3] = {0};
    char path[256];
    size_t n;
    void *png = fixture_png(pixels, 16, 16, 3, &n);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    fixture_write(root, path, png, n);
    free(png);
}

// A test folder that lacks a class keeps the numbers of the training classes; one with an unknown
// class is refused.
TEST(test_classes_by_name) {
    char dir[64], train[128], test[128];
    int64_t labels[8];
    temp_dir_make(dir);
    const char *const classes[] = {"ape", "bee", "cat", "dog"};
    for (int c = 0; c < 4; c++) {
        char folder[64];
        snprintf(folder, sizeof folder, "set/train/%s", classes[c]);
        make_images(dir, folder, 5);
        snprintf(folder, sizeof folder, "other/%s", classes[c]);
        if (c == 1 || c == 3)
            make_readable(dir, folder, "1.png");
    }
    snprintf(train, sizeof train, "%s/set/train", dir);
    snprintf(test, sizeof test, "%s/other", dir);
    CHECK_OK(test_labels(train, test, labels, 2));
    CHECK_INT(labels[0], 1);
    CHECK_INT(labels[1], 3);
    char empty[160];
    snprintf(empty, sizeof empty, "%s/other/aaa", dir);
    CHECK_OK(sr_file_mkdirs(empty)); // no image has this class
    CHECK_OK(test_labels(train, test, labels, 2));
    CHECK_INT(labels[0], 1);
    make_readable(dir, "other/cow", "1.png");
    CHECK_FAILS(test_labels(train, test, labels, 3), SR_ERR_CONFIG,
                "DATA.TEST has images of 1 class that DATA.TRAIN does not have: 'cow'");
    temp_dir_remove(dir);
}

// Each list of class names is numbered separately, in byte order.
TEST(test_lists_by_name) {
    char dir[64], path[4][160], over[4][800];
    SrConfig *config;
    SrSplit bank = {.note = ""}, test = {.note = ""};
    const SrBatch *batch;
    static const char *const texts[] = {"x.png\nx.png\nx.png\n", "red\nblue\ngreen\n",
                                        "x.png\nx.png\n", "red\ngreen\n"};
    static const char *const names[] = {"a.txt", "a_names.txt", "b.txt", "b_names.txt"};
    static const char *const keys[] = {"TRAIN.DATA_PATHS", "TRAIN.LABEL_PATHS", "TEST.DATA_PATHS",
                                       "TEST.LABEL_PATHS"};
    temp_dir_make(dir);
    make_readable(dir, ".", "x.png");
    const char *overrides[7] = {"DATA.TRAIN.DATA_SOURCES=[disk_filelist]",
                                "DATA.TEST.DATA_SOURCES=[disk_filelist]",
                                "DATA.TRAIN.DATA_LIMIT=-1"};
    for (int i = 0; i < 4; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", dir, names[i]);
        CHECK_OK(sr_file_write(path[i], texts[i], strlen(texts[i])));
        snprintf(over[i], sizeof over[i], "DATA.%s=[%s]", keys[i], path[i]);
        overrides[3 + i] = over[i];
    }
    CHECK_OK(sr_config_load(CONFIG, overrides, 7, &config));
    CHECK_OK(sr_split_open_eval(config, SR_SIDE_BANK, false, 8, 16, NULL, &bank));
    CHECK_OK(sr_split_open_eval(config, SR_SIDE_TEST, false, 8, 16, &bank, &test));
    CHECK_OK(sr_loader_start(test.loader, 0, 0));
    CHECK_OK(sr_loader_next(test.loader, &batch, NULL));
    CHECK_INT(batch->label[0], 2); // byte order: blue 0, green 1, red 2
    CHECK_INT(batch->label[1], 1);
    CHECK_INT(test.classes, 3);
    sr_split_close(&bank);
    sr_split_close(&test);
    sr_config_free(config);
    temp_dir_remove(dir);
}

static void check_teacher_at(const char *path, bool found) {
    char key[128];
    const char *overrides[] = {"DATA.TRAIN.DATA_PATHS=[]", "DATA.TEST.DATA_PATHS=[]", key};
    SrConfig *config;
    snprintf(key, sizeof key, "DISTILLATION.TEACHER_MODEL={WEIGHTS_INIT: {PARAMS_FILE: %s}}", path);
    CHECK_OK(sr_config_load(CONFIG, overrides, SR_COUNT(overrides), &config));
    SrProblems problems = {.arena = &config->arena};
    CHECK_OK(sr_config_check_paths(config, &problems));
    CHECK_INT(problems.n, found ? 0 : 1);
    sr_config_free(config);
}

TEST(test_paths) {
    char dir[64];
    Sizes s;
    const char *home = getenv("HOME") ? getenv("HOME") : "";
    char before[256];
    snprintf(before, sizeof before, "%s", home);
    temp_dir_make(dir);
    make_images(dir, "photos/a", 9);
    make_images(dir, "photos/b", 9);
    CHECK(setenv("HOME", dir, 1) == 0);
    s = sizes_at("~/photos", NULL);
    CHECK(s.train == 16 && s.classes == 2);
    const char *missing[] = {"DATA.TRAIN.DATA_SOURCES=[]", "DATA.TRAIN.DATA_PATHS=[~/nowhere]"};
    CHECK_FAILS(sizes_of(missing, 2, &s), SR_ERR_CONFIG, "no such file or folder: /");
    check_teacher_at("~/photos", true);
    check_teacher_at("~/nowhere", false);
    CHECK(setenv("HOME", before, 1) == 0);
    temp_dir_remove(dir);
}

SR_TESTS(data_split, unit(test_folders), unit(test_labels_of_folders), unit(test_limits_and_errors),
         unit(test_classes_by_name), unit(test_paths), unit(test_lists_by_name))
