// toy_halves: a value for the first half of a run, and half of it for the second.  tests/toy.sh
// adds it to a copy of the tree.
#include "trainer/schedules/schedule.h"

typedef struct {
    double value;
} Halves;

static const SrOption options[] = {
    {"value", SR_OPT_FLOAT, offsetof(Halves, value), "0.1", .help = "The first value."},
    SR_OPTION_END,
};

static double value(const void *params, const void *prepared, int num_epochs, double where) {
    (void)prepared, (void)num_epochs;
    return ((const Halves *)params)->value * (where < 0.5 ? 1 : 0.5);
}

const SrScheduleKind sr_schedule_toy_halves = {
    .name = "toy_halves",
    .help = "A value, then half of it.",
    .options = options,
    .params_bytes = sizeof(Halves),
    .required = {"value"},
    .value = value,
    .examples = {"{value: 0.3}"},
};
