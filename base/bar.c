// The progress bar: when it is drawn, and its text.
#include "base/bar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text/number.h"

enum { WIDEST = 30, NARROWEST = 5 };

static double line_at; // sr_clock() at the last line in a log, or at the first bar; 0: neither yet

// Reads SR_BAR_AFTER or SR_BAR_EVERY, which let tests and users see every bar or none.
static double seconds_of(const char *variable, double otherwise) {
    const char *text = getenv(variable);
    char *end;
    double seconds = text ? sr_number_parse(text, &end) : otherwise;
    return text && end == text ? otherwise : seconds;
}

void sr_bar_begin(SrBar *bar, const char *what, int64_t total) {
    *bar = (SrBar){.what = what,
                   .total = total,
                   .began = sr_clock(),
                   .after = seconds_of("SR_BAR_AFTER", SR_BAR_AFTER_S),
                   .every = seconds_of("SR_BAR_EVERY", SR_BAR_EVERY_S)};
    if (line_at == 0)
        line_at = bar->began;
}

// Estimates the time left at the average speed so far: passes over images have parts of equal cost.
static void left_text(int64_t done, int64_t total, double seconds, char *out, size_t bytes) {
    char time[48];
    out[0] = '\0';
    if (done > 0 && total > 0)
        snprintf(
            out, bytes, ", %s left",
            sr_duration_text(seconds * (double)(total - done) / (double)done, time, sizeof time));
}

void sr__bar_text(const SrBar *bar, int64_t done, double seconds, int columns, char *out,
                  size_t bytes) {
    char left[64], counts[64], marks[WIDEST + 1];
    left_text(done, bar->total, seconds, left, sizeof left);
    if (bar->total <= 0) {
        snprintf(out, bytes, "%s: %lld", bar->what, (long long)done);
        return;
    }
    double share = (double)done / (double)bar->total;
    snprintf(counts, sizeof counts, "%3.0f%% %lld/%lld", 100 * share, (long long)done,
             (long long)bar->total);
    int room = columns - 1 - (int)(strlen(bar->what) + strlen(counts) + strlen(left) + 4);
    int width = SR_MIN(room, WIDEST);
    if (width < NARROWEST) {
        snprintf(out, bytes, "%s %s%s", bar->what, counts, left);
        return;
    }
    memset(marks, '.', (size_t)width);
    memset(marks, '#', (size_t)(share * width));
    marks[width] = '\0';
    snprintf(out, bytes, "%s [%s] %s%s", bar->what, marks, counts, left);
}

// Prints the counts as a line of a log, if the last line is long ago.
static void say_line(const SrBar *bar, int64_t done, double now) {
    char text[512];
    if (now - line_at < bar->every)
        return;
    line_at = now;
    sr__bar_text(bar, done, now - bar->began, 0, text, sizeof text);
    sr_info("%s", text);
}

void sr_bar_at(SrBar *bar, int64_t done) {
    char text[512];
    double now = sr_clock();
    if (!sr_log_is_terminal())
        say_line(bar, done, now);
    if (now - bar->began < bar->after || now - bar->drawn < 0.2 || !sr_log_is_terminal())
        return;
    bar->drawn = now;
    sr__bar_text(bar, done, now - bar->began, sr_log_columns(), text, sizeof text);
    sr_log_live("%s", text);
}

void sr_bar_end(SrBar *bar) {
    if (bar->drawn > 0)
        sr_log_end_live();
    bar->drawn = 0;
}
