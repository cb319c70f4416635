// Tests features from files: every layout, rows sorted into VISSL's order, refusals.
#include <stdio.h>

#include "base/file.h"
#include "base/npy.h"
#include "formats/weights/safetensors.h"
#include "tests/check.h"
#include "tests/measure/feature_rows.h"
#include "tests/temp_dir.h"
#include "trainer/eval/extract/feature_files.h"

static void save_npy(const char *dir, const char *name, const char *descr, SrShape shape,
                     const void *data, size_t bytes) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    CHECK_OK(sr_npy_save(path, descr, shape, data, bytes));
}

#define SAVE(name, descr, shape, data) save_npy(dir, name, descr, shape, data, sizeof(data))

static SrStatus load(const char *path, const char *layer, const char *split, SrMatrix *out,
                     SrFeatureNames *names) {
    SrFeatureFiles from = {.path = path, .layer = layer, .split = split};
    return sr_features_load(&from, out, names);
}

TEST(test_one_file) {
    char dir[64], path[256];
    SrMatrix f, g;
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/a.safetensors", dir);
    test_rows_planted(&f, 9, 5, 3, 1, 4);
    test_rows_save(&f, path, "res5");
    CHECK_OK(load(path, NULL, "train", &g, NULL));
    CHECK(g.n == 9 && g.d == 5 && !g.target);
    CHECK(memcmp(g.x, f.x, 9 * 5 * sizeof(float)) == 0 &&
          memcmp(g.label, f.label, 9 * sizeof(int64_t)) == 0);
    CHECK_INT(sr_matrix_classes(&g), 3);
    sr_matrix_deinit(&g);
    CHECK_FAILS(load(path, "res4", "train", &g, NULL), SR_ERR_CONFIG, "did you mean 'res5'");
    f.x[7] = NAN;
    test_rows_save(&f, path, "res5");
    CHECK_FAILS(load(path, NULL, "train", &g, NULL), SR_ERR_CONFIG,
                "row 1 of 'res5' is not finite");
    f.x[7] = 0;
    f.label[2] = -2;
    test_rows_save(&f, path, "res5");
    CHECK_FAILS(load(path, NULL, "train", &g, NULL), SR_ERR_CONFIG, "label -2");
    sr_matrix_deinit(&f);
    SAVE("only.npy", "<f4", SR_SHAPE(2, 1, 3), ((float[]){1, 2, 3, 4, 5, 6}));
    snprintf(path, sizeof path, "%s/only.npy", dir);
    CHECK_OK(load(path, NULL, "train", &g, NULL));
    CHECK(g.n == 2 && g.d == 3 && g.label[1] == -1);
    sr_matrix_deinit(&g);
    temp_dir_remove(dir);
}

