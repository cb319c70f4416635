// Tests DATA.STAGES: a staged run has the bits of a run whose transforms are changed by hand
// between its epochs, also after a stop in any stage, and mistakes are found before the first step.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "trainer/config/derived_config.h"
#include "trainer/config/stages.h"
#include "trainer/run/run.h"
#include "trainer/train.h"

#define CONFIG "tests/cli/folder.yaml"
#define STAGES(text) "DATA.STAGES=[" text "]"
// Two of three epochs with crops of 24 pixels in place of 16.
#define LARGE "DATA.TRAIN.TRANSFORMS.0.size=24"
#define TWO_EPOCHS STAGES("{until: 0.6, set: [\"" LARGE "\"]}")
enum { IMAGES = 16, PATH = 512, STEPS = 4 };

static char dir[256];

static void begin(void) {
    sr_log_set_level(SR_LOG_ERROR);
    fixture_folder(dir);
    fixture_class_folder(dir, "train", IMAGES);
    fixture_class_folder(dir, "test", IMAGES);
}

static SrConfig *load(const char *run, const char *extra) {
    char text[3][PATH];
    SrConfig *config;
    snprintf(text[0], PATH, "DATA.TRAIN.DATA_PATHS=[%s/train]", dir);
    snprintf(text[1], PATH, "DATA.TEST.DATA_PATHS=[%s/test]", dir);
    snprintf(text[2], PATH, "CHECKPOINT.DIR=%s/%s", dir, run);
    const char *const overrides[] = {text[0], text[1], text[2], extra};
    CHECK_OK(sr_config_load(CONFIG, overrides, extra ? 4 : 3, &config));
    return config;
}

static int stop_at(void *arg) { return --*(int *)arg == 0; }

// Trains until `left` questions were asked after that before the first step; 0: to the end.
// values: gets the parameters, unless it is NULL.
static SrStatus train(const char *run, const char *extra, int left, SrTrainResult *result,
                      SrText *values) {
    SrConfig *config = load(run, extra);
    SrRun *r;
    SrTrainOptions options = {.random = true, .stop = left > 0 ? stop_at : NULL, .stop_arg = &left};
    left++; // the question before the first step
    SrStatus status = sr_train_run(config, &options, &r, result);
    SrParams *params = r ? sr_run_parts(r).params : NULL;
    for (int i = 0; values && params && i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        sr_text_addn(values, p->value, (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype));
    }
    sr_run_close(r);
    sr_config_free(config);
    return status;
}

static void check_same(const SrText *a, const SrText *b) {
    CHECK(a->len > 1000 && a->len == b->len);
    CHECK(memcmp(a->s, b->s, a->len) == 0);
}

// Each epoch has 4 steps, after 3 of which a stop is asked; 4 batches of a test phase follow, and
// one more question.
TEST(test_as_by_hand) {
    SrText staged = SR_TEXT_INIT, hand = SR_TEXT_INIT, plain = SR_TEXT_INIT;
    SrTrainResult result;
    begin();
    CHECK_OK(train("staged", TWO_EPOCHS, 0, &result, &staged));
    CHECK_INT(result.steps, 3 * STEPS);
    CHECK_INT(result.iterations, 3 * STEPS);
    CHECK_INT(result.epochs, 3);
    CHECK_INT(train("hand", LARGE, 2 * (STEPS - 1 + STEPS + 1), &result, NULL), SR_ERR_INTERRUPT);
    CHECK_INT(result.iterations, 2 * STEPS);
    CHECK_OK(train("hand", NULL, 0, &result, &hand));
    check_same(&staged, &hand);
    CHECK_OK(train("plain", NULL, 0, &result, &plain));
    CHECK(memcmp(staged.s, plain.s, staged.len) != 0);
    sr_text_deinit(&staged);
    sr_text_deinit(&hand);
    sr_text_deinit(&plain);
    fixture_remove(dir);
}

TEST(test_stops_keep_the_bits) {
    static const int questions[] = {1, 7, 8, 16, 18, 22};
    SrText whole = SR_TEXT_INIT;
    SrTrainResult result;
    begin();
    CHECK_OK(train("whole", TWO_EPOCHS, 0, &result, &whole));
    for (size_t i = 0; i < SR_COUNT(questions); i++) {
        char run[32];
        SrText again = SR_TEXT_INIT;
        snprintf(run, sizeof run, "stopped%d", questions[i]);
        CHECK_INT(train(run, TWO_EPOCHS, questions[i], &result, NULL), SR_ERR_INTERRUPT);
        CHECK_OK(train(run, TWO_EPOCHS, 0, &result, &again));
        check_same(&whole, &again);
        CHECK_OK(train(run, TWO_EPOCHS, 0, &result, NULL));
        CHECK(result.already_finished);
        sr_text_deinit(&again);
    }
    sr_text_deinit(&whole);
    fixture_remove(dir);
}

