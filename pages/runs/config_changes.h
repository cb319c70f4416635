// Differences between configurations by key: between a run and its file, or between runs.
#ifndef SR_PAGES_RUNS_CONFIG_CHANGES_H
#define SR_PAGES_RUNS_CONFIG_CHANGES_H

#include "trainer/config/config.h"

// Lists "KEY: was -> is" for each key whose resolved value differs from its file or, for keys
// that the file lacks, from the defaults.  These are overrides and inferred values.  `arena` owns
// the strings.  The list is empty if the file is missing.
SrStatus sr_config_changes(const SrConfig *config, SrArena *arena, SrStrings *out);

// Calls fn for each key at which the maps a and b differ, with both values; NULL: the map lacks
// the key.  Lists are compared whole.
typedef SrStatus (*SrKeyDiffers)(void *arg, const char *key, const SrYaml *a, const SrYaml *b);
SrStatus sr_config_differ(const SrYaml *a, const SrYaml *b, SrArena *arena, SrKeyDiffers fn,
                          void *arg);

#endif
