// Patterns of the tables in naming_layout.c.  A pattern is the beginning of a name in which <a> and
// <b> stand for numbers: <a+1> is one more, <2a+1> an odd number.  A letter has one value per name.
#ifndef SR_FORMATS_NAMES_NAMING_PATTERN_H
#define SR_FORMATS_NAMES_NAMING_PATTERN_H

#include <stddef.h>

enum { SR_PATTERN_LETTERS = 3 };

// Returns the rest of the name after the pattern and fills the letters' values; NULL: no match.
const char *sr_pattern_match(const char *pattern, const char *name, int values[SR_PATTERN_LETTERS]);
// Writes the pattern with these values, followed by rest, into out (bytes long).
void sr_pattern_write(const char *pattern, const int values[SR_PATTERN_LETTERS], const char *rest,
                      char *out, size_t bytes);

#endif
