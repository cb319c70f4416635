// Weights of others from which a first configuration starts (sslrun init --from).
#ifndef SR_PAGES_STARTER_WEIGHTS_H
#define SR_PAGES_STARTER_WEIGHTS_H

#include "trunks/presets.h"

typedef struct {
    char file[4096]; // absolute path
    const SrPreset *preset;
    int width;        // floats of a feature
    bool attention;   // the trunk is a transformer, so that adapters can learn
    bool layer_rates; // the trunk takes OPTIMIZER.param_group_constructor=lr_decay
    bool plain_names; // the names in the file belong to no known writer and need a prefix
} SrStarterWeights;

// Checks that the file holds every tensor of a model.  model: its name; NULL: the names of the
// file's tensors tell it.  SR_ERR_CONFIG: no such file, an unknown or unclear model, or a tensor is
// missing, left over or of another shape; the message names it.
SrStatus sr_starter_weights_open(const char *model, const char *file, SrStarterWeights *out);

#endif