TEST(test_shards) {
    char dir[64];
    SrMatrix g;
    SrFeatureNames names = {0};
    temp_dir_make(dir);
    SAVE("a-00000.npy", "<f4", SR_SHAPE(2, 2), ((float[]){1, 2, 3, 4}));
    SAVE("labels-00000.npy", "<i8", SR_SHAPE(2), ((int64_t[]){1, 0}));
    SAVE("valid-00000.npy", "|b1", SR_SHAPE(2), ((uint8_t[]){1, 0}));
    SAVE("files-00000.npy", "|S3", SR_SHAPE(2), ((char[]){'o', 'n', 'e', 't', 'w', 'o'}));
    SAVE("classes.npy", "|S3", SR_SHAPE(2), ((char[]){'c', 'a', 't', 'd', 'o', 'g'}));
    SAVE("a-00001.npy", "<f4", SR_SHAPE(1, 2), ((float[]){5, 6}));
    SAVE("labels-00001.npy", "<i8", SR_SHAPE(1), ((int64_t[]){2}));
    CHECK_OK(load(dir, NULL, "train", &g, &names));
    CHECK(g.n == 3 && g.d == 2 && g.x[4] == 5);
    CHECK_INT(names.files.n, 3);
    CHECK_STR(sr__string_list_get(&names.files, 1), "two");
    CHECK_STR(sr__string_list_get(&names.files, 2), ""); // its shard has no names
    CHECK_INT(names.classes.n, 2);
    CHECK_STR(sr__string_list_get(&names.classes, 0), "cat");
    // The second image could not be read.
    CHECK(g.label[0] == 1 && g.label[1] == -1 && g.label[2] == 2);
    sr_matrix_deinit(&g);
    sr_feature_names_deinit(&names);
    SAVE("b-00000.npy", "<f4", SR_SHAPE(2, 1), ((float[]){1, 2}));
    CHECK_FAILS(load(dir, NULL, "train", &g, NULL), SR_ERR_CONFIG, "choose one with --layer: a, b");
    CHECK_OK(load(dir, "b", "train", &g, NULL));
    CHECK(g.n == 2 && g.d == 1);
    sr_matrix_deinit(&g);
    SAVE("a-00001.npy", "<f4", SR_SHAPE(1, 3), ((float[]){5, 6, 7}));
    CHECK_FAILS(load(dir, "a", "train", &g, NULL), SR_ERR_CONFIG, "rows of 3 numbers, expected 2");
    SAVE("a-00001.npy", "<f4", SR_SHAPE(2, 2), ((float[]){5, 6, 7, 8}));
    CHECK_FAILS(load(dir, "a", "train", &g, NULL), SR_ERR_CONFIG,
                "has 1 rows, the features have 2");
    temp_dir_remove(dir);
}

// An unreadable image is not a row of an evaluation, whatever its labels, also with several
// labels per image.
TEST(test_readable_only) {
    char dir[64];
    SrMatrix g;
    SrFeatureNames names = {0};
    SrFeatureFiles from = {.path = dir, .split = "train", .readable_only = true};
    temp_dir_make(dir);
    SAVE("a-00000.npy", "<f4", SR_SHAPE(3, 1), ((float[]){1, 2, 3}));
    SAVE("labels-00000.npy", "<i8", SR_SHAPE(3, 2), ((int64_t[]){1, 0, 1, 1, 0, -1}));
    SAVE("valid-00000.npy", "|b1", SR_SHAPE(3), ((uint8_t[]){1, 0, 1}));
    SAVE("files-00000.npy", "|S1", SR_SHAPE(3), ((char[]){'x', 'y', 'z'}));
    CHECK_OK(sr_features_load(&from, &g, &names));
    CHECK(g.n == 2 && g.x[0] == 1 && g.x[1] == 3);
    CHECK(memcmp(g.target, ((int8_t[]){1, 0, 0, -1}), 4) == 0);
    CHECK_INT(names.files.n, 0);
    sr_matrix_deinit(&g);
    sr_feature_names_deinit(&names);
    SAVE("valid-00000.npy", "|b1", SR_SHAPE(3), ((uint8_t[]){0, 0, 0}));
    CHECK_FAILS(sr_features_load(&from, &g, NULL), SR_ERR_CONFIG, "none of the 3 images");
    temp_dir_remove(dir);
}

// Labels of shards that name their classes differently cannot be compared.
TEST(test_classes_of_shards) {
    char dir[64], path[256];
    SrMatrix g;
    SrFeatureNames names = {0};
    SrTensor cat = {SR_SHAPE(2, 3), SR_U8, (char[]){'c', 'a', 't', 'd', 'o', 'g'}};
    SrTensor cow = {SR_SHAPE(2, 3), SR_U8, (char[]){'c', 'a', 't', 'c', 'o', 'w'}};
    temp_dir_make(dir);
    for (int i = 0; i < 2; i++) {
        SrNamedTensor tensors[] = {{"res5", {SR_SHAPE(1, 1), SR_F32, (float[]){1}}},
                                   {"labels", {SR_SHAPE(1), SR_I64, (int64_t[]){1}}},
                                   {"classes", i ? cow : cat}};
        snprintf(path, sizeof path, "%s/features-%05d.safetensors", dir, i);
        CHECK_OK(sr_safetensors_save(path, tensors, 3, NULL, NULL, 0));
    }
    CHECK_FAILS(load(dir, NULL, "train", &g, &names), SR_ERR_CONFIG,
                "its classes are not those of the files before it");
    sr_feature_names_deinit(&names);
    temp_dir_remove(dir);
}

