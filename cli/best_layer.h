// Which layer of a run's trunk the verbs that compare images use.
#ifndef SR_CLI_BEST_LAYER_H
#define SR_CLI_BEST_LAYER_H

#include "trainer/eval/checkpoint_model.h"

typedef struct {
    char name[64];
} SrBestLayer;

// Sets *layer, unless it is given, to the best layer of the last evaluation in the checkpoint's folder.  Without one,
// *layer becomes the trunk's vector.  Prints which it is.  out: storage of the name, as long as *layer is used.
SrStatus sr_best_layer(const SrCheckpointModel *m, const char **layer, SrBestLayer *out);

#endif
