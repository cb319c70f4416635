// Computes rates and the time left, and writes progress lines.
#include "trainer/run/meters/progress.h"
#include "base/clock.h"
#include "base/text/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

// The time left counts steps only, not the evaluation at the end.
double sr_progress_eta(const SrProgress *p, int64_t updates_done) {
    double steps = (double)(p->total - updates_done) + p->later_steps;
    return p->step_s * fmax(steps, 0);
}

// The rate is that since the last line, so that a change of load shows in the next one.
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

const char *sr_rate_text(double rate, char *out, size_t bytes) {
    sr_number_print(out, bytes, rate > 0 && rate < 9.95 ? "%.2g" : "%.0f", rate);
    return out;
}

enum { FIELDS = 8, FIELD_BYTES = 64 };

static int length_of(char field[FIELDS][FIELD_BYTES]) {
    int length = 0;
    for (int i = 0; i < FIELDS; i++)
        length += (int)strlen(field[i]);
    return length;
}

// The first six fields are VISSL's, so that scripts made for its logs find them.
void sr_progress_text(const SrProgress *p, const SrProgressLine *line, int columns, char *out,
                      size_t bytes) {
    static const int dropped[] = {7, 6, 4, 2}; // waiting, images/s, btime, lr
    char field[FIELDS][FIELD_BYTES], eta[48], rate[24];
    size_t at = 0;
    sr_duration_text(sr_progress_eta(p, line->iteration + 1), eta, sizeof eta);
    snprintf(field[0], FIELD_BYTES, "[ep: %lld]", (long long)line->epoch);
    snprintf(field[1], FIELD_BYTES, " iter: %lld/%lld", (long long)line->epoch_step + 1,
             (long long)line->epoch_steps);
    sr_number_print(field[2], FIELD_BYTES, "; lr: %.5g", line->lr);
    sr_number_print(field[3], FIELD_BYTES, "; loss: %.5f", line->loss);
    snprintf(field[4], FIELD_BYTES, "; btime(ms): %.0f", 1e3 * p->step_s);
    snprintf(field[5], FIELD_BYTES, "; eta: %s", eta);
    snprintf(field[6], FIELD_BYTES, "; images/s: %s",
             sr_rate_text(sr_progress_rate(p), rate, sizeof rate));
    snprintf(field[7], FIELD_BYTES, "; data wait: %.0f%%", 100 * sr_progress_wait(p));
    for (int i = 0; i < SR_COUNT(dropped) && columns > 0 && length_of(field) >= columns; i++)
        field[dropped[i]][0] = '\0';
    for (int i = 0; i < FIELDS && at < bytes; i++)
        at += (size_t)snprintf(out + at, bytes - at, "%s", field[i]);
}
