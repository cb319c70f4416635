// Composition: which files make up a configuration, and in which order.
//
//   defaults of the schema <- the file and what its `defaults:` list names <- every +config/DIR=FILE in
//   command-line order <- every KEY=VALUE in command-line order.
//
// Maps merge, lists and scalars are replaced whole, later ones win; then ${...} is replaced.
#ifndef SR_TRAINER_CONFIG_COMPOSE_H
#define SR_TRAINER_CONFIG_COMPOSE_H

#include "base/arena.h"
#include "base/option.h"
#include "base/problems.h"
#include "base/yaml.h"

// The file of a name as VISSL writes it (pretrain/swav/swav_8node_resnet) or of a path, with or without .yaml.
// Searched: the path itself, ./configs/config, ./configs, then the same two folders beside the program; for a name in a
// `defaults:` list last the folders above that file.
SrStatus sr__compose_load(const char *name, SrArena *arena, const char **found, SrYaml **file);
// file: parsed, may be NULL; without its word CHECKPOINT.DIR is runs/ and its name.  *tree: a complete tree of keys;
// nothing in it is checked yet.
// layers: the files in the order in which they lie over each other, NULL allowed.
// problems: overrides that cannot be applied are kept there and passed over; NULL: the first one is the error.
SrStatus sr__compose(SrYaml *file, const char *const *overrides, int n_overrides, SrArena *arena,
                     SrProblems *problems, SrYaml **tree, SrStrings *layers);
// Replaces ${config.A.B} and ${env:NAME} in all strings of a composed tree (interpolate.c).  A key or variable that does
// not exist, a map, a ring: SR_ERR_CONFIG with file:line.
SrStatus sr__interpolate(SrYaml *tree, SrArena *arena);

#endif
