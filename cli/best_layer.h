// Choice of the layer with which verbs compare images.
#ifndef SR_CLI_BEST_LAYER_H
#define SR_CLI_BEST_LAYER_H

#include "base/status.h"

typedef struct {
    char name[64];
} SrBestLayer;

// Sets *layer to the best layer of the last evaluation in the checkpoint's folder, and prints its
// name.  A *layer that is not NULL stays.  otherwise: the layer without an evaluation.
// out: storage of the name; it must live as long as *layer.
// SR_ERR_CONFIG: the folder's metrics cannot be read.
SrStatus sr_best_layer_of(const char *checkpoint, const char *otherwise, const char **layer,
                          SrBestLayer *out);

#endif
