// Reads the best layer from the run's metrics.json, without an evaluation.
#include "cli/best_layer.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "pages/runs/run_history.h"

// Writes the folder of a checkpoint, "." for a file without one.
static void folder_of(const char *checkpoint, char folder[4096]) {
    snprintf(folder, 4096, "%s", checkpoint);
    char *slash = strrchr(folder, '/');
    snprintf(slash ? slash : folder, slash ? 1 : 2, slash ? "" : ".");
}

SrStatus sr_best_layer_of(const char *checkpoint, const char *otherwise, const char **layer,
                          SrBestLayer *out) {
    char folder[4096];
    if (*layer)
        return SR_OK;
    folder_of(checkpoint, folder);
    SR_TRY(sr_history_best_layer(folder, out->name, sizeof out->name));
    if (*out->name) {
        sr_info("layer %s: the best one in the run's evaluation; --layer chooses another",
                out->name);
    } else {
        snprintf(out->name, sizeof out->name, "%s", otherwise);
        sr_info("layer %s: the default, since %s holds no evaluation of layers; --layer chooses "
                "another",
                out->name, folder);
    }
    *layer = out->name;
    return SR_OK;
}
