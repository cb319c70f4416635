// The flags --nodes, --train-nodes and --eval-nodes of the verbs that tap layers.
#ifndef SR_CLI_ARGS_TAP_ARGS_H
#define SR_CLI_ARGS_TAP_ARGS_H

#include "base/status.h"

// Lists such as "layer1,layer4:deep"; NULL: not given.
typedef struct {
    const char *both, *train, *eval;
} SrTapArgs;

// Checks torchvision's rule: one list for both modes, or one list for each.  SR_ERR_CONFIG: broken.
SrStatus sr_tap_args_check(const SrTapArgs *args);

#endif
