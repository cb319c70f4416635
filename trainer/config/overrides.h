// Applies overrides of the command line, KEY=VALUE, to a tree.
#ifndef SR_TRAINER_CONFIG_OVERRIDES_H
#define SR_TRAINER_CONFIG_OVERRIDES_H

#include "base/arena.h"
#include "base/text/yaml.h"

// Applies one command-line override to the tree.
SrStatus sr__override_apply(SrYaml *tree, const char *text, SrArena *arena);

#endif
