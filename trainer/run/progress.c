// Rates and the time that is left.
#include "trainer/run/progress.h"
#include "base/clock.h"

#include <math.h>
#include <stdio.h>

#include "base/compiler.h"

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
