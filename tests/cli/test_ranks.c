// Tests the program under mpirun: the number of ranks changes only the time. Every method gives
// the same bits, also if ranks are killed and the run resumes with fewer.
//
// SSLRUN_LONG=1 takes 50 steps each and kills 20 times (make ranks-long).
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/rng.h"
#include "base/text/text.h"
#include "losses/loss.h"
#include "tests/check.h"
#include "tests/checkpoint_pair.h"
#include "tests/cli/loss_run.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

enum { REPLICAS = 4, IMAGES = 4 }; // replicas per step, images per replica
#define FINAL "model_final_checkpoint_phase0.safetensors"

static bool is_long(void) { return getenv("SSLRUN_LONG") != NULL; }

static void write_config(const char *path, const SrLoss *loss, const SrLossExample *e, int steps) {
    loss_run_config(path, loss, e, (LossRun){steps, REPLICAS, IMAGES});
}

static pid_t begin(const char *config, const char *dir, int ranks, const char *extra) {
    char key[128];
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", dir);
    const char *args[] = {config, key, "--random", extra,
                          NULL}; // a teacher of a distillation has random weights
    return program_start_ranks(dir, ranks, 1, args);
}

static void finish(const char *config, const char *dir, int ranks, const char *extra) {
    char err[1 << 14];
    int code = program_wait(begin(config, dir, ranks, extra), NULL);
    program_read(dir, "err", err, sizeof err);
    if (code != 0)
        fail_msg("%d ranks, exit code %d: %s", ranks, code, err);
}

static void check_same(const char *a, const char *b) {
    char x[128], y[128];
    snprintf(x, sizeof x, "%s/" FINAL, a);
    snprintf(y, sizeof y, "%s/" FINAL, b);
    check_same_checkpoint(x, y, 50);
}

// ---- every method

static void same_for_any_number(const SrLoss *loss, const SrLossExample *e) {
    char home[64], config[96], one[64], lines[1 << 15];
    temp_dir_make(home);
    temp_dir_make(one);
    snprintf(config, sizeof config, "%s/toy.yaml", home);
    write_config(config, loss, e, is_long() ? 50 : 3);
    finish(config, one, 0, NULL);
    for (int ranks = 2; ranks <= REPLICAS; ranks *= 2) {
        char dir[64];
        temp_dir_make(dir);
        finish(config, dir, ranks, NULL);
        check_same(one, dir);
        program_read(dir, "stdout.json", lines, sizeof lines);
        CHECK(strstr(lines, "\"exchange_ms\": ") && strstr(lines, "\"exchange_wait_ms\": "));
        temp_dir_remove(dir);
    }
    temp_dir_remove(one);
    temp_dir_remove(home);
}

TEST(test_every_method) {
    const char *only = getenv("SR_TEST_LOSS"); // the same variable as in tests/losses/test_loss.c
    program_need_ranks();
    for (int i = 0; sr_loss_at(i); i++) {
        if (only && strcmp(only, sr_loss_at(i)->name) != 0)
            continue;
        print_message("    %s\n", sr_loss_at(i)->name);
        same_for_any_number(sr_loss_at(i), &sr_loss_at(i)->examples[0]);
    }
}

// ---- batch norms over several replicas

static void run_norms(const char *config, const char *dir, int ranks, const char *const key[2]) {
    char at[128];
    snprintf(at, sizeof at, "CHECKPOINT.DIR=%s", dir);
    const char *args[] = {config, at, "--random", key[0], key[1], "DATA.TRAIN.DROP_LAST=True",
                          NULL};
    CHECK_INT(program_wait(program_start_ranks(dir, ranks, 1, args), NULL), 0);
}

static void compare_norms(const char *config, const char *with, int ranks,
                          const char *const key[2]) {
    char dir[64], x[128], y[128];
    temp_dir_make(dir);
    run_norms(config, dir, ranks, key);
    snprintf(x, sizeof x, "%s/" FINAL, with);
    snprintf(y, sizeof y, "%s/" FINAL, dir);
    check_close_checkpoint(x, y, 50, 1e-5, ranks > 1 ? 1e-3 : 1e-5);
    temp_dir_remove(dir);
}

