// Measures an epoch and divides (minutes.h).
#include "trainer/bench/minutes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
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

static SrStatus choose_epochs(const SrConfig *config, bool restart, int *epochs) {
    int minutes = config->optimizer.minutes;
    const SrYaml *given = sr_yaml_find_path(config->tree, "OPTIMIZER.num_epochs");
    if (sr_yaml_from_command_line(given))
        SR_FAIL(SR_ERR_CONFIG,
                "OPTIMIZER.MINUTES (or --minutes) decides the number of epochs: leave it or "
                "OPTIMIZER.num_epochs=%lld out",
                (long long)given->i);
    *epochs = restart ? 0 : epochs_of_run(config);
    if (*epochs == 0)
        return measure(config, epochs);
    sr_info("%d minute%s: the run in %s was given %d epochs, and keeps them (--restart measures)",
            minutes, minutes == 1 ? "" : "s", config->checkpoint.dir, *epochs);
    return SR_OK;
}

// Loads the configuration once more; the first time has said all there is to say about it.
static SrStatus load_again(const char *path, const char *const *overrides, int n, int epochs,
                           SrConfig **out) {
    char last[48];
    snprintf(last, sizeof last, "OPTIMIZER.num_epochs=%d", epochs);
    const char **all = sr_calloc((size_t)n + 1, sizeof *all);
    SR_TRY_MEMORY(all, "overrides");
    for (int i = 0; i < n; i++)
        all[i] = overrides[i];
    all[n] = last;
    SrLogLevel level = sr_log_set_level(SR_LOG_ERROR);
    SrStatus status = sr_config_load(path, all, n + 1, out);
    sr_log_set_level(level);
    sr_free(all);
    return status;
}

SrStatus sr_minutes_fit(const char *path, const char *const *overrides, int n, bool restart,
                        SrConfig **config) {
    int epochs = 0;
    if ((*config)->optimizer.minutes == 0 || (*config)->test_only || !(*config)->learns)
        return SR_OK;
    SrStatus status = choose_epochs(*config, restart, &epochs);
    sr_config_free(*config);
    *config = NULL;
    return status == SR_OK ? load_again(path, overrides, n, epochs, config) : status;
}
