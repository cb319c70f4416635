// Tests sslrun svm, logreg, retrieve and knn, on files of features and on the trunk of a
// configuration: output and refusals.
#include <stdio.h>

#include "base/file.h"
#include "base/npy.h"
#include "formats/weights/safetensors.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/measure/feature_rows.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define CONFIG "tests/cli/tiny.yaml"

static ProgramResult result; // two 64 kB texts: too large for the stack of a test

#define RUN(...) program_run(&result, 1, (const char *const[]){__VA_ARGS__, NULL})

typedef struct {
    char dir[64], train[128], test[128], out[128], run[128];
} Fixture;

static void begin(Fixture *f) {
    SrMatrix rows;
    temp_dir_make(f->dir);
    snprintf(f->train, sizeof f->train, "%s/train.safetensors", f->dir);
    snprintf(f->test, sizeof f->test, "%s/test.safetensors", f->dir);
    snprintf(f->out, sizeof f->out, "%s/out", f->dir);
    snprintf(f->run, sizeof f->run, "CHECKPOINT.DIR=%s/run", f->dir);
    test_rows_planted(&rows, 90, 6, 3, 2, 1);
    test_rows_save(&rows, f->train, "res5");
    sr_matrix_deinit(&rows);
    test_rows_planted(&rows, 60, 6, 3, 2, 2);
    test_rows_save(&rows, f->test, "res5");
    sr_matrix_deinit(&rows);
}

static void expect_refused(const char *text) {
    if (result.code != 2 || !strstr(result.err, text))
        fail_msg("expected exit code 2 and \"%s\", got %d and:\n%s", text, result.code, result.err);
}

TEST(test_files) {
    Fixture f;
    char path[256];
    begin(&f);
    RUN("svm", f.train, f.test, "--out", f.out);
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "SVM: 60 test images against 90, 6 numbers each"));
    CHECK(strstr(result.out, "majority class") && strstr(result.out, "33.33") &&
          strstr(result.out, "features"));
    snprintf(path, sizeof path, "%s/test_ap.npy", f.out);
    CHECK(sr_file_exists(path));
    RUN("svm", f.train, f.test, "--json", "--layer=res5", "SVM.costs.costs_list=[1]");
    CHECK(result.code == 0 && strstr(result.out, "\"trained_top1\": ") &&
          strstr(result.out, "\"layer\": \"res5\""));
    RUN("svm", f.train, f.test, "--low-shot", "SVM.low_shot.k_values=[2]");
    CHECK(result.code == 0 && strstr(result.out, "low-shot SVM") && strstr(result.out, "std"));
    RUN("svm", f.train, f.test, "--low-shot", "SVM.low_shot.k_values=[2]", "--json");
    CHECK(result.code == 0 && strstr(result.out, "\"trained_k2_c0.01_mean\": "));
    RUN("logreg", f.train, f.test, "--json");
    CHECK(result.code == 0 && strstr(result.out, "\"trained_top1_lambda0.025\": "));
    RUN("logreg", f.train, f.test, "LOW_SHOT_BENCHMARK.LOGISTIC_REGRESSION.SAMPLES_PER_CLASS=5",
        "LOW_SHOT_BENCHMARK.LOGISTIC_REGRESSION.SEEDS=[1, 2]");
    CHECK(result.code == 0 && strstr(result.out, "over 2 draws"));
    temp_dir_remove(f.dir);
}

// Saves one side of features in VISSL's layout to a folder that holds both.
static void save_vissl(const char *dir, const char *split, uint64_t seed) {
    char path[256];
    SrMatrix rows;
    CHECK_OK(sr_file_mkdirs(dir));
    test_rows_planted(&rows, 30, 6, 3, 2, seed);
    snprintf(path, sizeof path, "%s/rank0_chunk0_%s_res5_features.npy", dir, split);
    CHECK_OK(sr_npy_save(path, "<f4", SR_SHAPE(30, 6), rows.x, 30 * 6 * sizeof *rows.x));
    snprintf(path, sizeof path, "%s/rank0_chunk0_%s_res5_targets.npy", dir, split);
    CHECK_OK(sr_npy_save(path, "<i8", SR_SHAPE(30), rows.label, 30 * sizeof *rows.label));
    sr_matrix_deinit(&rows);
}

