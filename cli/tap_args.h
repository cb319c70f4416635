// The flags --nodes, --train-nodes and --eval-nodes of the verbs that tap layers.
#ifndef SR_CLI_TAP_ARGS_H
#define SR_CLI_TAP_ARGS_H

#include "base/status.h"

typedef struct { // each a list "layer1,layer4:deep"; NULL: not given
    const char *both, *train, *eval;
} SrTapArgs;

// torchvision's rule: one list for both modes, or one list for each.  Anything else: SR_ERR_CONFIG.
SrStatus sr_tap_args_check(const SrTapArgs *args);

#endif
