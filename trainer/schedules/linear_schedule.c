// linear: a straight line, mostly used as the warm-up inside a composite (fvcore
// LinearParamScheduler).
//   start + (end - start) * where
#include "trainer/schedules/schedule.h"

typedef struct {
    double start, end;
} Linear;

static const SrOption options[] = {
    {"start_value", SR_OPT_FLOAT, offsetof(Linear, start), "0.1", 0, SR_SCHEDULE_MAX,
     .help = "Value at the beginning."},
    {"end_value", SR_OPT_FLOAT, offsetof(Linear, end), "0.0", 0, SR_SCHEDULE_MAX,
     .help = "Value at the end."},
    SR_OPTION_END,
};

static double value(const void *params, const void *prepared, int num_epochs, double where) {
    (void)prepared, (void)num_epochs;
    const Linear *p = params;
    // This is fvcore's form, so that the two products round in the same way.
    return p->end * where + p->start * (1 - where);
}

const SrScheduleKind sr_schedule_linear = {
    .name = "linear",
    .help = "A straight line from start_value to end_value.",
    .options = options,
    .params_bytes = sizeof(Linear),
    .required = {"start_value", "end_value"},
    .value = value,
    .examples = {"{start_value: 1, end_value: 3}"},
};
