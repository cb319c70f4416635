// Numbers as text, with a decimal point whatever locale the process has set.  A program that embeds the library may
// have called setlocale; strtod and printf of the C library then read and write "0,5".  The functions here switch the
// calling thread alone to the C locale and back (uselocale, POSIX.1-2008), so no other thread sees a change.
#ifndef SR_BASE_NUMBER_H
#define SR_BASE_NUMBER_H

#include <stdarg.h>
#include <stddef.h>

#include "base/compiler.h"

// strtod.  end may be NULL.
double sr_number_parse(const char *s, char **end);
// snprintf and vsnprintf: the length that the whole text needs, negative on an error of the format.
int sr_number_print(char *out, size_t bytes, const char *fmt, ...) SR_PRINTF(3, 4);
int sr_number_vprint(char *out, size_t bytes, const char *fmt, va_list args) SR_PRINTF(3, 0);

// Brackets around a call into another library that reads or prints numbers.  begin returns the thread's locale,
// which end sets again.
void *sr_number_begin(void);
void sr_number_end(void *before);

#endif
