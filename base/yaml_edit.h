// Small writes to a configuration tree, shared by the inference rules.  A new value keeps the file and line of
// the one it replaces, so that a later complaint still points to the user's text.
#ifndef SR_BASE_YAML_EDIT_H
#define SR_BASE_YAML_EDIT_H

#include "base/yaml.h"

// Replaces or adds map[key].  Floats are written so that they read back equal and stay floats.
SrStatus sr_tree_put_float(SrArena *arena, SrYaml *map, const char *key, double value);
SrStatus sr_tree_put_int(SrArena *arena, SrYaml *map, const char *key, int64_t value);
// The number at map[key]; SR_ERR_CONFIG naming `where`.key when it is absent or no number.
SrStatus sr_tree_number(const SrYaml *map, const char *key, const char *where, double *out);
// The string at a dotted path, or `otherwise`.
const char *sr_tree_text(const SrYaml *tree, const char *path, const char *otherwise);
int64_t sr_tree_int(const SrYaml *tree, const char *path, int64_t otherwise);
bool sr_tree_bool(const SrYaml *tree, const char *path, bool otherwise);
bool sr_tree_is_default(const SrYaml *node); // nobody has set it (or it is absent)
// The first value in `given` that `usual` has not, NULL if there is none: maps may leave keys out, lists may not.
const SrYaml *sr_tree_difference(const SrYaml *given, const SrYaml *usual);
// A double as the shortest text that reads back equal, with a point or an exponent.
const char *sr_tree_float_text(double value, char *buf, size_t buf_bytes);

#endif
