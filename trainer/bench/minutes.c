// Measures an epoch and divides (minutes.h).
#include "trainer/bench/minutes.h"

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

static SrStatus measure(const SrConfig *config, int *epochs) {
    double seconds;
    int minutes = config->optimizer.minutes;
    SR_TRY(sr_epoch_time_of_steps(config, &seconds));
    *epochs = (int)fmin(fmax(60.0 * minutes / seconds, 1), 1e9);
    *epochs = -sr_comm_max(-*epochs); // ranks agree on the slowest one's
    sr_info("%d minute%s: %d epoch%s of about %.3g s", minutes, minutes == 1 ? "" : "s", *epochs,
            *epochs == 1 ? "" : "s", seconds);
    return SR_OK;
}

SrStatus sr_minutes_override(const SrConfig *config, bool restart, char out[SR_MINUTES_BYTES]) {
    int minutes = config->optimizer.minutes;
    const SrYaml *given = sr_yaml_find_path(config->tree, "OPTIMIZER.num_epochs");
    if (given && given->file && strcmp(given->file, SR_YAML_COMMAND_LINE) == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "OPTIMIZER.MINUTES (or --minutes) decides the number of epochs: leave it or "
                "OPTIMIZER.num_epochs=%lld out",
                (long long)given->i);
    int epochs = restart ? 0 : epochs_of_run(config);
    if (epochs > 0)
        sr_info("%d minute%s: the run in %s was given %d epochs, and keeps them (--restart "
                "measures)",
                minutes, minutes == 1 ? "" : "s", config->checkpoint.dir, epochs);
    else
        SR_TRY(measure(config, &epochs));
    snprintf(out, SR_MINUTES_BYTES, "OPTIMIZER.num_epochs=%d", epochs);
    return SR_OK;
}
