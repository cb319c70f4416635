// warmup_stable_decay: a line up, a constant, and a fall at the end (Hu et al., "MiniCPM",
// arXiv:2404.06395, section 4; the square root of Hägele et al., "Scaling laws and compute-optimal
// training beyond fixed training durations", NeurIPS 2024, arXiv:2405.18392, eq. 2).
//   where < warmup:      start + (value - start) where / warmup
//   where < 1 - decay:   value
//   t of the last part:  end + (value - end) (1 - t), or (1 - sqrt(t))
// Checkpoints of the constant part serve runs of any length: only the fall depends on the end.
#include <math.h>

#include "base/text/yaml.h"
#include "trainer/schedules/schedule.h"

typedef struct {
    double start, value, end, warmup, decay;
    int shape;
} WarmupStableDecay;

#define FIELD(f) offsetof(WarmupStableDecay, f)
static const SrOption options[] = {
    {"start_value", SR_OPT_FLOAT, FIELD(start), "0.0", 0, SR_SCHEDULE_MAX,
     .help = "Value at the beginning."},
    {"value", SR_OPT_FLOAT, FIELD(value), "0.1", 0, SR_SCHEDULE_MAX,
     .help = "Value of the constant part."},
    {"end_value", SR_OPT_FLOAT, FIELD(end), "0.0", 0, SR_SCHEDULE_MAX, .help = "Value at the end."},
    {"warmup", SR_OPT_FLOAT, FIELD(warmup), "0.05", 0, 1,
     .help = "Part of the training in which the value rises."},
    {"decay", SR_OPT_FLOAT, FIELD(decay), "0.2", 0, 1,
     .help = "Part of the training, at its end, in which the value falls."},
    {"shape", SR_OPT_ENUM, FIELD(shape), "linear", .choices = "linear|sqrt",
     .help = "Form of the fall: a line, or steep at first."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus check(const void *params, const SrScheduleBuild *build, void **prepared) {
    const WarmupStableDecay *p = params;
    (void)prepared;
    if (p->warmup + p->decay > 1)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: %s: warmup (%g) and decay (%g) add up to more than the whole training, 1",
                sr_yaml_place(build->tree).text, build->where, p->warmup, p->decay);
    return SR_OK;
}

static double value(const void *params, const void *prepared, int num_epochs, double where) {
    (void)prepared, (void)num_epochs;
    const WarmupStableDecay *p = params;
    double t = p->decay > 0 ? (where - (1 - p->decay)) / p->decay : 0;
    if (where < p->warmup)
        return p->start + (p->value - p->start) * where / p->warmup;
    if (t <= 0)
        return p->value;
    return p->end + (p->value - p->end) * (1 - (p->shape == 0 ? t : sqrt(t)));
}

const SrScheduleKind sr_schedule_warmup_stable_decay = {
    .name = "warmup_stable_decay",
    .help = "A rise, a constant and a fall; the constant part serves runs of any length.",
    .options = options,
    .params_bytes = sizeof(WarmupStableDecay),
    .required = {"value"},
    .check = check,
    .value = value,
    .examples = {"{value: 2}", "{start_value: 1, value: 2, end_value: 0.5, shape: sqrt}"},
};
