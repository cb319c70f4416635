// Tests the configuration from values of sslrun.h: the bits of a file that says the same, stop and
// resume, and an error for each mistake.
#include "base/mem.h"
#include "sslrun.h"
#include "tests/check.h"
#include "tests/checkpoint_pair.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define CONFIG "tests/cli/tiny.yaml"

enum { STEPS = 24 };

static ProgramResult result; // too large for the stack of a test

typedef struct {
    int calls, stop_after; // stop_after 0: never
    double loss[STEPS];
} Log;

static int on_step(void *arg, const SrTrainStep *step) {
    Log *log = arg;
    CHECK(log->calls < STEPS);
    log->loss[log->calls++] = step->loss;
    return log->calls == log->stop_after;
}

static SrTrainConfig *config;

static void to_text(const char *key, const char *value) {
    CHECK_OK((SrStatus)sr_train_config_text(config, key, value));
}
static void to_int(const char *key, int64_t value) {
    CHECK_OK((SrStatus)sr_train_config_int(config, key, value));
}
static void to_number(const char *key, double value) {
    CHECK_OK((SrStatus)sr_train_config_number(config, key, value));
}
static void to_bool(const char *key, int value) {
    CHECK_OK((SrStatus)sr_train_config_bool(config, key, value));
}
static void to_ints(const char *key, int64_t a, int64_t b) {
    CHECK_OK((SrStatus)sr_train_config_ints(config, key, (const int64_t[]){a, b}, 2));
}
static void to_numbers(const char *key, double a, double b) {
    CHECK_OK((SrStatus)sr_train_config_numbers(config, key, (const double[]){a, b}, 2));
}

static void data(void) {
    static const char *const names[] = {"RandomHorizontalFlip", "ImgPilColorDistortion",
                                        "ImgPilGaussianBlur", "ToTensor", "Normalize"};
    CHECK_OK((SrStatus)sr_train_config_texts(config, "DATA.TRAIN.DATA_SOURCES",
                                             (const char *const[]){"synthetic"}, 1));
    to_int("DATA.NUM_DATALOADER_WORKERS", 1);
    to_bool("DATA.TRAIN.RANDOM_SYNTHETIC_IMAGES", 1);
    to_int("DATA.TRAIN.RANDOM_SYNTHETIC_LABELS", 4);
    to_int("DATA.TRAIN.DEFAULT_GRAY_IMG_SIZE", 20);
    to_int("DATA.TRAIN.DATA_LIMIT", 70);
    to_int("DATA.TRAIN.BATCHSIZE_PER_REPLICA", 8);
    to_text("DATA.TRAIN.COLLATE_FUNCTION", "multicrop_collator");
    to_text("DATA.TRAIN.TRANSFORMS.0.name", "ImgPilToMultiCrop");
    to_int("DATA.TRAIN.TRANSFORMS.0.total_num_crops", 3);
    to_ints("DATA.TRAIN.TRANSFORMS.0.num_crops", 2, 1);
    to_ints("DATA.TRAIN.TRANSFORMS.0.size_crops", 16, 8);
    to_numbers("DATA.TRAIN.TRANSFORMS.0.crop_scales.0", 0.3, 1);
    to_numbers("DATA.TRAIN.TRANSFORMS.0.crop_scales.1", 0.1, 0.4);
    for (int i = 0; i < SR_COUNT(names); i++) {
        char key[64];
        snprintf(key, sizeof key, "DATA.TRAIN.TRANSFORMS.%d.name", i + 1);
        to_text(key, names[i]);
    }
}

