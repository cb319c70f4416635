// Tests sslrun cluster: from images to features to files of labels, and a training on these
// labels.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/npy.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define CONFIG "tests/cli/tiny.yaml"
#define CLUSTERFIT "configs/pretrain/clusterfit/clusterfit_cifar10.yaml"
#define STEM "features_train_features_N4_D32"

static ProgramResult result; // two 64 kB texts: too large for the stack of a test

#define RUN(...) program_run(&result, 1, (const char *const[]){__VA_ARGS__, NULL})

static void write_images(const char *dir, int n) {
    uint8_t pixels[20 * 24 * 3];
    CHECK_OK(sr_file_mkdirs(dir));
    for (int i = 0; i < n; i++) {
        char name[32];
        size_t bytes;
        fixture_noise(pixels, sizeof pixels, (uint64_t)i);
        void *png = fixture_png(pixels, 20, 24, 3, &bytes);
        snprintf(name, sizeof name, "%c/%d.png", 'a' + i % 2, i);
        fixture_write(dir, name, png, bytes);
        sr_free(png);
    }
}

static void check_files(const char *dir, int expected) {
    char folder[128], **names;
    int n;
    snprintf(folder, sizeof folder, "%s/clusters", dir);
    CHECK_OK(sr_file_list(folder, &names, &n));
    sr_file_list_free(names, n);
    CHECK_INT(n, expected);
}

// A disk that is full at the third file leaves no file, so that the same command may follow. One
// that is full for the line about the files leaves them whole, and the exit code is 0.
static void check_full_disk(const char *features, const char *out, const char *dir) {
    char program[4096], command[8192];
    program_path(program);
    snprintf(command, sizeof command,
             "ulimit -f 1; trap '' XFSZ; '%s' cluster '%s' '%s' '%s' CLUSTERFIT.NUM_CLUSTERS=2 "
             ">/dev/null 2>&1",
             program, features, features, out);
    CHECK_INT(WEXITSTATUS(system(command)), 1);
    check_files(dir, 0);
    if (!sr_file_exists("/dev/full"))
        return;
    snprintf(command, sizeof command,
             "'%s' cluster '%s' '%s' '%s' CLUSTERFIT.NUM_CLUSTERS=4 >/dev/full 2>&1", program,
             features, features, out);
    CHECK_INT(WEXITSTATUS(system(command)), 0);
    check_files(dir, 5);
}

TEST(test_clusterfit) {
    char dir[64], run[128], images[128], features[128], weights[160], out[160], list[256],
        labels[256];
    SrNpy npy;
    temp_dir_make(dir);
    snprintf(run, sizeof run, "CHECKPOINT.DIR=%s/run", dir);
    snprintf(images, sizeof images, "%s/images", dir);
    snprintf(features, sizeof features, "%s/features", dir);
    snprintf(weights, sizeof weights, "%s/run/checkpoint.safetensors", dir);
    snprintf(out, sizeof out, "CLUSTERFIT.OUTPUT_DIR=%s/clusters", dir);
    write_images(images, 17);
    RUN(CONFIG, run, "OPTIMIZER.num_epochs=1");
    CHECK_INT(result.code, 0);
    RUN("extract", CONFIG, "--weights", weights, "--nodes", "flatten:features", "--data", images,
        "--size", "16", "--out", features);
    CHECK_INT(result.code, 0);
    check_full_disk(features, out, dir);
    setenv("SR_BAR_AFTER", "0", 1);
    program_run_terminal(&result, 80,
                         (const char *const[]){"cluster", features, features, out,
                                               "CLUSTERFIT.NUM_CLUSTERS=4", "--force", NULL});
    unsetenv("SR_BAR_AFTER");
    CHECK(strstr(result.out, "iterations of k-means ["));
    RUN("cluster", features, features, out, "CLUSTERFIT.NUM_CLUSTERS=4", "--force");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "4 clusters, centres of 32 numbers") &&
          strstr(result.out, "17 images") && strstr(result.out, "purity") &&
          strstr(result.out, "features_test_features_N4_D32_labels.npy"));
    snprintf(labels, sizeof labels, "%s/clusters/" STEM "_labels.npy", dir);
    CHECK_OK(sr_npy_open(labels, &npy));
    CHECK_INT(npy.n, 17);
    for (int i = 0; i < 17; i++)
        CHECK(sr_npy_integer(&npy, i) >= 0 && sr_npy_integer(&npy, i) < 4);
    sr_npy_close(&npy);
    snprintf(list, sizeof list, "DATA.TRAIN.DATA_PATHS=[%s/clusters/" STEM "_images.npy]", dir);
    snprintf(labels, sizeof labels, "DATA.TRAIN.LABEL_PATHS=[%s/clusters/" STEM "_labels.npy]",
             dir);
    snprintf(run, sizeof run, "CHECKPOINT.DIR=%s/fit", dir);
    RUN(CLUSTERFIT, run, list, labels, "MODEL.TRUNK.RESNETS.WIDTH_MULTIPLIER=0.0625",
        "MODEL.HEAD.PARAMS=[[mlp, {dims: [32, 4]}]]", "DATA.TRAIN.BATCHSIZE_PER_REPLICA=8",
        "OPTIMIZER.num_epochs=1", "TEST_MODEL=False");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "trained 2 updates"));
    temp_dir_remove(dir);
}

static void expect_refused(const char *text) {
    if (result.code != 2 || !strstr(result.err, text))
        fail_msg("expected exit code 2 and \"%s\", got %d and:\n%s", text, result.code, result.err);
}

TEST(test_refused) {
    RUN("cluster", CONFIG);
    expect_refused("needs features");
    RUN("cluster", "nothing_here");
    expect_refused("'nothing_here' holds none");
    RUN("cluster", "no/such.npz");
    expect_refused("no such file");
    RUN("cluster", "no/such.npz", "CLUSTERFIT.NUM_CLUSTER=4");
    expect_refused("NUM_CLUSTERS");
    RUN("cluster", "no/such.npz", "CLUSTERFIT.NUM_CLUSTERS=0");
    expect_refused("CLUSTERFIT.NUM_CLUSTERS");
}

SR_TESTS(cluster_verb, unit(test_clusterfit), unit(test_refused))
