// Building a run when memory runs out at any allocation: an error, no leak, no crash; and
// schedules.
#include <stdio.h>

#include "base/mem.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "trainer/folder.h"
#include "trainer/run.h"

#define CONFIG "tests/cli/tiny.yaml"

// Every allocation in turn would take minutes; growing strides pass through all phases of building.
static void test_out_of_memory(void **state) {
    (void)state;
    SrConfig *config;
    SrRun *run;
    CHECK_OK(sr_config_load(CONFIG, NULL, 0, &config));
    int64_t live = sr_mem_live(), failures = 0;
    for (int64_t n = 1;; n += 1 + n / 25) {
        sr_mem_fail_at(n);
        SrStatus status = sr_run_open(config, SR_RUN_BENCH, &run);
        sr_mem_fail_at(0);
        if (status == SR_OK)
            break;
        if (status != SR_ERR_MEMORY || sr_mem_live() != live)
            fail_msg("allocation %lld: status %d (%s), %lld blocks left", (long long)n, (int)status,
                     sr_status_message(), (long long)(sr_mem_live() - live));
        failures++;
    }
    sr_run_close(run);
    CHECK_INT(sr_mem_live(), live);
    CHECK(failures > 50);
    sr_config_free(config);
}

static void test_checkpoint_out_of_memory(void **state) {
    (void)state;
    char dir[64], path[128];
    SrConfig *config;
    SrRun *run;
    SrPosition at = {.iteration = 3};
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/a.safetensors", dir);
    CHECK_OK(sr_config_load(CONFIG, NULL, 0, &config));
    CHECK_OK(sr_run_open(config, SR_RUN_BENCH, &run));
    SrCheckpointParts parts = sr_run_parts(run);
    int64_t live = sr_mem_live(), failures = 0;
    SrStatus saved = SR_ERR_MEMORY, loaded = SR_ERR_MEMORY;
    for (int64_t n = 1; saved != SR_OK; n++) {
        sr_mem_fail_at(n);
        saved = sr_checkpoint_save(path, &parts, &at);
        sr_mem_fail_at(0);
        CHECK(saved == SR_OK || saved == SR_ERR_MEMORY);
        CHECK_INT(sr_mem_live(), live);
        failures += saved != SR_OK;
    }
    for (int64_t n = 1; loaded != SR_OK; n++) {
        sr_mem_fail_at(n);
        loaded = sr_checkpoint_load(path, &parts, &at);
        sr_mem_fail_at(0);
        CHECK(loaded == SR_OK || loaded == SR_ERR_MEMORY);
        CHECK_INT(sr_mem_live(), live);
        failures += loaded != SR_OK;
    }
    CHECK(failures > 5);
    sr_run_close(run);
    sr_config_free(config);
    temp_dir_remove(dir);
}

// lr: cosine per step from 0.3 to 0.003 over all updates; per epoch it stands still within one.
static void test_rates(void **state) {
    (void)state;
    SrConfig *config;
    SrRun *run;
    double lr, head, first;
    CHECK_OK(sr_config_load(CONFIG, NULL, 0, &config));
    CHECK_OK(sr_run_open(config, SR_RUN_TRAIN, &run));
    CHECK_INT(run->steps_per_epoch, 8);
    CHECK_INT(run->max_iterations, 24);
    sr_run_rates(run, 0, &lr, &head);
    CHECK_NEAR(lr, 0.3, 1e-12);
    CHECK_NEAR(head, lr, 0);
    sr_run_rates(run, 12, &lr, &head);
    CHECK_NEAR(lr, 0.003 + 0.297 / 2, 1e-12);
    sr_run_close(run);
    sr_config_free(config);
    const char *per_epoch = "OPTIMIZER.param_schedulers.lr.update_interval=epoch";
    CHECK_OK(sr_config_load(CONFIG, &per_epoch, 1, &config));
    CHECK_OK(sr_run_open(config, SR_RUN_TRAIN, &run));
    sr_run_rates(run, 8, &first, &head);
    sr_run_rates(run, 15, &lr, &head);
    CHECK_NEAR(lr, first, 0);
    sr_run_rates(run, 16, &lr, &head);
    CHECK(lr < first);
    sr_run_close(run);
    sr_config_free(config);
}

SR_TESTS(run, unit(test_out_of_memory), unit(test_checkpoint_out_of_memory), unit(test_rates))
