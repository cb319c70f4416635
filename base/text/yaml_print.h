// Prints YAML trees: documents in block style, and one line in flow style.
#ifndef SR_BASE_TEXT_YAML_PRINT_H
#define SR_BASE_TEXT_YAML_PRINT_H

#include "base/text/yaml.h"

// Prints in block style with two blanks per level.  The text parses back to an equal tree, unless
// it failed for lack of memory.
void sr_yaml_print(const SrYaml *node, SrText *out);
// Prints one line in flow style, for messages and the command line.
void sr_yaml_print_flow(const SrYaml *node, SrText *out);

#endif
