// Which images are trained on and which are the test, from folders alone.
#include <stdio.h>

#include "base/file.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "trainer/run/data_split.h"

#define CONFIG "tests/cli/tiny.yaml"

// n files that look like images of one class; nothing here decodes them.
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
} Sizes;

static SrStatus sizes_of(const char *const *overrides, int n, Sizes *out) {
    SrConfig *config;
    SrSplit train = {.note = ""}, bank = {.note = ""}, test = {.note = ""};
    SrStatus status;
    SR_TRY(sr_config_load(CONFIG, overrides, n, &config));
    SR_TRY_GOTO(sr_split_open_train(config, &train));
    SR_TRY_GOTO(sr_split_open_eval(config, SR_SIDE_BANK, false, 8, 16, &bank));
    SR_TRY_GOTO(sr_split_open_eval(config, SR_SIDE_TEST, false, 8, 16, &test));
    *out = (Sizes){sr_loader_length(train.loader), sr_loader_length(bank.loader),
                   sr_loader_length(test.loader), test.classes, *test.note != '\0'};
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

static void test_folders(void **state) {
    (void)state;
    char dir[64], path[128], other[128];
    Sizes s;
    temp_dir_make(dir);
    make_images(dir, "set/train/cat", 9);
    make_images(dir, "set/train/dog", 10);
    make_images(dir, "set/test/cat", 3);
    make_images(dir, "set/test/dog", 2);
    make_images(dir, "flat", 20);
    // train/ beside test/: named by their parent or by train/ itself.
    snprintf(path, sizeof path, "%s/set", dir);
    s = sizes_at(path, NULL);
    CHECK(s.train == 16 && s.bank == 19 && s.test == 5 && s.classes == 2 && !s.noted);
    snprintf(path, sizeof path, "%s/set/train", dir);
    s = sizes_at(path, NULL);
    CHECK(s.train == 16 && s.bank == 19 && s.test == 5 && s.classes == 2);
    // A folder without such parts: a tenth is held out, and said so.
    snprintf(other, sizeof other, "%s/set/test", dir);
    snprintf(path, sizeof path, "%s/flat", dir);
    s = sizes_at(path, NULL);
    CHECK(s.train == 16 && s.bank == 18 && s.test == 2 && s.classes == 0 && s.noted);
    // A test set of its own.
    s = sizes_at(path, other);
    CHECK(s.bank == 20 && s.test == 5 && s.classes == 2 && !s.noted);
    temp_dir_remove(dir);
}

static void test_limits_and_errors(void **state) {
    (void)state;
    Sizes s;
    const char *small[] = {"DATA.TRAIN.DATA_LIMIT=7"};
    CHECK_FAILS(sizes_of(small, 1, &s), SR_ERR_CONFIG, "7 images do not fill one batch");
    const char *limited[] = {"DATA.TRAIN.DATA_LIMIT=50"};
    CHECK_OK(sizes_of(limited, 1, &s));
    CHECK(s.train == 48 && s.bank == 45 && s.test == 5);
    const char *capped[] = {"DATA.TRAIN.DATA_LIMIT=50", "NEAREST_NEIGHBOR.BANK_LIMIT=20"};
    CHECK_OK(sizes_of(capped, 2, &s));
    CHECK(s.train == 48 && s.bank == 20 && s.test == 5);
    const char *two[] = {"DATA.TRAIN.DATA_SOURCES=[synthetic,synthetic]"};
    CHECK_FAILS(sizes_of(two, 1, &s), SR_ERR_CONFIG, "2 data sources");
    const char *views[] = {"DATA.TEST.TRANSFORMS=[{name: ImgReplicatePil, num_times: 2}, {name: "
                           "Resize, size: [16, 16]}, {name: ToTensor}]"};
    CHECK_FAILS(sizes_of(views, 1, &s), SR_ERR_CONFIG, "2 views");
}

// Labels that would not be read are no labels.
static void test_labels_of_folders(void **state) {
    (void)state;
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

SR_TESTS(data_split, unit(test_folders), unit(test_labels_of_folders), unit(test_limits_and_errors))
