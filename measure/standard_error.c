// Standard errors of shares of right answers, by the binomial distribution.
#include "measure/standard_error.h"

#include <math.h>

#include "base/compiler.h"

double sr_standard_error(double percent, int64_t images) {
    double p = percent / 100;
    return 100 * sqrt(fmax(p * (1 - p), 0) / (double)SR_MAX(images, 1));
}

double sr_chance(double percent, int64_t images) {
    return fmax(2 * sr_standard_error(percent, images), 300.0 / (double)SR_MAX(images, 1));
}

bool sr_accuracy_is_full(double percent, int64_t images) {
    return percent + sr_chance(percent, images) >= 100;
}
