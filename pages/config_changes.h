// What differs between configurations, key by key: a run's from its file, runs from each other.
#ifndef SR_PAGES_CONFIG_CHANGES_H
#define SR_PAGES_CONFIG_CHANGES_H

#include "trainer/config/config.h"

// "KEY: was -> is" of each key of the resolved configuration that its file, or where that is silent the defaults, has
// otherwise: overrides and what was inferred.  Lives in arena.  A file that has gone: none.
SrStatus sr_config_changes(const SrConfig *config, SrArena *arena, SrStrings *out);

// fn for each key at which the maps a and b differ, with what either has there (NULL: nothing).  Lists are values.
typedef SrStatus (*SrKeyDiffers)(void *arg, const char *key, const SrYaml *a, const SrYaml *b);
SrStatus sr_config_differ(const SrYaml *a, const SrYaml *b, SrArena *arena, SrKeyDiffers fn,
                          void *arg);

#endif