// extract.json tells how many images the rows belong to.
TEST(test_part_of_an_extraction) {
    static const char json[] = "{\"images\": 3, \"split\": \"train\"}\n";
    char dir[64], path[128];
    SrMatrix g;
    bool by_split = true;
    temp_dir_make(dir);
    SAVE("a-00000.npy", "<f4", SR_SHAPE(2, 1), ((float[]){1, 2}));
    snprintf(path, sizeof path, "%s/extract.json", dir);
    CHECK_OK(sr_file_write(path, json, sizeof json - 1));
    CHECK_FAILS(load(dir, NULL, "train", &g, NULL), SR_ERR_CONFIG,
                "features of 2 images, and its extract.json is of 3");
    SAVE("a-00001.npy", "<f4", SR_SHAPE(1, 1), ((float[]){3}));
    CHECK_OK(load(dir, NULL, "train", &g, NULL));
    CHECK_INT(g.n, 3);
    sr_matrix_deinit(&g);
    CHECK_OK(sr_features_by_split(&(SrFeatureFiles){.path = dir, .split = "test"}, &by_split));
    CHECK(!by_split);
    temp_dir_remove(dir);
}

static void save_named(const char *path, const SrTensor *files, const char *json) {
    SrNamedTensor tensors[] = {{"res5", {SR_SHAPE(2, 1), SR_F32, (float[]){1, 2}}},
                               {"files", files ? *files : (SrTensor){.data = NULL}}};
    CHECK_OK(sr_safetensors_save(path, tensors, files ? 2 : 1, (const char *[]){"files"}, &json,
                                 json ? 1 : 0));
}

// A list in a file that holds values other than names is refused instead of ending the program.
TEST(test_names) {
    static const struct {
        const char *json, *expected;
    } cases[] = {
        {"[[1], [2]]", "name 0 of 'files' is not a string"},
        {"[\"a\", 7]", "name 1 of 'files'"},
        {"[\"a\", null]", "name 1 of 'files'"},
        {"{\"a\": \"b\"}", "no list of names"},
        {"\"a\"", "no list of names"},
        {"[\"a\"]", "1 names under 'files'"},
        {"[", "files.safetensors"},
    };
    char dir[64], path[256];
    SrMatrix g;
    SrFeatureNames names = {0};
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/files.safetensors", dir);
    for (int i = 0; i < SR_COUNT(cases); i++) {
        save_named(path, NULL, cases[i].json);
        CHECK_FAILS(load(path, NULL, "train", &g, &names), SR_ERR_CONFIG, cases[i].expected);
        sr_feature_names_deinit(&names);
    }
    save_named(path, NULL, "[\"a\", \"\\u00e9\"]");
    CHECK_OK(load(path, NULL, "train", &g, &names));
    CHECK_STR(sr__string_list_get(&names.files, 1), "\xc3\xa9");
    sr_feature_names_deinit(&names);
    sr_matrix_deinit(&g);
    SrTensor bytes = {SR_SHAPE(2, 3), SR_U8, (char[]){'o', 'n', 'e', 'b', 0, 'x'}};
    save_named(path, &bytes, NULL);
    CHECK_OK(load(path, NULL, "train", &g, &names));
    CHECK_STR(sr__string_list_get(&names.files, 0), "one");
    CHECK_STR(sr__string_list_get(&names.files, 1), "b");
    sr_feature_names_deinit(&names);
    sr_matrix_deinit(&g);
    bytes.shape = SR_SHAPE(3, 2);
    save_named(path, &bytes, NULL);
    CHECK_FAILS(load(path, NULL, "train", &g, &names), SR_ERR_CONFIG, "3 names under 'files'");
    bytes = (SrTensor){SR_SHAPE(2), SR_F32, (float[]){1, 2}};
    save_named(path, &bytes, NULL);
    CHECK_FAILS(load(path, NULL, "train", &g, &names), SR_ERR_CONFIG, "no list of names");
    sr_feature_names_deinit(&names);
    temp_dir_remove(dir);
}

