// The little language of the tables in naming_layout.c.  A pattern is the beginning of a name, in which <a> and <b> stand for
// numbers: <a+1> for one more, <2a+1> for the uneven ones.  A letter has the same value wherever it is.
#ifndef SR_FORMATS_NAMING_PATTERN_H
#define SR_FORMATS_NAMING_PATTERN_H

#include <stddef.h>

enum { SR_PATTERN_LETTERS = 2 };

// What follows the pattern in the name, with the letters' values; NULL when it does not fit.
const char *sr_pattern_match(const char *pattern, const char *name, int values[SR_PATTERN_LETTERS]);
// The pattern with these values, and the rest behind it.
void sr_pattern_write(const char *pattern, const int values[SR_PATTERN_LETTERS], const char *rest,
                      char *out, size_t bytes);

#endif
