// One input of the configuration fuzzer: lines that start with '!' are overrides, the rest is YAML text.
#ifndef SR_TESTS_TRAINER_CONFIG_INPUT_H
#define SR_TESTS_TRAINER_CONFIG_INPUT_H

#include <stddef.h>

// Loads what the input says and, where that works, prints the tree, reads it again, builds the model and plans its
// step.  Aborts when the second tree differs, when all that held more than 256 MiB at once, or when a block is left;
// every other outcome is fine as long as nothing crashes.
void config_input_try(const char *data, size_t bytes);

#endif