// A single set of features suffices for `retrieve` only: a classifier is always right on the rows
// that it was fitted to.
TEST(test_one_set) {
    static const char *const verbs[] = {"knn", "svm", "logreg"};
    Fixture f;
    char folder[160];
    begin(&f);
    for (int i = 0; i < SR_COUNT(verbs); i++) {
        RUN(verbs[i], f.train);
        expect_refused("on its own training rows");
        RUN(verbs[i], f.test, f.test);
        expect_refused("on its own training rows");
    }
    snprintf(folder, sizeof folder, "NEAREST_NEIGHBOR.FEATURES.PATH=%s", f.train);
    RUN("knn", CONFIG, folder);
    expect_refused("on its own training rows");
    RUN("retrieve", f.train);
    CHECK_INT(result.code, 0);
    save_vissl(f.out, "train", 1);
    save_vissl(f.out, "test", 2);
    RUN("knn", f.out, "--json");
    CHECK(result.code == 0 && strstr(result.out, "\"test_images\": 30, \"bank_images\": 30"));
    snprintf(folder, sizeof folder, "NEAREST_NEIGHBOR.FEATURES.PATH=%s", f.out);
    RUN("knn", CONFIG, folder, "--json", "--layer", "res5");
    CHECK(result.code == 0 && strstr(result.out, "\"trained_top1_k5\": "));
    RUN("knn", CONFIG, folder, "--crops", "2");
    expect_refused("--crops cuts images, but these features come from files "
                   "(NEAREST_NEIGHBOR.FEATURES.PATH)");
    RUN("knn", f.train, f.test, "--crops", "2");
    expect_refused("--crops cuts images, but these features come from files; give");
    temp_dir_remove(f.dir);
}

// Saves n rows whose classes have their own order; class c has the name names[c].
static void save_named(const char *path, const SrMatrix *rows, const char *const *names, int n) {
    char padded[4][4] = {""};
    for (int c = 0; c < n; c++)
        snprintf(padded[c], sizeof padded[c], "%s", names[c]);
    SrNamedTensor t[] = {{"res5", {SR_SHAPE((int)rows->n, rows->d), SR_F32, rows->x}},
                         {"labels", {SR_SHAPE((int)rows->n), SR_I64, rows->label}},
                         {"classes", {SR_SHAPE(n, 4), SR_U8, padded}}};
    CHECK_OK(sr_safetensors_save(path, t, 3, NULL, NULL, 0));
}

// A test set that lacks a class has other numbers for the rest: classes are matched by name.
TEST(test_classes_by_name) {
    Fixture f;
    SrMatrix rows;
    begin(&f);
    test_rows_planted(&rows, 90, 6, 3, 9, 1);
    save_named(f.train, &rows, (const char *const[]){"ant", "bee", "cow"}, 3);
    sr_matrix_deinit(&rows);
    test_rows_planted(&rows, 60, 6, 3, 9, 2);
    int8_t keep[60];
    for (int i = 0; i < 60; i++)
        keep[i] = rows.label[i]-- > 0; // without ant, bee is class 0 and cow class 1
    sr_matrix_keep(&rows, keep);
    save_named(f.test, &rows, (const char *const[]){"bee", "cow"}, 2);
    RUN("knn", f.train, f.test, "--json");
    CHECK(result.code == 0 && strstr(result.out, "\"trained_top1_k90\": 100"));
    RUN("logreg", f.train, f.test);
    CHECK(result.code == 0 && strstr(result.out, "100.00"));
    save_named(f.test, &rows, (const char *const[]){"bee", "elk"}, 2);
    RUN("svm", f.train, f.test);
    expect_refused("has rows of classes that");
    expect_refused("'elk'");
    sr_matrix_deinit(&rows);
    temp_dir_remove(f.dir);
}

// Features are normalised unless a key says otherwise; then a line warns if their lengths differ.
TEST(test_normalised) {
    Fixture f;
    SrMatrix rows;
    begin(&f);
    test_rows_planted(&rows, 90, 6, 3, 2, 1);
    for (int i = 0; i < 90; i++)
        for (int j = 0; j < 6 && i % 3 == 0; j++)
            rows.x[6 * i + j] *= 40;
    test_rows_save(&rows, f.train, "res5");
    sr_matrix_deinit(&rows);
    RUN("knn", f.train, f.test);
    CHECK(result.code == 0 && strstr(result.out, "(6 numbers), normalised, "));
    CHECK(!strstr(result.err, "times as long"));
    RUN("knn", f.train, f.test, "--json");
    CHECK(strstr(result.out, "\"normalised\": true"));
    RUN("knn", f.train, f.test, "NEAREST_NEIGHBOR.L2_NORM_FEATS=False");
    CHECK(result.code == 0 && strstr(result.out, "(6 numbers), not normalised, "));
    CHECK(strstr(result.err, "times as long") && strstr(result.err, "L2_NORM_FEATS=True"));
    temp_dir_remove(f.dir);
}

