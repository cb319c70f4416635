// Seconds on a clock that never jumps, and text for durations and sizes.
#ifndef SR_BASE_CLOCK_H
#define SR_BASE_CLOCK_H

#include <stddef.h>

double sr_clock(void); // seconds since an arbitrary start
// Writes "1:02:33", as Python prints a timedelta; with days "2 days, 1:02:33".  Returns out.
const char *sr_duration_text(double seconds, char *out, size_t bytes);
// Writes "812.3 MB", in powers of 1024.  Returns out.
const char *sr_bytes_text(double bytes_value, char *out, size_t bytes);

#endif
