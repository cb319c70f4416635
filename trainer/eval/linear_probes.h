// Reports how good the layers of a frozen trunk are, compared with baselines: the same probes on
// the untrained trunk, a probe on raw pixels, and the share of the most frequent class.
#ifndef SR_TRAINER_EVAL_LINEAR_PROBES_H
#define SR_TRAINER_EVAL_LINEAR_PROBES_H

#include "base/text/text.h"
#include "trainer/eval/baselines.h"
#include "trainer/run/meters/meter_list.h"
#include "trainer/run/run_parts.h"

#define SR_LINEAR_NAME_BYTES 32

typedef struct {
    bool has[SR_ROW_COUNT];
    bool random; // the run had no weights: what stands as trained is a trunk as drawn (--random)
    int n_layers, n_values;
    char layer[SR_MAX_OUTPUTS][SR_LINEAR_NAME_BYTES];
    SrMeterValue value[SR_ROW_COUNT][SR_MAX_OUTPUTS][SR_METER_MAX_VALUES]; // of the first meter
    double rate[SR_ROW_COUNT]; // of a baseline: the share of the learning rate it took; 0: none
    double majority;           // per cent of the test images
    int64_t n_train, n_test;
    double seconds;
} SrLinearReport;

// trained: a run that has ended, over a frozen trunk.  Baselines take the same recipe and are left
// out where features are not kept, because each would cost as much as the run itself.
SrStatus sr_linear_report(SrRun *trained, SrLinearReport *out);
void sr_linear_report_print(const SrLinearReport *report, bool json, SrText *out);

#endif
