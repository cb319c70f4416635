// Completions of shells, written from the descriptors of the verbs.
#ifndef SR_CLI_HELP_COMPLETIONS_H
#define SR_CLI_HELP_COMPLETIONS_H

#include "base/text/text.h"

void sr_completion_bash(SrText *out);
void sr_completion_zsh(SrText *out);
void sr_completion_fish(SrText *out);

#endif
