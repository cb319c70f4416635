// Measures an epoch and loads the configuration again with the epochs that fit (minutes.h).
#include "cli/minutes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/ranks/comm.h"
#include "base/text/yaml_load.h"
#include "trainer/bench/epoch_time.h"

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
    double seconds;
    SR_TRY(sr_epoch_time_of_steps(config, &seconds));
    *epochs = (int)fmin(fmax(60.0 * minutes / seconds, 1), 1e9);
    *epochs = -sr_comm_max(-*epochs); // ranks agree on the slowest one's
    sr_info("--minutes %d: %d epoch%s of about %.3g s", minutes, *epochs, *epochs == 1 ? "" : "s",
            seconds);
    return SR_OK;
}

// Loads the configuration for a look; the second loading prints what there is to say about it.
static SrStatus look(const SrArgs *args, SrConfig **out) {
    SrLogLevel level = sr_log_set_level(SR_LOG_ERROR);
    SrStatus status = sr_args_load_config(args, "train", out);
    sr_log_set_level(level);
    SR_TRY(status);
    if (!(*out)->test_only && (*out)->learns)
        return SR_OK;
    sr_config_free(*out);
    SR_FAIL(SR_ERR_CONFIG, "--minutes trains, but %s trains nothing: leave the flag out",
            args->names[0]);
}

// Two numbers of epochs contradict each other.
static SrStatus refuse_epochs(const SrArgs *args) {
    for (int i = 0; i < args->n_overrides; i++)
        if (strstr(args->overrides[i], "OPTIMIZER.num_epochs="))
            SR_FAIL(SR_ERR_CONFIG, "--minutes decides the number of epochs: leave it or %s out",
                    args->overrides[i]);
    return SR_OK;
}

SrStatus sr_minutes_load(const SrArgs *given, int minutes, bool restart, SrConfig **out) {
    SrArgs args = *given;
    SrConfig *config;
    char override[64];
    if (args.n_overrides == SR_ARGS_MAX)
        SR_FAIL(SR_ERR_CONFIG, "--minutes: there is no room for one more of %d overrides",
                SR_ARGS_MAX);
    SR_TRY(refuse_epochs(&args));
    SR_TRY(look(&args, &config));
    int epochs = restart ? 0 : epochs_of_run(config);
    if (epochs > 0)
        sr_info(
            "--minutes %d: the run in %s was given %d epochs, and keeps them (--restart measures)",
            minutes, config->checkpoint.dir, epochs);
    SrStatus status = epochs > 0 ? SR_OK : measure(config, minutes, &epochs);
    sr_config_free(config);
    SR_TRY(status);
    snprintf(override, sizeof override, "OPTIMIZER.num_epochs=%d", epochs);
    args.overrides[args.n_overrides++] = override;
    return sr_args_load_config(&args, "train", out);
}