TEST(test_no_image_read) {
    static const char *const verbs[] = {"knn", "svm", "logreg", "retrieve"};
    Fixture f;
    char train[128], test[128], broken[64];
    begin(&f);
    fixture_class_folder(f.dir, "whole", 12);
    for (int i = 0; i < 4; i++) {
        snprintf(broken, sizeof broken, "broken/%s/%d.png", i % 2 ? "y" : "x", i);
        fixture_write(f.dir, broken, "no image", 8);
    }
    for (int i = 0; i < 2 * SR_COUNT(verbs); i++) {
        snprintf(train, sizeof train,
                 "DATA.TRAIN={DATA_SOURCES: [disk_folder], DATA_PATHS: [%s/%s]}", f.dir,
                 i % 2 ? "whole" : "broken");
        snprintf(test, sizeof test, "DATA.TEST={DATA_SOURCES: [disk_folder], DATA_PATHS: [%s/%s]}",
                 f.dir, i % 2 ? "broken" : "whole");
        RUN(verbs[i / 2], CONFIG, f.run, "--random", train, test, "DATA.TRAIN.DATA_LIMIT=-1",
            "DATA.TRAIN.MAX_BAD_IMAGE_SHARE=1", "DATA.TEST.MAX_BAD_IMAGE_SHARE=1");
        if (result.code != 1 || !strstr(result.err, "none of the 4 images could be read"))
            fail_msg("%s: exit code %d: %s", verbs[i / 2], result.code, result.err);
    }
    temp_dir_remove(f.dir);
}

TEST(test_neighbours) {
    Fixture f;
    begin(&f);
    RUN("retrieve", f.train, f.test);
    CHECK(result.code == 0 && strstr(result.out, "mAP") &&
          strstr(result.out, "60 test images against 90"));
    RUN("retrieve", f.train, "--json", "RANKING.NORMALIZE_FEATS=False");
    CHECK(result.code == 0 && strstr(result.out, "\"trained_map\": ") &&
          strstr(result.out, "\"trained_p10\": "));
    RUN("knn", f.train, f.test, "NEAREST_NEIGHBOR.TOPK=[3, 7]");
    CHECK(result.code == 0 && strstr(result.out, "features") && strstr(result.out, "k=7"));
    RUN("knn", CONFIG, "--layer", "layer3", "--random");
    CHECK(result.code == 0 && strstr(result.out, "layer layer3 ("));
    RUN("knn", CONFIG, "--layer", "layr3", "--random");
    expect_refused("there is no layer 'layr3'");
    RUN("retrieve", f.train, f.test, "RANKING.APPLY_PCA=True");
    expect_refused("RANKING.APPLY_PCA");
    temp_dir_remove(f.dir);
}

TEST(test_trunk) {
    Fixture f;
    begin(&f);
    RUN(CONFIG, f.run, "OPTIMIZER.num_epochs=1");
    CHECK_INT(result.code, 0);
    RUN("svm", CONFIG, f.run, "OPTIMIZER.num_epochs=1");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "raw pixels") && strstr(result.out, "untrained, ") &&
          strstr(result.out, "trained trunk") && strstr(result.out, "layer flatten (32 numbers)"));
    RUN("logreg", CONFIG, f.run, "OPTIMIZER.num_epochs=1", "--no-baselines", "--layer", "layer4");
    CHECK(result.code == 0 && !strstr(result.out, "raw pixels") &&
          strstr(result.out, "layer layer4"));
    RUN("retrieve", CONFIG, f.run, "OPTIMIZER.num_epochs=1");
    CHECK(result.code == 0 && strstr(result.out, "raw pixels") && strstr(result.out, "P@10"));
    CHECK(strstr(result.err, " svm ") && strstr(result.err, "a classifier on the same features"));
    RUN("retrieve", CONFIG, f.run, "OPTIMIZER.num_epochs=1", "IMG_RETRIEVAL.RESIZE_IMG=512",
        "IMG_RETRIEVAL.FEATS_PROCESSING_TYPE=gem", "IMG_RETRIEVAL.N_PCA=512");
    expect_refused("IMG_RETRIEVAL sets RESIZE_IMG, FEATS_PROCESSING_TYPE: resizing, pooling and ");
    RUN("retrieve", CONFIG, f.run, "OPTIMIZER.num_epochs=1", "IMG_RETRIEVAL.RESIZE_IMG=512",
        "~IMG_RETRIEVAL", "--no-baselines");
    CHECK_INT(result.code, 0);
    RUN("svm", CONFIG, f.run, "--layer", "layer9");
    expect_refused("layer9");
    temp_dir_remove(f.dir);
}

// Copies the table's line of the trained trunk with its figures.
static void trained_line(char *out, size_t bytes) {
    const char *line = strstr(result.out, "trained trunk");
    CHECK(line && strcspn(line, "\n") + 1 < bytes);
    snprintf(out, bytes, "%.*s", (int)strcspn(line, "\n"), line);
    CHECK(strpbrk(out, "123456789"));
}

