// The monotonic clock, and durations and sizes as text.
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

#include "base/compiler.h"
#include "base/text/number.h"

// Reads the monotonic clock: the wall clock may be set during a run.
double sr_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Rounds to whole seconds; NaN and negative values print as 0.
const char *sr_duration_text(double seconds, char *out, size_t bytes) {
    long long s = seconds > 0 && seconds < 1e15 ? (long long)(seconds + 0.5) : 0;
    long long days = s / 86400;
    int n = 0;
    if (days > 0)
        n = snprintf(out, bytes, "%lld day%s, ", days, days == 1 ? "" : "s");
    if (n >= 0 && (size_t)n < bytes)
        snprintf(out + n, bytes - (size_t)n, "%lld:%02lld:%02lld", s / 3600 % 24, s / 60 % 60,
                 s % 60);
    return out;
}

// Prints one decimal, which is enough to compare two sizes.
const char *sr_bytes_text(double bytes_value, char *out, size_t bytes) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    int u = 0;
    while (bytes_value >= 1000 && u < SR_COUNT(units) - 1) {
        bytes_value /= 1024;
        u++;
    }
    sr_number_print(out, bytes, u ? "%.1f %s" : "%.0f %s", bytes_value, units[u]);
    return out;
}
