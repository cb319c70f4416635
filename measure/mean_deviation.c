// Computes the mean first and then the squares around it, which loses no digits for close values.
#include "measure/mean_deviation.h"

#include <math.h>

SrMeanDeviation sr_mean_deviation(const double *value, int n) {
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += value[i];
    for (int i = 0; i < n; i++) {
        double away = value[i] - sum / n;
        squares += away * away;
    }
    return (SrMeanDeviation){sum / n, n > 1 ? sqrt(squares / (n - 1)) : 0};
}
