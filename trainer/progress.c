// Rates and the time that is left.
#include "trainer/progress.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/compiler.h"

// Not the wall clock, which may be set while a run is on.
double sr_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void sr_progress_start(SrProgress *p, int64_t total, int images) {
    *p = (SrProgress){.total = total, .images = images};
}

// A mean over all steps (VISSL's) is wrong for long after a slow start; an exponential mean with a
// memory of about 100 steps is not.  The first weights are those of a plain mean, so there is no
// bias to correct.
void sr_progress_step(SrProgress *p, double seconds, double wait_s) {
    p->steps++;
    double weight = fmax(1.0 / (double)p->steps, 0.01);
    p->step_s += weight * (seconds - p->step_s);
    p->window_steps++;
    p->window_s += seconds;
    p->window_wait_s += wait_s;
}

// Only steps are foreseen; what evaluation takes at the end is not.
double sr_progress_eta(const SrProgress *p, int64_t updates_done) {
    return p->step_s * (double)SR_MAX(p->total - updates_done, 0);
}

// Since the last line, so that a change of load shows in the next one.
double sr_progress_rate(const SrProgress *p) {
    return p->window_s > 0 ? (double)p->window_steps * p->images / p->window_s : 0;
}

// High values mean that more loader threads or smaller source images would speed the run up.
double sr_progress_wait(const SrProgress *p) {
    return p->window_s > 0 ? fmin(p->window_wait_s / p->window_s, 1) : 0;
}

void sr_progress_reset_window(SrProgress *p) {
    p->window_steps = 0;
    p->window_s = p->window_wait_s = 0;
}

// The first six fields are VISSL's, so that scripts made for its logs find them.
void sr_progress_text(const SrProgress *p, const SrProgressLine *line, char *out, size_t bytes) {
    char eta[48];
    sr_duration_text(sr_progress_eta(p, line->iteration + 1), eta, sizeof eta);
    snprintf(out, bytes,
             "[ep: %lld] iter: %lld/%lld; lr: %.5g; loss: %.5f; btime(ms): %.0f; eta: %s; "
             "images/s: %.0f; "
             "data wait: %.0f%%",
             (long long)line->epoch, (long long)line->epoch_step + 1, (long long)line->epoch_steps,
             line->lr, line->loss, 1e3 * p->step_s, eta, sr_progress_rate(p),
             100 * sr_progress_wait(p));
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
    snprintf(out, bytes, u ? "%.1f %s" : "%.0f %s", bytes_value, units[u]);
    return out;
}
