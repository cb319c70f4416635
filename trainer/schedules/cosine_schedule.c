// cosine: half a cosine wave (Loshchilov and Hutter, "SGDR", 2017, without restarts; fvcore
// CosineParamScheduler).
//   end + (start - end) / 2 * (1 + cos(pi * where))
#include <math.h>

#include "trainer/schedules/schedule.h"

typedef struct {
    double start, end;
} Cosine;

static const SrOption options[] = {
    {"start_value", SR_OPT_FLOAT, offsetof(Cosine, start), "0.1", 0, SR_SCHEDULE_MAX,
     .help = "Value at the beginning."},
    {"end_value", SR_OPT_FLOAT, offsetof(Cosine, end), "0.0", 0, SR_SCHEDULE_MAX,
     .help = "Value at the end."},
    SR_OPTION_END,
};

static double value(const void *params, const void *prepared, int num_epochs, double where) {
    (void)prepared, (void)num_epochs;
    const Cosine *p = params;
    return p->end + 0.5 * (p->start - p->end) * (1 + cos(M_PI * where));
}

const SrScheduleKind sr_schedule_cosine = {
    .name = "cosine",
    .help = "Half a cosine wave from start_value to end_value.",
    .options = options,
    .params_bytes = sizeof(Cosine),
    .required = {"start_value", "end_value"},
    .value = value,
    .examples = {"{start_value: 2, end_value: 0.5}"},
};
