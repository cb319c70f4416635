// inverse_sqrt: falls with the square root of the training done (Vaswani et al., "Attention is all
// you need", 2017, section 5.3; VISSL's inverse_sqrt_decay).
//   start * sqrt(warmup) * where^-1/2          which equals start at where = warmup
// Use it as the `fixed` second part of a composite, after a linear part that is as long as the
// warm-up.
#include <math.h>

#include "trainer/schedules/schedule.h"

typedef struct {
    double start, warmup;
} InverseSqrt;

static const SrOption options[] = {
    {"start_value", SR_OPT_FLOAT, offsetof(InverseSqrt, start), "0.1", 0, SR_SCHEDULE_MAX,
     .help = "Value at the end of the warm-up."},
    {"warmup_interval_length", SR_OPT_FLOAT, offsetof(InverseSqrt, warmup), "0.0", 0, 1,
     .help = "Share of the training before the value begins to fall; 0: no warm-up."},
    SR_OPTION_END,
};

static double value(const void *params, const void *prepared, int num_epochs, double where) {
    (void)prepared, (void)num_epochs;
    const InverseSqrt *p = params;
    double scale = p->warmup > 0 ? p->start * sqrt(p->warmup) : p->start;
    return where > 0 ? scale * pow(where, -0.5) : scale; // at 0 VISSL leaves the factor out
}

const SrScheduleKind sr_schedule_inverse_sqrt = {
    .name = "inverse_sqrt",
    .help = "Falls with the square root of the share of training done.",
    .options = options,
    .params_bytes = sizeof(InverseSqrt),
    .required = {"start_value", "warmup_interval_length"},
    .value = value,
    .examples = {"{start_value: 4, warmup_interval_length: 0.25}"},
};
