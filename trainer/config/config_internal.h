// The steps of sr_config_load that drafts and derived configurations repeat.  Internal to this
// folder.
#ifndef SR_TRAINER_CONFIG_CONFIG_INTERNAL_H
#define SR_TRAINER_CONFIG_CONFIG_INTERNAL_H

#include "base/problems.h"
#include "trainer/config/config_types.h"

// Reads every section of config->tree into its struct.  Unknown names of trunk and loss
// are no error here.  problems collects the mistakes; NULL: the first one is returned.
SrStatus sr__config_read(SrConfig *config, SrProblems *problems);
// Replaces a model's name in MODEL.TRUNK.NAME (`efficientnet_b0`, as `sslrun graph` takes it) by
// its trunk and the options that make the model.  Other names stay.
SrStatus sr__preset_expand(SrConfig *config);
// Turns config->tree, which is composed, into a checked and inferred configuration: the last step
// of loading.  problems: those of composing; gets all others.
SrStatus sr__config_resolve(SrConfig *config, SrProblems *problems);

#endif
