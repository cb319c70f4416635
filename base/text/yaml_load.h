// Reads YAML documents into trees, by libyaml.
//
// Bounds: 1 MiB of text, 100,000 nodes, depth 64, 1000 anchors, keys of 200 bytes.  An alias
// counts as all nodes that it stands for, because libyaml does not stop exponential aliases.
// Duplicate keys are errors.
#ifndef SR_BASE_TEXT_YAML_LOAD_H
#define SR_BASE_TEXT_YAML_LOAD_H

#include "base/text/yaml.h"

// Parses a document.  Plain scalars follow YAML 1.1 as PyYAML and Hydra do, but 1e-4 is a float,
// and yes, no, on and off are strings.  A first line "# @package _global_" is an ordinary
// comment.  file: name for messages.
SrStatus sr_yaml_parse(SrArena *arena, const char *text, size_t bytes, const char *file,
                       SrYaml **out);
SrStatus sr_yaml_load(SrArena *arena, const char *path, SrYaml **out);

#endif