// A finished run gets one epoch more.  What it has trained is as long as the first stage now, so
// only the second one is left.
TEST(test_more_epochs) {
    SrTrainResult result;
    begin();
    CHECK_OK(train("run", "OPTIMIZER.num_epochs=2", 0, &result, NULL));
    CHECK_OK(train("run", TWO_EPOCHS, 0, &result, NULL));
    CHECK(!result.already_finished);
    CHECK_INT(result.steps, STEPS);
    CHECK_INT(result.iterations, 3 * STEPS);
    fixture_remove(dir);
}

// AUTO_RESUME=False begins a new run, whose second stage continues the first all the same.
TEST(test_restart) {
    SrText first = SR_TEXT_INIT, again = SR_TEXT_INIT;
    SrTrainResult result;
    begin();
    CHECK_OK(train("run", TWO_EPOCHS, 0, &result, &first));
    SrConfig *config = load("run", TWO_EPOCHS);
    config->checkpoint.auto_resume = false;
    SrRun *run;
    CHECK_OK(sr_train_run(config, &(SrTrainOptions){.random = true}, &run, &result));
    CHECK_INT(result.steps, 3 * STEPS);
    sr_run_close(run);
    sr_config_free(config);
    CHECK_OK(train("run", TWO_EPOCHS, 0, &result, &again));
    CHECK(result.already_finished);
    sr_text_deinit(&first);
    sr_text_deinit(&again);
    fixture_remove(dir);
}

TEST(test_configuration) {
    begin();
    SrConfig *config = load("run", TWO_EPOCHS), *stage;
    CHECK_INT(sr_stages_count(config), 2);
    CHECK_INT(sr_stage_end(config, 0), 2); // 0.6 of 3 epochs, rounded
    CHECK_INT(sr_stage_end(config, 1), 3);
    CHECK_OK(sr_config_stage(config, 0, &stage));
    CHECK_INT(sr_yaml_find(stage->train.transforms->items[0], "size")->i, 24);
    const SrYaml *whole = sr_yaml_find_path(stage->tree, "DATA.TRAIN.TRANSFORMS.0.size");
    CHECK_INT(whole->i, 16); // checkpoints hold the tree of the whole run
    sr_config_free(stage);
    CHECK_OK(sr_config_stage(config, 1, &stage));
    CHECK_INT(sr_yaml_find(stage->train.transforms->items[0], "size")->i, 16);
    sr_config_free(stage);
    sr_config_free(config);
    config = load("run", NULL);
    CHECK_INT(sr_stages_count(config), 1);
    CHECK_INT(sr_stage_end(config, 0), 3);
    sr_config_free(config);
    fixture_remove(dir);
}

static void refused(const char *extra, const char *words) {
    const char *const overrides[] = {"DATA.TRAIN.DATA_PATHS=[x]", extra};
    SrConfig *config;
    CHECK_FAILS(sr_config_load(CONFIG, overrides, 2, &config), SR_ERR_CONFIG, words);
}

TEST(test_mistakes) {
    SrTrainResult result;
    begin();
    refused("DATA.STAGES=3", "DATA.STAGES must be a list");
    refused(STAGES("3"), "expected {until: SHARE, set: [OVERRIDE, ...]}");
    refused(STAGES("{until: 1, set: [\"" LARGE "\"]}"), "above 0 and below 1");
    refused(STAGES("{until: 0.5, set: []}"), "expected {until: SHARE");
    refused(STAGES("{until: 0.5, sets: [\"" LARGE "\"]}"), "expected {until: SHARE");
    refused(STAGES("{until: 0.5, set: [\"" LARGE "\"]}, {until: 0.5, set: [\"" LARGE "\"]}"),
            "above 0.5 and below 1");
    refused(STAGES("{until: 0.5, set: [OPTIMIZER.num_epochs=2]}"),
            "expected `set` to be a list of overrides of DATA.TRAIN.TRANSFORMS");
    // An override that cannot be applied is found before the first stage begins.
    CHECK_FAILS(train("run", STAGES("{until: 0.5, set: [DATA.TRAIN.TRANSFORMS.9.size=3]}"), 0,
                      &result, NULL),
                SR_ERR_CONFIG, "DATA.STAGES[0]");
    CHECK_FAILS(train("run", STAGES("{until: 0.5, set: [DATA.TRAIN.TRANSFORMS.0.size=x]}"), 0,
                      &result, NULL),
                SR_ERR_CONFIG, "DATA.STAGES[0]");
    CHECK_FAILS(train("run",
                      STAGES("{until: 0.5, set: [\"DATA.TRAIN.TRANSFORMS=[{name: ImgPilToMultiCrop,"
                             " total_num_crops: 2, size_crops: [16], num_crops: [2], crop_scales: "
                             "[[0.5, 1]]}, {name: ToTensor}]\"]}"),
                      0, &result, NULL),
                SR_ERR_CONFIG, "2 views of an image, but 1 without `set`");
    fixture_remove(dir);
}

