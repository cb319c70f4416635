// Composes a configuration from files and command-line overrides.  Layers, the lowest first:
//
//   1. defaults of the schema
//   2. the file, on top of the files that its `defaults:` list names
//   3. every +config/DIR=FILE, in command-line order
//   4. every KEY=VALUE, in command-line order
//
// A higher layer wins: maps merge key by key, lists and scalars are replaced whole.  At the end
// every ${...} is replaced.
#ifndef SR_TRAINER_CONFIG_VISSL_COMPOSE_H
#define SR_TRAINER_CONFIG_VISSL_COMPOSE_H

#include "base/arena.h"
#include "base/plugin/option.h"
#include "base/problems.h"
#include "base/text/yaml.h"

// Finds and parses the file of a name as VISSL writes it (pretrain/swav/swav_8node_resnet), or of a
// path; the ending .yaml may be missing.  *found gets its path, *file its tree; both live in the
// arena.  SR_ERR_CONFIG: no such file; the message names the closest one.
//
// The search tries NAME, configs/config/NAME and configs/NAME, first in the current folder, then
// next to the program, then in ../share/sslrun from there.
SrStatus sr__compose_load(const char *name, SrArena *arena, const char **found, SrYaml **file);
// Composes the layers above.  Where no layer sets CHECKPOINT.DIR, it is runs/NAME, after the file.
//   file      the parsed file; NULL: defaults and overrides alone
//   problems  collects overrides that cannot be applied; NULL: the first one is returned
//   tree      gets the complete tree of keys, in the arena; its keys and values are not checked yet
//   layers    gets the paths of the merged files, the lowest first; NULL: not wanted
SrStatus sr__compose(SrYaml *file, const char *const *overrides, int n_overrides, SrArena *arena,
                     SrProblems *problems, SrYaml **tree, SrStrings *layers);
// Lists the names of all configurations that sr_config_load finds ("pretrain/swav/x"), each once,
// in the arena.
SrStatus sr_config_names(SrArena *arena, SrStrings *out);
// True if sr_config_load would find a file under this name.
bool sr_config_found(const char *name);

#endif
