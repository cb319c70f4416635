// A run's configuration: VISSL's tree of keys with VISSL's defaults, read into structs.  The option
// tables of all plugins and sections are the schema; there is no second list of keys.
//
// A value comes from the defaults, then the file, then the overrides, then inference
// (trainer/config/vissl/inference.c); later ones win.  An unknown key is SR_ERR_CONFIG: the error
// names file, line and the closest valid key.
#ifndef SR_TRAINER_CONFIG_CONFIG_H
#define SR_TRAINER_CONFIG_CONFIG_H

#include "trainer/config/config_types.h"

// Loads, infers and checks a configuration.  *out belongs to the caller (sr_config_free); it is
// left alone on an error.
//   path       a file, or a name below configs/ as VISSL writes it (trainer/config/vissl/compose.h)
//   overrides  "A.B=v" or "config.A.B=v", "+A.B=v" (new key), "~A.B" (remove), applied in order;
//              "+config/DIR=FILE" comes before all of them, wherever it stands
// SR_ERR_CONFIG: the file or an override is wrong.  Mistakes are collected: one is the message;
// several are logged, one error each, and the message gives their number.
SrStatus sr_config_load(const char *path, const char *const *overrides, int n_overrides,
                        SrConfig **out);
// Does so for a text; `name` stands for the file in messages.
SrStatus sr_config_parse(const char *text, const char *name, const char *const *overrides,
                         int n_overrides, SrConfig **out);
// Parses the configuration that a checkpoint holds.  Logs warnings and errors only: the run said
// everything else when it began.
SrStatus sr_config_parse_saved(const char *text, const char *name, SrConfig **out);
// Makes a configuration of defaults and overrides, without a file.  Checks keys, but does not ask
// for a model, a loss or data: for commands that work on files of features (section SVM).
SrStatus sr_config_options(const char *const *overrides, int n_overrides, SrConfig **out);
// Composes defaults, file and overrides into *tree, in the arena.  Does not check, infer or read
// it.
SrStatus sr_config_compose(const char *path, const char *const *overrides, int n_overrides,
                           SrArena *arena, SrYaml **tree);
void sr_config_free(SrConfig *config); // legal for NULL
// Writes the resolved tree (YAML that loads again) to <dir>/train_config.yaml.
SrStatus sr_config_save(const SrConfig *config, const char *dir);

#endif
