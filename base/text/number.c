// Parsing and printing of numbers in the C locale.
#include "base/text/number.h"

#include <locale.h>
#include <math.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locale_t with_point;

// Makes the C locale once; it lives until the process ends.
static void make_locale(void) { with_point = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0); }

// Without memory for the C locale the thread keeps its own: uselocale((locale_t)0) changes nothing.
void *sr_number_begin(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_locale);
    return (void *)uselocale(with_point);
}

void sr_number_end(void *before) { uselocale((locale_t)before); }

double sr_number_parse(const char *s, char **end) {
    void *before = sr_number_begin();
    double value = strtod(s, end);
    sr_number_end(before);
    return value;
}

int sr_number_vprint(char *out, size_t bytes, const char *fmt, va_list args) {
    void *before = sr_number_begin();
    int len = vsnprintf(out, bytes, fmt, args);
    sr_number_end(before);
    return len;
}

int sr_number_print(char *out, size_t bytes, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int len = sr_number_vprint(out, bytes, fmt, args);
    va_end(args);
    return len;
}

const char *sr_count_text(int64_t n, char out[32]) {
    if (n >= 1000000000)
        sr_number_print(out, 32, "%.2f G", (double)n / 1e9);
    else if (n >= 1000000)
        sr_number_print(out, 32, "%.2f M", (double)n / 1e6);
    else if (n >= 1000)
        sr_number_print(out, 32, "%.1f k", (double)n / 1e3);
    else
        sr_number_print(out, 32, "%lld", (long long)n);
    return out;
}

double sr_number_bytes(const char *text) {
    static const char units[] = "KMGT";
    char *end;
    double bytes = sr_number_parse(text, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;
    for (const char *u = units; unit && u <= unit; u++)
        bytes *= 1024;
    return end == text || (*end && (!unit || end[1])) ? NAN : bytes;
}
