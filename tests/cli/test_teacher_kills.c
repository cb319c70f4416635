// Kills a distillation with DISTILLATION.CACHED_VIEWS by SIGKILL at several moments: while the
// teacher fills the file, and while later epochs read it. Each start resumes run and file. The last
// one ends in the bits of a run that nobody disturbed and that asked the teacher in every step.
#include <signal.h>
#include <stdio.h>

#include "base/file.h"
#include "base/text/text.h"
#include "tests/check.h"
#include "tests/checkpoint_pair.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define FINAL "model_final_checkpoint_phase3.safetensors"
#define TRUNK(width) \
    "TRUNK: {RESNETS: {DEPTH: 18, WIDTH_MULTIPLIER: " width ", SMALL_IMAGE_STEM: True}}"

static char config[96];

static void write_config(const char *dir, const char *loss) {
    SrText t = SR_TEXT_INIT;
    sr_text_printf(
        &t,
        "LOG_FREQUENCY: 1\nTEST_MODEL: False\n"
        "DATA: {NUM_DATALOADER_WORKERS: 1, TRAIN: {DATA_SOURCES: [synthetic], "
        "RANDOM_SYNTHETIC_IMAGES: True, DEFAULT_GRAY_IMG_SIZE: 16, DATA_LIMIT: 100, "
        "BATCHSIZE_PER_REPLICA: 8, DROP_LAST: False, COLLATE_FUNCTION: mixup_collator, "
        "TRANSFORMS: [{name: RandomResizedCrop, size: 16}, {name: ToTensor}, {name: Normalize}]}}\n"
        "MODEL: {" TRUNK(
            "0.0625") ", HEAD: {PARAMS: [[identity, {}]]}}\n"
                      "DISTILLATION: {CACHED_VIEWS: 2, TEACHER_INPUT_SIZE: 24, TEACHER_MODEL: "
                      "{" TRUNK(
                          "0.25") "}}\n"
                                  "LOSS: {name: %s}\n"
                                  "OPTIMIZER: {num_epochs: 4, momentum: 0.9, param_schedulers: "
                                  "{lr: {name: cosine, "
                                  "start_value: 0.02, end_value: 0.001}}}\n"
                                  "CHECKPOINT: {CHECKPOINT_ITER_FREQUENCY: 1, KEEP_LAST: 2}\n",
        loss);
    snprintf(config, sizeof config, "%s/cached.yaml", dir);
    CHECK_OK(sr_file_write_text(config, &t));
    sr_text_deinit(&t);
}

static pid_t begin(const char *dir, const char *more) {
    char key[160];
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", dir);
    const char *args[] = {config, key, "--random", more, NULL};
    return program_start(dir, 1, args);
}

// Runs to the end; returns the milliseconds that it took.
static double finish(const char *dir, const char *more) {
    char err[1 << 12];
    double began = program_now_ms();
    int code = program_wait(begin(dir, more), NULL);
    program_read(dir, "err", err, sizeof err);
    if (code != 0)
        fail_msg("exit code %d: %s", code, err);
    return program_now_ms() - began;
}

static void check_loss(const char *loss) {
    enum { KILLS = 6, LEAST = 2 };
    char asked[64], cached[64], a[128], b[128];
    int killed = 0;
    temp_dir_make(asked);
    temp_dir_make(cached);
    write_config(asked, loss);
    double length = finish(asked, "DISTILLATION.CACHE=off");
    for (int i = 0; i < KILLS; i++) {
        pid_t pid = begin(cached, NULL);
        program_sleep_ms((0.12 + 0.03 * i) * length);
        kill(pid, SIGKILL);
        bool met = program_wait(pid, NULL) == 128 + SIGKILL;
        killed += met;
        if (!met && killed < LEAST) { // the run that was timed had met a busy machine
            temp_dir_remove(cached);
            temp_dir_make(cached);
            length *= 0.7;
            killed = 0;
            i = -1;
        }
    }
    finish(cached, NULL);
    print_message("    %s: killed %d times\n", loss, killed);
    CHECK(killed >= LEAST);
    snprintf(a, sizeof a, "%s/" FINAL, asked);
    snprintf(b, sizeof b, "%s/" FINAL, cached);
    check_same_checkpoint(a, b, 50);
    temp_dir_remove(asked);
    temp_dir_remove(cached);
}

TEST(test_features) { check_loss("feature_distillation_loss"); }

TEST(test_patches) { check_loss("patch_distillation_loss"); }

TEST(test_maps) { check_loss("dense_distillation_loss"); }

SR_TESTS(teacher_kills, unit(test_features), unit(test_patches), unit(test_maps))
