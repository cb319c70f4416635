// Numbers as text with a decimal point in every locale.  A program that embeds the library may
// have called setlocale, after which strtod and printf read and write "0,5".  The functions here
// switch the calling thread to the C locale and back (uselocale, POSIX.1-2008); other threads see
// no change.
#ifndef SR_BASE_TEXT_NUMBER_H
#define SR_BASE_TEXT_NUMBER_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

// Works like strtod; end may be NULL.
double sr_number_parse(const char *s, char **end);
// Work like snprintf and vsnprintf: return the length of the whole text, negative on a format
// error.
int sr_number_print(char *out, size_t bytes, const char *fmt, ...) SR_PRINTF(3, 4);
int sr_number_vprint(char *out, size_t bytes, const char *fmt, va_list args) SR_PRINTF(3, 0);

// Parses a number of bytes such as "256M", "1.5G" or "500000" (K, M, G, T: powers of 1024).  NaN:
// the text is no such number.
double sr_number_bytes(const char *text);

// Writes a count as "2.30 G", "28.35 M", "44.4 k" or "812"; returns out.
const char *sr_count_text(int64_t n, char out[32]);

// Enclose a call into another library that reads or prints numbers.  begin returns the thread's
// locale, and end restores it.
void *sr_number_begin(void);
void sr_number_end(void *before);

#endif
