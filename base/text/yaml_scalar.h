// The type of a plain scalar by YAML 1.1 as in PyYAML (octal 010, binary, 1_000), with OmegaConf's
// floats (1e-4).  The words yes, no, on and off, dates and base-60 numbers are strings.
#ifndef SR_BASE_TEXT_YAML_SCALAR_H
#define SR_BASE_TEXT_YAML_SCALAR_H

#include "base/text/yaml.h"

// Makes a scalar whose type follows from its text.  NULL: memory is out.
SrYaml *sr_yaml_scalar(SrArena *arena, const char *text, const char *file, int line);

#endif