// Groups within a rank are one batch, groups over several ranks add their sums, and one process
// may compute one batch of all images. Results agree up to rounding after one step; later relu
// amplifies the difference.
static void same_norms(const char *loss_name, const char *group, bool one_batch) {
    char home[64], config[96], one[64], sync[128], whole[64];
    const SrLoss *loss;
    snprintf(sync, sizeof sync,
             "MODEL.SYNC_BN_CONFIG={CONVERT_BN_TO_SYNC_BN: True, GROUP_SIZE: %s}", group);
    snprintf(whole, sizeof whole, "DATA.TRAIN.BATCHSIZE_PER_REPLICA=%d", REPLICAS * IMAGES);
    const char *several[2] = {sync, "DISTRIBUTED.REPLICAS=4"};
    CHECK_OK(sr_loss_find(loss_name, &loss));
    temp_dir_make(home);
    temp_dir_make(one);
    snprintf(config, sizeof config, "%s/toy.yaml", home);
    write_config(config, loss, &loss->examples[0], 1);
    run_norms(config, one, 0, several);
    for (int ranks = 2; ranks <= REPLICAS; ranks *= 2)
        compare_norms(config, one, ranks, several);
    if (one_batch)
        compare_norms(config, one, 0, (const char *[]){whole, "DISTRIBUTED.REPLICAS=1"});
    temp_dir_remove(one);
    temp_dir_remove(home);
}

TEST(test_sync_norms) {
    program_need_ranks();
    same_norms("simclr_info_nce_loss", "0", true);
    same_norms("moco_loss", "2", false);
    same_norms("cross_entropy_multiple_output_single_target", "0", true);
}

// ---- meters

#define METER "METERS.names=[accuracy_list_meter]"

// Copies the meter's values from metrics.json, from its name to the end of its map.
static void read_meter(const char *config, int ranks, char out[256]) {
    char dir[64], text[1 << 14];
    temp_dir_make(dir);
    CHECK_INT(program_wait(begin(config, dir, ranks, METER), NULL), 0);
    program_read(dir, "metrics.json", text, sizeof text);
    const char *at = strstr(text, "train_accuracy_list_meter"), *end = at ? strstr(at, "}}") : NULL;
    if (!end || end - at >= 256)
        fail_msg("no meter in %s", text);
    else
        snprintf(out, 256, "%.*s", (int)(end - at), at);
    temp_dir_remove(dir);
}

// The meter of rank 0 counts the images of all ranks.
TEST(test_meters) {
    char home[64], config[96], one[256], two[256];
    const SrLoss *loss;
    program_need_ranks();
    CHECK_OK(sr_loss_find("CrossEntropyLoss", &loss));
    temp_dir_make(home);
    snprintf(config, sizeof config, "%s/toy.yaml", home);
    write_config(config, loss, &loss->examples[0], 5);
    read_meter(config, 0, one);
    read_meter(config, 2, two);
    CHECK_STR(one, two);
    temp_dir_remove(home);
}

// ---- evaluation

// Copies all figures of metrics.json except times.
static void read_figures(const char *dir, char *out, int bytes) {
    char text[1 << 14], *at = text;
    int n = 0;
    program_read(dir, "metrics.json", text, sizeof text);
    while (*at && n < bytes - 1) {
        char *seconds = strstr(at, "seconds\":"), *end = seconds ? seconds : at + strlen(at);
        n += snprintf(out + n, (size_t)(bytes - n), "%.*s", (int)(end - at), at);
        at = seconds ? seconds + strcspn(seconds, ",}") : end;
    }
}

static void check_same_figures(const char *config, const char *const *keys, const char *wanted) {
    char text[3][1 << 14];
    for (int ranks = 1; ranks <= 2; ranks++) {
        char dir[64], key[128], err[1 << 14];
        temp_dir_make(dir);
        snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", dir);
        const char *args[24] = {config, key, "DISTRIBUTED.REPLICAS=2"};
        for (int i = 0; keys[i]; i++)
            args[3 + i] = keys[i];
        int code = program_wait(program_start_ranks(dir, ranks, 1, args), NULL);
        program_read(dir, "err", err, sizeof err);
        if (code != 0)
            fail_msg("%d ranks, exit code %d: %s", ranks, code, err);
        read_figures(dir, text[ranks], sizeof text[ranks]);
        temp_dir_remove(dir);
    }
    CHECK(strstr(text[1], wanted) != NULL);
    CHECK_STR(text[1], text[2]);
}

