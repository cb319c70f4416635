// Adds the times of steps and of loading (epoch_time.h).
#include "trainer/bench/epoch_time.h"

#include "base/parallel.h"
#include "data/load/loader.h"
#include "trainer/bench/bench_data.h"
#include "trainer/bench/estimate.h"
#include "trainer/config/derived_config.h"
#include "trainer/config/stages.h"
#include "trainer/data/data_split.h"
#include "trainer/run/run.h"
#include "trainer/run/run_cost.h"

// Measures the seconds that the loader needs per image on one core.
static SrStatus image_seconds(const SrConfig *config, double *out) {
    SrBenchOptions options = {.steps = SR_MAX(256 / config->train.batchsize_per_replica, 1)};
    SrBenchResult result;
    SR_TRY(sr_bench_data(config, &options, &result));
    *out = 1 / result.images_per_s;
    return SR_OK;
}

// Loading takes image_s on one core; its threads and the step share the cores.
static double loading(int64_t images, double image_s) {
    return (double)images * image_s / sr_parallel_threads();
}

SrStatus sr_epoch_time(const SrConfig *config, int64_t images, SrEpochTime *out) {
    SrRun *run;
    double step_s, image_s;
    SR_TRY(sr_run_open(config, SR_RUN_CHECK, &run));
    SrStatus status = sr_estimate_step(run, &step_s);
    out->memory_bytes = (double)sr_run_bytes(&run->cost);
    sr_run_close(run);
    SR_TRY(status);
    SR_TRY(image_seconds(config, &image_s));
    int64_t steps = images / config->train.batchsize_per_replica;
    out->seconds = (double)steps * step_s + loading(images, image_s);
    return SR_OK;
}

// Measures an epoch of one stage.
static SrStatus stage_time(const SrConfig *config, double *seconds) {
    SrBenchOptions options = {.steps = 5, .warmup = 2};
    SrBenchResult steps;
    SrSplit train = {.note = ""};
    double image_s;
    SR_TRY(sr_split_open_train(config, &train));
    int64_t images = sr_loader_length(train.loader);
    sr_split_close(&train);
    SR_TRY(sr_bench(config, &options, &steps, NULL));
    SR_TRY(image_seconds(config, &image_s));
    *seconds = (double)images / steps.images_per_s + loading(images, image_s);
    return SR_OK;
}

// Returns the share of the run that stage k has.
static double stage_share(const SrConfig *config, int k) {
    int epochs = sr_stage_end(config, k) - sr_stage_begin(config, k);
    return (double)epochs / config->optimizer.num_epochs;
}

SrStatus sr_epoch_time_of_steps(const SrConfig *config, double *seconds) {
    *seconds = 0;
    for (int k = 0; k < sr_stages_count(config); k++) {
        SrConfig *stage;
        double s;
        SR_TRY(sr_config_stage(config, k, &stage));
        SrStatus status = stage_time(stage, &s);
        sr_config_free(stage);
        SR_TRY(status);
        *seconds += stage_share(config, k) * s;
    }
    return SR_OK;
}
