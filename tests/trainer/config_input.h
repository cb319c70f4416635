// One input of the configuration fuzzer: lines that start with '!' are overrides, the rest is
// YAML text.
#ifndef SR_TESTS_TRAINER_CONFIG_INPUT_H
#define SR_TESTS_TRAINER_CONFIG_INPUT_H

#include <stddef.h>

// Loads the input. If that works, prints the tree, reads it again, builds the model and plans its
// step. Aborts if the second tree differs, if more than 256 MiB were allocated at once, or on a
// leak. Any status of the loader is accepted.
void config_input_try(const char *data, size_t bytes);

#endif