// kNN and the probe between epochs read two full batches and a smaller third one.
TEST(test_same_probes) {
    static const char *const keys[] = {"HOOKS.PROBE.EVERY_NUM_EPOCHS=1", "OPTIMIZER.num_epochs=1",
                                       "DATA.TRAIN.DATA_LIMIT=700", NULL};
    program_need_ranks();
    check_same_figures("tests/cli/tiny.yaml", keys, "\"probe_knn_top1\"");
}

#define TEST_IMAGES                                                                                \
    "TEST_MODEL=True", "METERS.names=[accuracy_list_meter]", "DATA.TEST.DATA_SOURCES=[synthetic]", \
        "DATA.TEST.RANDOM_SYNTHETIC_IMAGES=True", "DATA.TEST.RANDOM_SYNTHETIC_LABELS=4",           \
        "DATA.TEST.DEFAULT_GRAY_IMG_SIZE=20", "DATA.TEST.DATA_LIMIT=11",                           \
        "DATA.TEST.BATCHSIZE_PER_REPLICA=4",                                                       \
        "DATA.TEST.TRANSFORMS=[{name: CenterCrop, size: 16}, {name: ToTensor}]"
#define TEST_METER "test_accuracy_list_meter"

// Test phases of a whole model, and of heads on a frozen trunk, whose features are distributed
// too.
TEST(test_same_test_phase) {
    static const char *const whole[] = {TEST_IMAGES, NULL};
    static const char *const frozen[] = {
        TEST_IMAGES,
        "DATA.TRAIN.TRANSFORMS=[{name: CenterCrop, size: 16}, {name: ToTensor}]",
        "DATA.TRAIN.COLLATE_FUNCTION=default_collate",
        "MODEL.FEATURE_EVAL_SETTINGS={EVAL_MODE_ON: True, FREEZE_TRUNK_ONLY: True, "
        "SHOULD_FLATTEN_FEATS: False, LINEAR_EVAL_FEAT_POOL_OPS_MAP: "
        "[[res5, [AdaptiveAvgPool2d, [[1, 1]]]]]}",
        "MODEL.HEAD.PARAMS=[[eval_mlp, {in_channels: 32, dims: [32, 4]}]]",
        "--random",
        NULL};
    char home[64], config[96];
    const SrLoss *loss;
    program_need_ranks();
    CHECK_OK(sr_loss_find("CrossEntropyLoss", &loss));
    temp_dir_make(home);
    snprintf(config, sizeof config, "%s/toy.yaml", home);
    write_config(config, loss, &loss->examples[0], 2);
    check_same_figures(config, whole, TEST_METER);
    check_same_figures(config, frozen, TEST_METER);
    temp_dir_remove(home);
}

// ---- extraction

enum { EXTRACTED = 31 }; // 12 images per shard, 4 per batch, one of them unreadable

static void make_images(const char *dir) {
    fixture_class_folder(dir, "images", EXTRACTED);
    fixture_write(dir, "images/x/29.png", "\x89PNG", 4);
}

// Extracts `count` images, of which one is unreadable.
static void extract(const char *dir, int ranks, const char *out, int count) {
    char images[128], to[128], bad[64], err[1 << 14];
    snprintf(images, sizeof images, "%s/images", dir);
    snprintf(to, sizeof to, "%s/%s", dir, out);
    const char *args[] = {"extract", "resnet18", "--random", "--nodes", "layer1,avgpool",
                          "--data",  images,     "--out",    to,        "--size",
                          "32",      "--batch",  "4",        "--shard", "12",
                          NULL};
    int code = program_wait(program_start_ranks(dir, ranks, 1, args), NULL);
    program_read(dir, "err", err, sizeof err);
    snprintf(bad, sizeof bad, "1 of %d images could not be read", count);
    if (code != 0 || !strstr(err, bad))
        fail_msg("%d ranks, exit code %d: %s", ranks, code, err);
}

