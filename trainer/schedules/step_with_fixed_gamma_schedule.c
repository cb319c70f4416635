// step_with_fixed_gamma: num_decays + 1 equal segments of the training, each with gamma times the
// value of the one before (fvcore StepWithFixedGammaParamScheduler).
#include "base/compiler.h"
#include "trainer/schedules/schedule.h"

typedef struct {
    double base, gamma;
    int num_decays;
} StepGamma;

static const SrOption options[] = {
    {"base_value", SR_OPT_FLOAT, offsetof(StepGamma, base), "0.1", 0, SR_SCHEDULE_MAX,
     .help = "Value of the first segment."},
    {"gamma", SR_OPT_FLOAT, offsetof(StepGamma, gamma), "0.1", 0, SR_SCHEDULE_MAX,
     .help = "Factor from one segment to the next."},
    {"num_decays", SR_OPT_INT, offsetof(StepGamma, num_decays), "3", 0, 10000,
     .help = "How often the factor is applied."},
    SR_OPTION_END,
};

static double value(const void *params, const void *prepared, int num_epochs, double where) {
    (void)prepared, (void)num_epochs;
    const StepGamma *p = params;
    int segments = p->num_decays + 1;
    int i = SR_MIN((int)((where + SR_WHERE_EPSILON) * segments), segments - 1);
    double v = p->base;
    // A running product, as in fvcore; pow() would round differently.
    for (int k = 0; k < i; k++)
        v *= p->gamma;
    return v;
}

const SrScheduleKind sr_schedule_step_with_fixed_gamma = {
    .name = "step_with_fixed_gamma",
    .help = "Equal segments, each gamma times the one before.",
    .options = options,
    .params_bytes = sizeof(StepGamma),
    .required = {"base_value", "gamma", "num_decays"},
    .value = value,
    .examples = {"{base_value: 1, gamma: 0.5, num_decays: 3}"},
};
