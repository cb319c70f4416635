// Reports keys of a configuration that are set and have no effect.
#ifndef SR_TRAINER_CONFIG_VISSL_IGNORED_H
#define SR_TRAINER_CONFIG_VISSL_IGNORED_H

#include "base/arena.h"
#include "trainer/config/config_types.h"

// Logs a line for each key that is set and has no effect: IGNORED rows of all tables,
// also of transforms and heads, and keys that another key switches off.  SR_ERR_CONFIG: a row
// refuses its value.  Reads only tree, path and layers of the configuration.
SrStatus sr__report_ignored(const SrConfig *config, SrArena *arena);

#endif