// Two ranks write the files of one rank, and continue where one rank stopped.
TEST(test_same_features) {
    char dir[64], command[512];
    program_need_ranks();
    temp_dir_make(dir);
    make_images(dir);
    extract(dir, 0, "one", EXTRACTED);
    extract(dir, 2, "two", EXTRACTED);
    snprintf(command, sizeof command,
             "cd %s && test -f one/features-00002.safetensors && diff -r one two", dir);
    CHECK_INT(system(command), 0);
    snprintf(command, sizeof command, "rm %s/two/features-0000[12]*", dir);
    CHECK_INT(system(command), 0);
    extract(dir, 2, "two", EXTRACTED - 12);
    snprintf(command, sizeof command, "cd %s && diff -r one two", dir);
    CHECK_INT(system(command), 0);
    temp_dir_remove(dir);
}

// ---- kills

// Kills one of four ranks at a random moment: the others end too. Returns false if the run had
// completed before.
static bool kill_a_rank(const char *config, const char *dir, const char *extra, SrRng *rng) {
    pid_t mpirun = begin(config, dir, REPLICAS, extra);
    // Open MPI waits for ever for a rank that dies before it has joined.
    program_wait_for_progress(dir);
    program_sleep_ms(sr_rng_range(rng, 0, 300));
    pid_t victim = program_rank(mpirun, (int)sr_rng_below(rng, REPLICAS));
    if (victim > 0)
        kill(victim, SIGKILL);
    double killed = program_now_ms();
    int code = program_wait(mpirun, NULL);
    if (code == 0)
        return false;
    CHECK_INT(code, 128 + SIGKILL);
    CHECK(program_now_ms() - killed < 5000);
    return true;
}

// A run of four ranks that was killed resumes with fewer ranks and ends like an undisturbed one.
static void check_killed(const char *config, const char *extra, int wanted) {
    char whole[64];
    SrRng rng = sr_rng((uint64_t)program_now_ms(), SR_RNG_TEST, 0, 0, 0, 0);
    temp_dir_make(whole);
    finish(config, whole, 0, extra);
    for (int kills = 0; kills < wanted;) {
        char dir[64];
        temp_dir_make(dir);
        if (kill_a_rank(config, dir, extra, &rng))
            finish(config, dir, 2 - kills++ % 2, extra);
        check_same(whole, dir);
        temp_dir_remove(dir);
    }
    temp_dir_remove(whole);
}

TEST(test_killed_ranks) {
    char home[64], config[96], shards[256];
    const SrLoss *loss;
    program_need_ranks();
    CHECK_OK(sr_loss_find("swav_loss", &loss));
    temp_dir_make(home);
    program_pack(home, 150);
    snprintf(config, sizeof config, "%s/toy.yaml", home);
    snprintf(shards, sizeof shards,
             "DATA.TRAIN={DATA_SOURCES: [webdataset], DATA_PATHS: [%s/shards], DATA_LIMIT: -1}",
             home);
    write_config(config, loss, &loss->examples[0], is_long() ? 50 : 8);
    check_killed(config, NULL, is_long() ? 20 : 2);
    check_killed(config, shards, is_long() ? 5 : 1);
    temp_dir_remove(home);
}

// ---- refusals

TEST(test_uneven_share) {
    char dir[64], err[1 << 14];
    program_need_ranks();
    temp_dir_make(dir);
    int code = program_wait(begin("tests/cli/tiny.yaml", dir, 3, "DISTRIBUTED.REPLICAS=4"), NULL);
    program_read(dir, "err", err, sizeof err);
    if (code != 2 || !strstr(err, "cannot be divided evenly between 3 ranks"))
        fail_msg("exit code %d: %s", code, err);
    temp_dir_remove(dir);
}

SR_TESTS(ranks, unit(test_every_method), unit(test_sync_norms), unit(test_meters),
         unit(test_same_probes), unit(test_same_test_phase), unit(test_same_features),
         unit(test_killed_ranks), unit(test_uneven_share))
