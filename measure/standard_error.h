// How far chance moves an accuracy that is measured on a number of images.
#ifndef SR_MEASURE_STANDARD_ERROR_H
#define SR_MEASURE_STANDARD_ERROR_H

#include <stdbool.h>
#include <stdint.h>

// Returns the standard error of an accuracy on so many images, per cent.  images < 1 count as 1.
double sr_standard_error(double percent, int64_t images);
// Returns the difference of two accuracies, in points, that chance may make: two standard errors,
// and at least three images, since an accuracy of 100 % has no standard error.
double sr_chance(double percent, int64_t images);
// True: no accuracy could be higher by more than chance.
bool sr_accuracy_is_full(double percent, int64_t images);

#endif
