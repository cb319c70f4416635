// The argument MODEL:FILE, a model's name and its weights: "resnet18:weights.pth".
#ifndef SR_CLI_ARGS_MODEL_FILE_H
#define SR_CLI_ARGS_MODEL_FILE_H

#include <stdbool.h>

enum { SR_ARGS_MODEL_BYTES = 256 };

// Splits the argument; *file points into it.  False: its first part is no model's name.
// *file NULL: it has no two parts.
bool sr_args_model_file(const char *arg, char model[SR_ARGS_MODEL_BYTES], const char **file);

#endif
