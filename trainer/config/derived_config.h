// Makes configurations from another one.
#ifndef SR_TRAINER_CONFIG_DERIVED_CONFIG_H
#define SR_TRAINER_CONFIG_DERIVED_CONFIG_H

#include "trainer/config/config_types.h"

// Copies a configuration.  The caller may change the copy's fields, which its tree does not follow,
// and frees it; it borrows nothing from `config`.
SrStatus sr_config_copy(const SrConfig *config, SrConfig **out);
// Copies a configuration; in the copy, DISTILLATION.TEACHER_MODEL is merged over MODEL.
SrStatus sr_config_teacher(const SrConfig *config, SrConfig **out);

// Makes the configuration of stage k (stages.h); the caller frees it.  Its tree, which checkpoints
// hold, is the whole run's.
SrStatus sr_config_stage(const SrConfig *config, int k, SrConfig **out);

#endif
