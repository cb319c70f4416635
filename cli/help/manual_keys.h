// Writes docs/reference/keys.md: every key of the configuration by section, then the keys without
// effect.
#ifndef SR_CLI_HELP_MANUAL_KEYS_H
#define SR_CLI_HELP_MANUAL_KEYS_H

#include "base/status.h"
#include "base/text/text.h"

// Appends the page in Markdown. A key without effect stands only in the list at the end, under its
// reason. SR_ERR_MEMORY: out of memory.
SrStatus sr_manual_keys(SrText *out);

#endif
