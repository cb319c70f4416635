// Replaces references to other keys and to variables of the environment.
#ifndef SR_TRAINER_CONFIG_VISSL_INTERPOLATE_H
#define SR_TRAINER_CONFIG_VISSL_INTERPOLATE_H

#include "base/arena.h"
#include "base/text/yaml.h"

// Replaces ${config.A.B} and ${env:NAME} in all strings of a composed tree.
// SR_ERR_CONFIG with file:line: the key or variable does not exist, the key holds a map, or
// references form a cycle.
SrStatus sr__interpolate(SrYaml *tree, SrArena *arena);

#endif
