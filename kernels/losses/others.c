// Reductions over rows of scores without their own image's columns (others.h).
#include "kernels/losses/others.h"

#include <math.h>

#include "kernels/core/rows.h"

// Returns the stretches of a row between the columns of an image: 0 to C, each n - 1 long except at
// the ends.
static int stretch(int n, int C, int image, int k, int *first) {
    *first = k == 0 ? 0 : (k - 1) * n + image + 1;
    return (k == C ? C * n : k * n + image) - *first;
}

float sr__others_max(const SrMachine *machine, const float *s, int n, int C, int image) {
    float most = -INFINITY;
    for (int k = 0, first; k <= C; k++) {
        int length = stretch(n, C, image, k, &first);
        if (length > 0)
            most = fmaxf(most, sr__rows(machine)->max(s + first, length));
    }
    return most;
}

double sr__others_exp(const SrMachine *machine, float *out, const float *s, float shift,
                      float factor, int n, int C, int image) {
    double sum = 0;
    for (int k = 0, first; k <= C; k++) {
        int length = stretch(n, C, image, k, &first);
        if (length > 0)
            sum += sr__rows(machine)->exp_sum(out ? out + first : NULL, s + first, shift, factor,
                                              length);
    }
    return sum;
}

void sr__others_scale(const SrMachine *machine, float *s, float factor, int n, int C, int image) {
    for (int k = 0, first; k <= C; k++) {
        int length = stretch(n, C, image, k, &first);
        if (length > 0)
            sr__rows(machine)->scale(s + first, s + first, factor, length);
    }
}