// Without a checkpoint and PARAMS_FILE no result is called trained; --random requests the
// untrained trunk.
TEST(test_no_weights) {
    static const char *const verbs[] = {"knn", "svm", "logreg", "retrieve"};
    Fixture f;
    begin(&f);
    for (int i = 0; i < SR_COUNT(verbs); i++) {
        RUN(verbs[i], CONFIG, f.run);
        expect_refused("MODEL.WEIGHTS_INIT.PARAMS_FILE; --random");
        RUN(verbs[i], CONFIG, f.run, "--random");
        if (result.code != 0)
            fail_msg("%s --random: %s", verbs[i], result.err);
        CHECK(strstr(result.out, "untrained, ") && strstr(result.out, "raw pixels"));
        CHECK(!strstr(result.out, "trained trunk") && strstr(result.out, "32 numbers"));
        RUN(verbs[i], CONFIG, f.run, "--random", "--no-baselines");
        expect_refused("leave out --no-baselines");
        RUN(verbs[i], f.train, f.test, "--random");
        expect_refused("leave out the features");
    }
    RUN("svm", CONFIG, f.run, "--random", "--out", f.out);
    expect_refused("leave out --random");
    RUN("extract", "resnet20", "--nodes", "linear", "--data", "tests/data/files", "--out", f.out);
    expect_refused("needs --weights FILE, or --random");
    RUN("extract", "resnet20", "--nodes", "linear", "--data", "tests/data/files", "--out", f.out,
        "--random", "--size", "32");
    if (result.code != 0)
        fail_msg("extract --random: %s", result.err);
    temp_dir_remove(f.dir);
}

// --weights FILE acts like PARAMS_FILE: both give the same figures.
TEST(test_weights) {
    static const char *const verbs[] = {"knn", "svm", "logreg", "retrieve"};
    Fixture f;
    char file[160], key[224], by_flag[4096];
    begin(&f);
    snprintf(file, sizeof file, "%s/run/checkpoint.safetensors", f.dir);
    snprintf(key, sizeof key, "MODEL.WEIGHTS_INIT.PARAMS_FILE=%s", file);
    RUN(CONFIG, f.run, "OPTIMIZER.num_epochs=1");
    CHECK_INT(result.code, 0);
    for (int i = 0; i < SR_COUNT(verbs); i++) {
        RUN(verbs[i], CONFIG, "--weights", file, "--no-baselines", "CHECKPOINT.DIR=no/such/run");
        if (result.code != 0 || !strstr(result.err, file))
            fail_msg("%s --weights: %s", verbs[i], result.err);
        trained_line(by_flag, sizeof by_flag);
        RUN(verbs[i], CONFIG, key, "--no-baselines", "CHECKPOINT.DIR=no/such/run");
        CHECK(strstr(result.out, by_flag));
        RUN(verbs[i], CONFIG, "--weights", "no/such.pth");
        expect_refused("no/such.pth: no such file");
        RUN(verbs[i], CONFIG, "--weights", file, "--random");
        expect_refused("leave out --random");
        RUN(verbs[i], f.train, f.test, "--weights", file);
        expect_refused("leave out the features");
    }
    RUN("check", CONFIG, "--weights", file);
    expect_refused("MODEL.WEIGHTS_INIT.PARAMS_FILE=FILE");
    RUN("audit", f.dir, "--weights", file);
    expect_refused("--model names the checkpoint");
    RUN("similar", "a.png", "--in", f.dir, "--weights", file);
    expect_refused("--model CHECKPOINT");
    temp_dir_remove(f.dir);
}

TEST(test_refused) {
    Fixture f;
    begin(&f);
    RUN("svm");
    expect_refused("no name is given");
    RUN("svm", "A", f.test);
    expect_refused("expected features or a configuration: A: there is no such");
    RUN("retrieve", "no/such");
    expect_refused("expected features or a configuration: no/such: there is no such");
    RUN("svm", f.train, f.test, "SVM.cost.costs_list=[1]");
    expect_refused("did you mean 'SVM.costs'");
    RUN("svm", f.train, f.test, "--lowshot");
    expect_refused("did you mean '--low-shot'");
    RUN("svm", f.train, f.test, "--layer", "res55");
    expect_refused("did you mean 'res5'");
    RUN("svm", f.train, f.test, "--low-shot", "--out", f.out);
    expect_refused("leave out --out");
    RUN("logreg", f.train, f.test, f.test);
    expect_refused("one name too many");
    RUN("logreg", f.dir);
    expect_refused("holds no features of train images");
    RUN("logreg", "no/such.safetensors", f.test);
    expect_refused("no such file");
    temp_dir_remove(f.dir);
}

SR_TESTS(linear_verbs, unit(test_files), unit(test_neighbours), unit(test_one_set),
         unit(test_classes_by_name), unit(test_normalised), unit(test_no_image_read),
         unit(test_trunk), unit(test_no_weights), unit(test_weights), unit(test_refused))