// The time left knows that steps of the last epoch have 16 x 16 pixels where earlier ones have 24 x
// 24.  12 updates, of which 8 have large crops; ranks and evaluation take no part.
TEST(test_time_left) {
    char path[PATH], line[1024], *eta, *step;
    SrTrainResult result;
    begin();
    CHECK_OK(train("run", TWO_EPOCHS, 0, &result, NULL));
    snprintf(path, PATH, "%s/run/stdout.json", dir);
    FILE *f = fopen(path, "r");
    CHECK(f != NULL);
    int lines = 0;
    for (; fgets(line, sizeof line, f); lines++) {
        eta = strstr(line, "\"eta_s\": "), step = strstr(line, "\"btime(ms)\": ");
        CHECK(eta && step);
        double left = atof(eta + strlen("\"eta_s\": ")) / atof(step + strlen("\"btime(ms)\": "));
        int done = lines + 1;
        double expected = done <= 2 * STEPS ? 2 * STEPS - done + STEPS * 256.0 / 576 : 12 - done;
        CHECK_NEAR(1e3 * left, expected, 0.01);
    }
    fclose(f);
    CHECK_INT(lines, 3 * STEPS);
    fixture_remove(dir);
}

// `check` lists the stages, and warns if the file replaces what the command line asks for.
TEST(test_check_tells) {
    static ProgramResult result;
    begin();
    char train_path[PATH], test_path[PATH];
    snprintf(train_path, PATH, "DATA.TRAIN.DATA_PATHS=[%s/train]", dir);
    snprintf(test_path, PATH, "DATA.TEST.DATA_PATHS=[%s/test]", dir);
    program_run(&result, 1,
                (const char *const[]){"check", "configs/pretrain/dcl/dcl_cifar10.yaml", train_path,
                                      test_path, "DATA.TRAIN.TRANSFORMS.0.size_crops=[16]", NULL});
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "\n  stage 1 of 2, up to epoch 22: "
                             "DATA.TRAIN.TRANSFORMS.0.size_crops=[24]; about "));
    CHECK(strstr(result.out, "\n  stage 2 of 2, up to epoch 29: DATA.TRAIN.TRANSFORMS as "
                             "configured; about "));
    CHECK(strstr(result.err, "warning: DATA.STAGES sets DATA.TRAIN.TRANSFORMS.0.size_crops=[24] up "
                             "to epoch 22, and the command line's value holds after it"));
    // Stages that the command line itself gives need no warning.
    program_run(&result, 1,
                (const char *const[]){"check", "configs/pretrain/dcl/dcl_cifar10.yaml", train_path,
                                      test_path, "DATA.TRAIN.TRANSFORMS.0.size_crops=[16]",
                                      STAGES("{until: 0.5, set: "
                                             "[\"DATA.TRAIN.TRANSFORMS.0.size_crops=[12]\"]}"),
                                      NULL});
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "\n  stage 1 of 2, up to epoch 14: "));
    CHECK(!strstr(result.err, "warning: DATA.STAGES"));
    program_run(&result, 1,
                (const char *const[]){"check", "configs/pretrain/dcl/dcl_cifar10.yaml", train_path,
                                      test_path, "DATA.STAGES=[]", NULL});
    CHECK_INT(result.code, 0);
    CHECK(!strstr(result.out, "stage 1 of"));
    // A share of 0.75 of one epoch is the whole of it: the second stage is too short to be shown.
    program_run(&result, 1,
                (const char *const[]){"check", "configs/pretrain/dcl/dcl_cifar10.yaml", train_path,
                                      test_path, "OPTIMIZER.num_epochs=1", NULL});
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "stage 1 of 2, up to epoch 0: "));
    CHECK(!strstr(result.out, "stage 2 of"));
    fixture_remove(dir);
}

SR_TESTS(stages, unit(test_as_by_hand), unit(test_stops_keep_the_bits), unit(test_more_epochs),
         unit(test_restart), unit(test_configuration), unit(test_mistakes), unit(test_time_left),
         unit(test_check_tells))
