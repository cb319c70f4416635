// Checks VISSL's flags for evaluations against each other.
#ifndef SR_TRAINER_CONFIG_VISSL_FEATURE_EVAL_SETTINGS_H
#define SR_TRAINER_CONFIG_VISSL_FEATURE_EVAL_SETTINGS_H

#include "base/text/yaml.h"

// SR_ERR_CONFIG if flags of MODEL.FEATURE_EVAL_SETTINGS contradict each
// other; the message says which recipe was probably meant.
SrStatus sr__eval_settings_check(const SrYaml *tree);

#endif
