// What the three meters of the k best scores share: options, counting, values.
#ifndef SR_MEASURE_METERS_TOPK_H
#define SR_MEASURE_METERS_TOPK_H

#include "measure/meter.h"

typedef struct {
    SrMeterOutputs outputs;
    SrInts topk_values;
} SrTopkParams;

extern const SrOption sr__topk_options[];

typedef struct {
    int n, k[SR_METER_MAX_VALUES];
    // Over the rows so far, for each k: hits among the k best, and rows with at least one.
    int64_t hits[SR_METER_MAX_VALUES], any[SR_METER_MAX_VALUES];
    int64_t rows, positives; // rows with a target; targets that are 1
    int most;                // the largest k, at most the number of classes
    int *best;               // (most) scratch
} SrTopk;

SrStatus sr__topk_open(const void *params, int classes, int64_t rows, void **state);
void sr__topk_close(void *state);
void sr__topk_reset(void *state);
void sr__topk_update(void *state, const SrMeterRows *rows);
// "top_<k>" = 100 counts[i] / totals[i] for each of the meter's k; counts and totals (number of k).
int sr__topk_values(const SrTopk *t, const int64_t *counts, const double *totals,
                    SrMeterValue out[SR_METER_MAX_VALUES]);

#endif
