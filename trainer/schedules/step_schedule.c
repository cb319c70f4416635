// step: equal segments of the training with one value each (fvcore StepParamScheduler).
//   values[floor((where + 1e-6) * n)]
#include "base/compiler.h"
#include "trainer/schedules/schedule.h"

typedef struct {
    SrDoubles values;
} Step;

static const SrOption options[] = {
    {"values", SR_OPT_FLOATS, offsetof(Step, values), "[0.1, 0.01, 0.001]", 0, SR_SCHEDULE_MAX,
     .help = "Values of the schedule, one per segment."},
    SR_OPTION_END,
};

// Refuses an empty list, which has no value for any segment.
static SrStatus check(const void *params, const SrScheduleBuild *build, void **prepared) {
    (void)prepared;
    if (((const Step *)params)->values.n > 0)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG, "%s: %s.values must hold at least one value",
            sr_yaml_place(build->tree).text, build->where);
}

static double value(const void *params, const void *prepared, int num_epochs, double where) {
    (void)prepared, (void)num_epochs;
    const Step *p = params;
    int i = (int)((where + SR_WHERE_EPSILON) * p->values.n);
    return p->values.v[SR_MIN(SR_MAX(i, 0), p->values.n - 1)];
}

const SrScheduleKind sr_schedule_step = {
    .name = "step",
    .help = "Equal segments of the training, one value each.",
    .options = options,
    .params_bytes = sizeof(Step),
    .required = {"values"},
    .per_epoch = true,
    .check = check,
    .value = value,
    .examples = {"{values: [1, 2, 3]}"},
};
