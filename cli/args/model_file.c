// Splits MODEL:FILE.
#include "cli/args/model_file.h"

#include <stdio.h>
#include <string.h>

#include "trunks/presets.h"

bool sr_args_model_file(const char *arg, char model[SR_ARGS_MODEL_BYTES], const char **file) {
    const SrPreset *preset;
    const char *colon = strchr(arg, ':');
    *file = NULL;
    if (!colon || colon - arg >= SR_ARGS_MODEL_BYTES)
        return false;
    snprintf(model, SR_ARGS_MODEL_BYTES, "%.*s", (int)(colon - arg), arg);
    *file = colon + 1;
    return sr_preset_find(model, &preset) == SR_OK;
}