static void model(void) {
    to_text("MODEL.TRUNK.NAME", "resnet");
    to_int("MODEL.TRUNK.RESNETS.DEPTH", 18);
    to_number("MODEL.TRUNK.RESNETS.WIDTH_MULTIPLIER", 0.0625);
    to_bool("MODEL.TRUNK.RESNETS.SMALL_IMAGE_STEM", 1);
    to_text("MODEL.HEAD.PARAMS.0.0", "swav_head");
    CHECK_OK((SrStatus)sr_train_config_ints(config, "MODEL.HEAD.PARAMS.0.1.dims",
                                            (const int64_t[]){32, 16, 8}, 3));
    to_bool("MODEL.HEAD.PARAMS.0.1.use_bn", 1);
    to_int("MODEL.HEAD.PARAMS.0.1.num_clusters.0", 6);
    to_text("MODEL.TEMP_FROZEN_PARAMS_ITER_MAP.0.0", "module.heads.0.prototypes0.weight");
    to_int("MODEL.TEMP_FROZEN_PARAMS_ITER_MAP.0.1", 5);
    to_text("LOSS.name", "swav_loss");
    to_int("LOSS.swav_loss.queue.start_iter", 6);
    to_int("LOSS.swav_loss.queue.queue_length", 16);
}

// Says what tests/cli/tiny.yaml and SEED_VALUE=5 say.
static void fill(const char *dir) {
    CHECK_OK((SrStatus)sr_train_config_open(NULL, &config));
    to_int("LOG_FREQUENCY", 4);
    to_bool("TEST_MODEL", 0);
    to_int("SEED_VALUE", 5);
    data();
    model();
    to_bool("OPTIMIZER.use_larc", 1);
    to_int("OPTIMIZER.num_epochs", 3);
    to_bool("OPTIMIZER.nesterov", 1);
    to_text("OPTIMIZER.param_schedulers.lr.name", "cosine");
    to_number("OPTIMIZER.param_schedulers.lr.start_value", 0.3);
    to_number("OPTIMIZER.param_schedulers.lr.end_value", 0.003);
    to_text("OPTIMIZER.param_schedulers.lr.update_interval", "step");
    to_text("CHECKPOINT.DIR", dir);
    to_int("CHECKPOINT.CHECKPOINT_ITER_FREQUENCY", 2);
    to_int("CHECKPOINT.KEEP_LAST", 2);
    to_int("NEAREST_NEIGHBOR.TOPK", 5);
}

static void check_same_run(const char *a, const char *b) {
    char x[128], y[128];
    snprintf(x, sizeof x, "%s/checkpoint.safetensors", a);
    snprintf(y, sizeof y, "%s/checkpoint.safetensors", b);
    check_same_checkpoint(x, y, 60);
}

// Without a file: the bits of the file, in one run and in parts, and a saved file with which the
// program finds the run finished.
TEST(test_bits) {
    char dir[64], file[96], values[96], folder[128], saved[128], text[4096];
    temp_dir_make(dir);
    snprintf(file, sizeof file, "%s/file", dir);
    snprintf(values, sizeof values, "%s/values", dir);
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s", file);
    program_run(&result, 1, (const char *const[]){CONFIG, folder, "SEED_VALUE=5", NULL});
    CHECK_INT(result.code, 0);
    Log first = {.stop_after = 7}, rest = {0}, after = {0};
    fill(values);
    CHECK_INT(sr_train_config_run(config, on_step, &first), SR_STOPPED);
    CHECK(strstr(sr_status_message(), "call sr_train_config_run with the same configuration"));
    sr_train_config_close(config);
    fill(values);
    CHECK_OK((SrStatus)sr_train_config_run(config, on_step, &rest));
    CHECK_INT(first.calls + rest.calls, STEPS);
    CHECK_OK((SrStatus)sr_train_config_run(config, on_step, &after)); // it has finished
    CHECK_INT(after.calls, 0);
    sr_train_config_close(config);
    check_same_run(file, values);
    program_read(values, "log.txt", text, sizeof text);
    CHECK(strstr(text, "==== sr_train_config_run LOG_FREQUENCY=4 TEST_MODEL=false "));
    snprintf(saved, sizeof saved, "%s/train_config.yaml", values);
    program_run(&result, 1, (const char *const[]){saved, NULL});
    CHECK_INT(result.code, 0);
    if (!strstr(result.out, "finished") && !strstr(result.err, "finished"))
        fail_msg("%s%s", result.out, result.err);
    temp_dir_remove(dir);
}

