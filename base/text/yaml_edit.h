// Small reads and writes of a configuration tree, for the rules that infer values.  A new value
// keeps the file and line of the one that it replaces, so that later errors still point to the
// user's text.
#ifndef SR_BASE_TEXT_YAML_EDIT_H
#define SR_BASE_TEXT_YAML_EDIT_H

#include "base/text/yaml.h"

// Replace or add map[key].  A float reads back as an equal float.
SrStatus sr_tree_put_float(SrArena *arena, SrYaml *map, const char *key, double value);
SrStatus sr_tree_put_int(SrArena *arena, SrYaml *map, const char *key, int64_t value);
// Sets the node at a path such as "A.B.2.c": keys of maps, and numbers as indices of lists, where
// the length of the list appends.  Maps and lists that are missing on the way are made, also in the
// place of a null.  A map is merged into a map; everything else is replaced.  SR_ERR_CONFIG, with
// `path` in the message: it leads through a scalar, or past the end of a list.
SrStatus sr_tree_set(SrArena *arena, SrYaml *map, const char *path, SrYaml *value);
// Returns the number at map[key].  SR_ERR_CONFIG, naming `where`.key: absent or no number.
SrStatus sr_tree_number(const SrYaml *map, const char *key, const char *where, double *out);
// Return the value at a dotted path, or `otherwise`.
const char *sr_tree_text(const SrYaml *tree, const char *path, const char *otherwise);
int64_t sr_tree_int(const SrYaml *tree, const char *path, int64_t otherwise);
bool sr_tree_bool(const SrYaml *tree, const char *path, bool otherwise);
bool sr_tree_is_default(const SrYaml *node); // not set by the user, or absent
// Returns the first value in `given` that differs from `usual`; NULL: none.  `given` may leave
// out keys of maps but not items of lists.
const SrYaml *sr_tree_difference(const SrYaml *given, const SrYaml *usual);
// Writes the shortest text that reads back as the same double, with a point or an exponent.
const char *sr_tree_float_text(double value, char *buf, size_t buf_bytes);

#endif
