// Checks the files and folders that a configuration names.
#ifndef SR_TRAINER_CONFIG_PATHS_CHECK_H
#define SR_TRAINER_CONFIG_PATHS_CHECK_H

#include "base/problems.h"
#include "trainer/config/config_types.h"

// Adds to `problems` each file or folder that the configuration names and that does not exist.
// Logs a warning for each placeholder.
SrStatus sr_config_check_paths(const SrConfig *config, SrProblems *problems);
// True for a placeholder: VISSL's files have a sentence ("specify the model weights") in the place
// of a file.
bool sr_weights_are_placeholder(const char *path);
// False: a run needs weights that the configuration does not name, those of a teacher or in the
// place of a placeholder.
bool sr_config_names_weights(const SrConfig *config);

#endif
