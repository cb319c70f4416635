// Measures an epoch and loads the configuration again with the epochs that fit (minutes.h).
#include "cli/minutes.h"

#include <math.h>
#include <stdio.h>

#include "base/file.h"
#include "base/log.h"
#include "base/ranks/comm.h"
#include "base/text/yaml_load.h"
#include "trainer/bench/epoch_time.h"
#include "trainer/run/run.h"

// Reads the epochs of the run in the configuration's folder; 0: there is none.
static int epochs_of_run(const SrConfig *config) {
    char path[4096];
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree = NULL;
    int epochs = 0;
    if (sr_file_join(path, sizeof path, config->checkpoint.dir, "train_config.yaml") == SR_OK &&
        sr_file_exists(path) && sr_yaml_load(&arena, path, &tree) == SR_OK) {
        const SrYaml *n = sr_yaml_find_path(tree, "config.OPTIMIZER.num_epochs");
        epochs = n && n->type == SR_YAML_INT ? (int)n->i : 0;
    }
    sr_arena_deinit(&arena);
    sr_status_clear();
    return epochs;
}

static SrStatus measure(const SrConfig *config, int minutes, int *epochs) {
    SrRun *run;
    SrEpochTime epoch;
    SR_TRY(sr_run_open(config, SR_RUN_TRAIN, &run));
    int64_t images = run->steps_per_epoch * config->train.batchsize_per_replica;
    sr_run_close(run);
    SR_TRY(sr_epoch_time(config, images, &epoch));
    *epochs = (int)fmin(fmax(60.0 * minutes / epoch.seconds, 1), 1e9);
    *epochs = -sr_comm_max(-*epochs); // ranks agree on the slowest one's
    sr_info("--minutes %d: %d epoch%s of about %.3g s", minutes, *epochs, *epochs == 1 ? "" : "s",
            epoch.seconds);
    return SR_OK;
}

SrStatus sr_minutes_load(const SrArgs *given, int minutes, bool restart, SrConfig **out) {
    SrArgs args = *given;
    SrConfig *config;
    char override[64];
    if (args.n_overrides == SR_ARGS_MAX)
        SR_FAIL(SR_ERR_CONFIG, "--minutes: there is no room for one more of %d overrides",
                SR_ARGS_MAX);
    SR_TRY(sr_args_load_config(&args, "train", &config));
    int epochs = restart ? 0 : epochs_of_run(config);
    if (epochs > 0)
        sr_info("--minutes %d: the run in %s was given %d epochs, and keeps them", minutes,
                config->checkpoint.dir, epochs);
    SrStatus status = epochs > 0 ? SR_OK : measure(config, minutes, &epochs);
    sr_config_free(config);
    SR_TRY(status);
    snprintf(override, sizeof override, "OPTIMIZER.num_epochs=%d", epochs);
    args.overrides[args.n_overrides++] = override;
    return sr_args_load_config(&args, "train", out);
}