// Over a file, values win.
TEST(test_over_a_file) {
    char dir[64], by_words[96], by_values[96], folder[128];
    temp_dir_make(dir);
    snprintf(by_words, sizeof by_words, "%s/words", dir);
    snprintf(by_values, sizeof by_values, "%s/values", dir);
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s", by_words);
    CHECK_OK(
        (SrStatus)sr_train(CONFIG,
                           (const char *const[]){folder, "SEED_VALUE=3", "OPTIMIZER.num_epochs=1",
                                                 "LOSS.swav_loss.crops_for_assign=[1]"},
                           4, NULL, NULL));
    CHECK_OK((SrStatus)sr_train_config_open(CONFIG, &config));
    to_text("CHECKPOINT.DIR", by_values);
    to_int("SEED_VALUE", 3);
    to_int("OPTIMIZER.num_epochs", 1);
    CHECK_OK((SrStatus)sr_train_config_texts(config, "LOSS.swav_loss.crops_for_assign", NULL, 0));
    to_int("LOSS.swav_loss.crops_for_assign.0", 1);
    CHECK_OK((SrStatus)sr_train_config_run(config, NULL, NULL));
    sr_train_config_close(config);
    check_same_run(by_words, by_values);
    temp_dir_remove(dir);
}

static void refused(const char *message) {
    CHECK_FAILS((SrStatus)sr_train_config_run(config, NULL, NULL), SR_ERR_CONFIG, message);
    sr_train_config_close(config);
}

TEST(test_mistakes) {
    int64_t live = sr_mem_live();
    fill("unused");
    to_text("OPTIMIZER.num_epochs", "ten");
    refused("configuration: OPTIMIZER.num_epochs is ten, expected a whole number");
    fill("unused");
    to_int("OPTIMIZER.num_epoch", 1);
    refused("configuration: unknown key 'OPTIMIZER.num_epoch'; did you mean 'num_epochs'?");
    fill("unused");
    to_number("LOSS.swav_loss.epsilon", 0);
    refused("configuration: LOSS.swav_loss.epsilon is 0.0, expected a number from 1e-09 to");
    fill("unused");
    to_text("MODEL.TRUNK.NAME", "resnett");
    refused("did you mean 'resnet'");
    fill("unused");
    to_bool("TEST_ONLY", 1);
    refused("nothing learns");
    fill("unused");
    to_int("OPTIMIZER.MINUTES", 5);
    refused("OPTIMIZER.MINUTES is for `sslrun train` and sr_train: set OPTIMIZER.num_epochs");
    fill("unused");
    CHECK_FAILS((SrStatus)sr_train_config_int(config, "DATA.TRAIN.TRANSFORMS.9.size", 1),
                SR_ERR_CONFIG, "expected an index from 0 to 6, not '9'");
    CHECK_FAILS((SrStatus)sr_train_config_int(config, NULL, 1), SR_ERR_CONFIG, "key` is NULL");
    CHECK_FAILS((SrStatus)sr_train_config_ints(config, "A", NULL, 2), SR_ERR_CONFIG,
                "values` is NULL");
    sr_train_config_close(config);
    sr_train_config_close(NULL);
    CHECK_FAILS((SrStatus)sr_train_config_open(NULL, NULL), SR_ERR_CONFIG, "out` is NULL");
    CHECK_FAILS((SrStatus)sr_train_config_open("configs/none.yaml", &config), SR_ERR_CONFIG,
                "configs/none.yaml");
    CHECK_FAILS((SrStatus)sr_train_config_run(NULL, NULL, NULL), SR_ERR_CONFIG, "config` is NULL");
    CHECK_INT(sr_mem_live(), live);
}

SR_TESTS(train_config, unit(test_bits), unit(test_over_a_file), unit(test_mistakes))
