// Escapes text for lists, comments and tables: file names that must stay on one line, and fields of
// CSV.
#ifndef SR_BASE_TEXT_ESCAPE_H
#define SR_BASE_TEXT_ESCAPE_H

#include "base/text/text.h"

// Appends s with control characters and backslashes as C writes them (\n, \t, \\, \033), so that a
// reader can restore the name.
void sr_escape_line(const char *s, SrText *out);
// Appends a field of CSV, in quotes if it needs them (RFC 4180).
void sr_escape_csv(const char *s, SrText *out);

#endif
