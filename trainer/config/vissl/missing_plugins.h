// Finds names of plugins that this program does not have.
#ifndef SR_TRAINER_CONFIG_VISSL_MISSING_PLUGINS_H
#define SR_TRAINER_CONFIG_VISSL_MISSING_PLUGINS_H

#include "base/arena.h"
#include "base/problems.h"
#include "base/text/yaml.h"

// Looks up every plugin that the tree names.  Those that only VISSL has make one
// SR_ERR_CONFIG; each misspelt name goes to `problems` with the closest name.
SrStatus sr__missing_plugins_check(const SrYaml *tree, SrArena *arena, SrProblems *problems);
// False: everything is frozen, so that neither loss nor optimiser is needed.
bool sr__learns(const SrYaml *tree);

#endif
