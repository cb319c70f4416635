// The type of a plain scalar by YAML 1.1 as in PyYAML (octal 010, binary, 1_000), with OmegaConf's
// floats (1e-4).  The words yes, no, on and off, dates and base-60 numbers are strings.
#ifndef SR_BASE_TEXT_YAML_SCALAR_H
#define SR_BASE_TEXT_YAML_SCALAR_H

#include "base/text/yaml.h"

// Makes a scalar whose type follows from its text.  NULL: memory is out.
SrYaml *sr_yaml_scalar(SrArena *arena, const char *text, const char *file, int line);

// Make scalars that come from no file: `file` is "".  NULL: memory is out.
SrYaml *sr_yaml_bool(SrArena *arena, bool value);
SrYaml *sr_yaml_int(SrArena *arena, int64_t value);
SrYaml *sr_yaml_float(SrArena *arena, double value); // its text reads back as the same float
// Makes a string even of a text that looks like a number ("5").  NULL makes null.
SrYaml *sr_yaml_string(SrArena *arena, const char *value);

#endif
