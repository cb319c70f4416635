// cosine_warm_restart: a cosine that restarts at intervals of the training (Loshchilov and Hutter,
// "SGDR", 2017; VISSL's cosine_warm_restart).  r is restart_interval_length.
//
//   half wave, restarts at 0, r, 2r, ...:
//     end + (max_k - end) / 2 * (1 + cos(pi * (where mod r) / r))
//   full wave, restarts at 0, r, 3r, 5r, ...:
//     end + (max_k - end) / 2 * (1 + cos(pi * where / r))
//
// A full wave falls, then rises.  The peak after restart k is max_k = start * lr_multiplier^k.
// With is_adaptive, it is the value of a single cosine over the whole training, at restart k
// (half wave) or r after it (full wave).
#include <math.h>

#include "trainer/schedules/schedule.h"

enum { HALF, FULL };

typedef struct {
    double start, end, interval, multiplier;
    int wave;
    bool adaptive;
} WarmRestart;

static const SrOption options[] = {
    {"start_value", SR_OPT_FLOAT, offsetof(WarmRestart, start), "0.1", 0, SR_SCHEDULE_MAX,
     .help = "Value at the beginning."},
    {"end_value", SR_OPT_FLOAT, offsetof(WarmRestart, end), "0.0", 0, SR_SCHEDULE_MAX,
     .help = "Value before each restart."},
    {"restart_interval_length", SR_OPT_FLOAT, offsetof(WarmRestart, interval), "1.0", 1e-6, 1,
     .help = "Share of training from one restart to the next."},
    {"wave_type", SR_OPT_ENUM, offsetof(WarmRestart, wave), "half", .choices = "half|full",
     .help = "half: half a cosine, then a jump back up; full: a whole cosine, down and up."},
    {"lr_multiplier", SR_OPT_FLOAT, offsetof(WarmRestart, multiplier), "1.0", 0, SR_SCHEDULE_MAX,
     .help = "Factor of the peak from one restart to the next."},
    {"is_adaptive", SR_OPT_BOOL, offsetof(WarmRestart, adaptive), "False",
     .help = "Peaks follow one cosine over the whole training."},
    SR_OPTION_END,
};

// Returns the peak of wave k, which starts at `restart`.
static double peak(const WarmRestart *p, int k, double restart) {
    if (!p->adaptive)
        return p->start * pow(p->multiplier, k);
    double at = p->wave == HALF ? restart : p->interval + restart;
    return p->end + 0.5 * (p->start - p->end) * (1 + cos(M_PI * at));
}

static double value(const void *params, const void *prepared, int num_epochs, double where) {
    (void)prepared, (void)num_epochs;
    const WarmRestart *p = params;
    double r = p->interval, restart = 0;
    int k = 0;
    // The option's range allows at most 1e6 restarts; in practice there are a few.
    for (double next = r; next <= where; next += p->wave == HALF ? r : 2 * r) {
        restart = next;
        k++;
    }
    double phase = p->wave == HALF ? fmod(where, r) / r : where / r;
    return p->end + 0.5 * (peak(p, k, restart) - p->end) * (1 + cos(M_PI * phase));
}

const SrScheduleKind sr_schedule_cosine_warm_restart = {
    .name = "cosine_warm_restart",
    .help = "A cosine that restarts at fixed intervals.",
    .options = options,
    .params_bytes = sizeof(WarmRestart),
    .required = {"start_value", "end_value", "restart_interval_length"},
    .value = value,
    .examples =
        {"{start_value: 1, end_value: 0.1, restart_interval_length: 0.25}",
         "{start_value: 1, end_value: 0.1, restart_interval_length: 0.5, wave_type: full, "
         "lr_multiplier: 0.5}",
         "{start_value: 1, end_value: 0.1, restart_interval_length: 0.25, is_adaptive: True}"},
};
