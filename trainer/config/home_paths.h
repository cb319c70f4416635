// Expands paths that begin with the home folder.
#ifndef SR_TRAINER_CONFIG_HOME_PATHS_H
#define SR_TRAINER_CONFIG_HOME_PATHS_H

#include "base/arena.h"
#include "trainer/config/config_types.h"

// Expands "~/" at the front of the paths of images, labels, weights and run folder.
SrStatus sr__expand_homes(SrConfig *config);
SrStatus sr__expand_home(SrArena *arena, const char **path); // a single path

#endif
