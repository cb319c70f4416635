// constant: the same value throughout (fvcore ConstantParamScheduler).
#include "trainer/schedules/schedule.h"

typedef struct {
    double value;
} Constant;

static const SrOption options[] = {
    {"value", SR_OPT_FLOAT, offsetof(Constant, value), "0.1", 0, SR_SCHEDULE_MAX,
     .help = "The value."},
    SR_OPTION_END,
};

static double value(const void *params, const void *prepared, int num_epochs, double where) {
    (void)prepared, (void)num_epochs, (void)where;
    return ((const Constant *)params)->value;
}

const SrScheduleKind sr_schedule_constant = {
    .name = "constant",
    .help = "The same value during the whole training.",
    .options = options,
    .params_bytes = sizeof(Constant),
    .required = {"value"},
    .per_epoch = true,
    .value = value,
    .examples = {"{value: 0.3}"},
};
