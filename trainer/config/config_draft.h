// Configurations that a caller makes in C: typed members and keys instead of YAML text.
//
//     SrConfigDraft *draft;
//     SrConfig *config;
//     SR_TRY(sr_config_draft_new(NULL, &draft)); // the defaults
//     SrArena *arena = &draft->config.arena;
//     draft->config.model.trunk_name = "resnet";
//     draft->config.optimizer.num_epochs = 10;
//     SR_TRY(sr_config_draft_set(draft, "LOSS.swav_loss.epsilon", sr_yaml_float(arena, 0.03)));
//     SR_TRY(sr_config_draft_resolve(draft, &config));
//
// Members are those of SrConfig that a row of a section's option table fills (config_types.h names
// their keys).  Options of plugins have no member: trunks, losses, meters, optimisers, schedules,
// heads and transforms keep their params to themselves, so that their keys are set by name.
#ifndef SR_TRAINER_CONFIG_CONFIG_DRAFT_H
#define SR_TRAINER_CONFIG_CONFIG_DRAFT_H

#include "trainer/config/config_types.h"

// Stands for the file in messages about values that a caller set; without a file also in
// CHECKPOINT.DIR, runs/configuration.
#define SR_DRAFT_NAME "configuration"

typedef struct {
    SrConfig config; // fill its members; no function but those below takes it
    SrConfig given;  // the members as they were read: those that differ in `config` were set
} SrConfigDraft;

// Begins with a file, as sr_config_load finds it, or with the defaults (path NULL).  Errors are
// those of the file's keys.
SrStatus sr_config_draft_new(const char *path, SrConfigDraft **out);
// Begins with a copy of a configuration's tree, which members that no key sets do not follow.
SrStatus sr_config_draft_of(const SrConfig *config, SrConfigDraft **out);
void sr_config_draft_free(SrConfigDraft *draft); // legal for NULL

// Sets a key by VISSL's path, in which a number is the index of a list's item, and the length of a
// list appends to it: "DATA.TRAIN.TRANSFORMS.0.name".  value: in config.arena, made by
// base/text/yaml_scalar.h or sr_options_print; a map is merged into a map.  Options are checked by
// sr_config_draft_resolve.  SR_ERR_CONFIG, which names the key: the path leads
// through a scalar or past the end of a list, or a text is not UTF-8.
SrStatus sr_config_draft_set(SrConfigDraft *draft, const char *key, SrYaml *value);

// Makes a configuration of members and keys, with the inference and checks of a file; a member wins
// over a key.  Errors name SR_DRAFT_NAME and the key.  The draft stays as it is, and may be changed
// and resolved again.  *out belongs to the caller, borrows nothing, and is left alone on an error.
SrStatus sr_config_draft_resolve(const SrConfigDraft *draft, SrConfig **out);

#endif
