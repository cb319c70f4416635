// Text that must stay on its line, as file names in lists and comments do.
#ifndef SR_BASE_ESCAPE_H
#define SR_BASE_ESCAPE_H

#include "base/text.h"

// Appends s with control characters and backslashes as C writes them (\n, \t, \\, \033), so that a name can be read
// back.
void sr_escape_line(const char *s, SrText *out);

#endif
