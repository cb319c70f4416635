// polynomial: falls to zero along a power (fvcore PolynomialDecayParamScheduler).
//   base * (1 - where)^power
#include <math.h>

#include "trainer/schedules/schedule.h"

typedef struct {
    double base, power;
} Polynomial;

static const SrOption options[] = {
    {"base_value", SR_OPT_FLOAT, offsetof(Polynomial, base), "0.1", 0, SR_SCHEDULE_MAX,
     .help = "Value at the beginning."},
    {"power", SR_OPT_FLOAT, offsetof(Polynomial, power), "1.0",
     .help = "Exponent; 1 is a straight line to 0."},
    SR_OPTION_END,
};

static double value(const void *params, const void *prepared, int num_epochs, double where) {
    (void)prepared, (void)num_epochs;
    const Polynomial *p = params;
    return p->base * pow(1 - where, p->power);
}

const SrScheduleKind sr_schedule_polynomial = {
    .name = "polynomial",
    .help = "base_value * (1 - where)^power.",
    .options = options,
    .params_bytes = sizeof(Polynomial),
    .required = {"base_value", "power"},
    .value = value,
    .examples = {"{base_value: 4, power: 2}"},
};