TEST(test_vissl) {
    char dir[64];
    SrMatrix g;
    temp_dir_make(dir);
    SAVE("rank0_chunk0_train_res5_features.npy", "<f4", SR_SHAPE(2, 1), ((float[]){10, 12}));
    SAVE("rank0_chunk0_train_res5_targets.npy", "<i8", SR_SHAPE(2, 2), ((int64_t[]){1, 0, -1, 1}));
    SAVE("rank0_chunk0_train_res5_inds.npy", "<i8", SR_SHAPE(2), ((int64_t[]){0, 2}));
    SAVE("rank1_chunk0_train_res5_features.npy", "<f4", SR_SHAPE(2, 1), ((float[]){11, 10}));
    SAVE("rank1_chunk0_train_res5_targets.npy", "<i8", SR_SHAPE(2, 2), ((int64_t[]){0, 0, 1, 0}));
    SAVE("rank1_chunk0_train_res5_inds.npy", "<i8", SR_SHAPE(2), ((int64_t[]){1, 0}));
    CHECK_OK(load(dir, "res5", "train", &g, NULL));
    CHECK(g.n == 3 && g.d == 1 && g.n_targets == 2); // image 0 occurs twice
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(g.x[i], 10 + i, 0);
    const int8_t expected[] = {1, 0, 0, 0, -1, 1};
    CHECK(memcmp(g.target, expected, sizeof expected) == 0);
    sr_matrix_deinit(&g);
    bool by_split = false;
    CHECK_OK(sr_features_by_split(&(SrFeatureFiles){.path = dir, .split = "train"}, &by_split));
    CHECK(by_split);
    CHECK_FAILS(load(dir, "res5", "test", &g, NULL), SR_ERR_CONFIG, "no features of test images");
    CHECK_FAILS(load("no/such", NULL, "test", &g, NULL), SR_ERR_CONFIG, "no such file");
    temp_dir_remove(dir);
}

TEST(test_scaling) {
    SrMatrix f, g;
    test_rows_planted(&f, 50, 3, 2, 2, 5);
    test_rows_planted(&g, 4, 3, 2, 2, 6);
    for (int i = 0; i < 50; i++)
        f.x[3 * i + 2] = 7;
    float before = g.x[0], third = g.x[2];
    CHECK_OK(sr_matrix_standardize(&f, &g));
    double mean = 0, square = 0;
    for (int i = 0; i < 50; i++) {
        mean += (double)f.x[3 * i] / 50;
        square += (double)f.x[3 * i] * (double)f.x[3 * i] / 50;
    }
    CHECK_NEAR(mean, 0, 1e-6);
    CHECK_NEAR(square, 1, 1e-5);
    CHECK(g.x[0] != before);
    CHECK_NEAR(g.x[2], third - 7, 1e-6); // a constant column is centred and not scaled
    sr_matrix_normalize(&g, 0);
    CHECK_NEAR(g.x[0] * g.x[0] + g.x[1] * g.x[1] + g.x[2] * g.x[2], 1, 1e-6);
    sr_matrix_deinit(&f);
    sr_matrix_deinit(&g);
}

SR_TESTS(feature_files, unit(test_one_file), unit(test_shards), unit(test_readable_only),
         unit(test_classes_of_shards), unit(test_part_of_an_extraction), unit(test_names),
         unit(test_vissl), unit(test_scaling))
