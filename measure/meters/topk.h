// Options, counting and values that the three meters of the k best scores share.
#ifndef SR_MEASURE_METERS_TOPK_H
#define SR_MEASURE_METERS_TOPK_H

#include "measure/meter.h"

typedef struct {
    SrMeterOutputs outputs;
    SrInts topk_values;
} SrTopkParams;

extern const SrOption sr__topk_options[];

typedef struct {
    int n, k[SR_METER_MAX_VALUES]; // (n) topk_values
    // (n) For each k over the rows so far: hits among the k best, and rows with at least one hit.
    int64_t hits[SR_METER_MAX_VALUES], any[SR_METER_MAX_VALUES];
    int64_t rows, positives; // rows with a label; right classes of all rows
    int most;                // the largest k, at most the number of classes
    int *best;               // (most) scratch
} SrTopk;

SrStatus sr__topk_open(const void *params, int classes, int64_t rows, void **state);
void sr__topk_close(void *state);
void sr__topk_reset(void *state);
void sr__topk_update(void *state, const SrMeterRows *rows);
// Writes the values "top_<k>" = 100 * counts[i] / totals[i] and returns their number.  counts,
// totals: (t->n); a total of 0 gives 0.
int sr__topk_values(const SrTopk *t, const int64_t *counts, const double *totals,
                    SrMeterValue out[SR_METER_MAX_VALUES]);

#endif
