// Escapes text that must stay on one line, such as file names in lists and comments.
#ifndef SR_BASE_TEXT_ESCAPE_H
#define SR_BASE_TEXT_ESCAPE_H

#include "base/text/text.h"

// Appends s with control characters and backslashes as C writes them (\n, \t, \\, \033), so that a
// reader can restore the name.
void sr_escape_line(const char *s, SrText *out);

#endif
