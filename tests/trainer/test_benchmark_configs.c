// Every recipe of configs/benchmark trains a few steps on noise and completes its test phase.
// Runs from the project's folder.
#include <stdio.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "trainer/run/run.h"
#include "trainer/schedules/schedule.h"
#include "trainer/train.h"

static const char *const shared[] = {
    "DATA.NUM_DATALOADER_WORKERS=0",
    "DATA.TRAIN.DATA_SOURCES=[synthetic]",
    "DATA.TRAIN.DATA_PATHS=[]",
    "DATA.TRAIN.LABEL_SOURCES=[]",
    "DATA.TRAIN.LABEL_PATHS=[]",
    "DATA.TRAIN.RANDOM_SYNTHETIC_IMAGES=True",
    "DATA.TRAIN.RANDOM_SYNTHETIC_LABELS=10",
    "DATA.TRAIN.DATA_LIMIT=16",
    "DATA.TRAIN.DATA_LIMIT_SAMPLING.IS_BALANCED=False",
    "DATA.TRAIN.BATCHSIZE_PER_REPLICA=8",
    "DATA.TEST.DATA_SOURCES=[synthetic]",
    "DATA.TEST.DATA_PATHS=[]",
    "DATA.TEST.LABEL_SOURCES=[]",
    "DATA.TEST.LABEL_PATHS=[]",
    "DATA.TEST.RANDOM_SYNTHETIC_IMAGES=True",
    "DATA.TEST.RANDOM_SYNTHETIC_LABELS=10",
    "DATA.TEST.DATA_LIMIT=9",
    "OPTIMIZER.num_epochs=1",
    "OPTIMIZER.param_schedulers.lr.auto_lr_scaling.auto_scale=False",
    "OPTIMIZER.param_schedulers.lr.name=constant",
    "OPTIMIZER.param_schedulers.lr.value=0.01",
};

static void run_recipe(const char *path) {
    char dir[64], folder[96], best[128], meter[96];
    const char *overrides[SR_COUNT(shared) + 1];
    SrConfig *config;
    SrRun *run = NULL;
    SrTrainResult result;
    temp_dir_make(dir);
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s", dir);
    memcpy(overrides, shared, sizeof shared);
    overrides[SR_COUNT(shared)] = folder;
    SrStatus status = sr_config_load(path, overrides, SR_COUNT(overrides), &config);
    if (status == SR_OK)
        status = sr_train_run(config, &(SrTrainOptions){.random = true}, &run, &result);
    if (status != SR_OK)
        fail_msg("%s: %s", path, sr_status_message());
    CHECK_INT(result.iterations, 2);
    CHECK(config->supervised && config->meters.names.n > 0);
    snprintf(best, sizeof best, "%s/metrics.json", dir);
    char *text;
    size_t bytes;
    CHECK_OK(sr_file_read(best, 1 << 20, &text, &bytes));
    snprintf(meter, sizeof meter, "\"test_%s\"", config->meters.names.v[0]);
    CHECK(strstr(text, meter) != NULL);
    sr_free(text);
    sr_run_close(run);
    sr_config_free(config);
    sr_log_close();
    temp_dir_remove(dir);
}

TEST(test_all) {
    char **names = NULL;
    int n = 0, run = 0;
    CHECK_OK(sr_file_list("configs/benchmark", &names, &n));
    for (int i = 0; i < n; i++) {
        char path[256];
        snprintf(path, sizeof path, "configs/benchmark/%s", names[i]);
        if (!sr_text_ends(path, ".yaml"))
            continue;
        run_recipe(path);
        run++;
    }
    sr_file_list_free(names, n);
    CHECK(run >= 5);
}

static double rate_at_start(const char *const *overrides, int n) {
    SrConfig *config;
    SrArena arena = SR_ARENA_INIT;
    SrSchedule *lr;
    CHECK_OK(sr_config_load("configs/benchmark/fulltune.yaml", overrides, n, &config));
    CHECK_OK(
        sr_schedule_new(config->optimizer.lr, "lr", config->optimizer.num_epochs, &arena, &lr));
    double rate = sr_schedule_value(lr, 0);
    sr_config_free(config);
    sr_arena_deinit(&arena);
    return rate;
}

// The overrides that the error of a shortened schedule prints hold the file's own values.  Pasted,
// they give the rates that the file meant.
TEST(test_shortened_schedule) {
    const char *overrides[] = {"OPTIMIZER.num_epochs=5", NULL, NULL};
    char line[2048];
    SrConfig *config;
    CHECK_FAILS(sr_config_load("configs/benchmark/fulltune.yaml", overrides, 1, &config),
                SR_ERR_CONFIG,
                "add OPTIMIZER.param_schedulers.lr.milestones=[4] "
                "OPTIMIZER.param_schedulers.lr.values=[0.1,0.01]");
    snprintf(line, sizeof line, "%s", strstr(sr_status_message(), " add ") + 5);
    overrides[1] = strtok(line, " ");
    overrides[2] = strtok(NULL, " ");
    CHECK(overrides[1] && overrides[2] && !strtok(NULL, " "));
    CHECK_NEAR(rate_at_start(overrides, 3), rate_at_start(NULL, 0), 0);
    overrides[0] = "OPTIMIZER.num_epochs=1";
    CHECK_FAILS(sr_config_load("configs/benchmark/fulltune.yaml", overrides, 1, &config),
                SR_ERR_CONFIG, "lr.milestones=[] OPTIMIZER.param_schedulers.lr.values=[0.1]");
}

SR_TESTS(benchmark_configs, unit(test_all), unit(test_shortened_schedule))
