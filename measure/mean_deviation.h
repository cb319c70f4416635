// Mean and standard deviation of repeated figures, such as those of several seeds.
#ifndef SR_MEASURE_MEAN_DEVIATION_H
#define SR_MEASURE_MEAN_DEVIATION_H

typedef struct {
    double mean;
    double deviation; // of the sample: divided by n - 1; 0 for one value
} SrMeanDeviation;

// n >= 1.  A NaN among the values makes both results NaN, the deviation only if n > 1.
SrMeanDeviation sr_mean_deviation(const double *value, int n);

#endif
