// Time as the program measures it, and its figures as people read them.
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

#include "base/compiler.h"
#include "base/number.h"

// Not the wall clock, which may be set while a run is on.
double sr_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Rounded to the second; nonsense (NaN, negative) reads as 0.
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

// One decimal is what a person compares.
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
