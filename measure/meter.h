// The meter contract: what test and train phases measure of class scores.  A descriptor
// `const SrMeter sr_meter_<stem>` in measure/meters/<stem>.c is found by the build.
//
// A meter looks at one output of the model at a time and keeps sums over a phase; a list of them,
// one an output and METERS.names, is below.
#ifndef SR_MEASURE_METER_H
#define SR_MEASURE_METER_H

#include "base/option.h"

#define SR_METER_MAX_VALUES 16
#define SR_METER_KEY_BYTES 16

// Rows of one output and what they should have been.
typedef struct {
    int rows, classes;
    const float *scores; // (rows, classes)
    // (rows) class of each, < 0: none, the row is left out; or, where multi_hot, (rows, classes) of
    // 1, 0 and -1 (not known).
    const int64_t *target;
    bool multi_hot;
} SrMeterRows;

typedef struct {
    char key[SR_METER_KEY_BYTES]; // "top_1"
    double value;                 // per cent, rounded to 4 decimals as VISSL prints it
} SrMeterValue;

typedef struct SrMeter {
    const char *name; // an entry of METERS.names
    const char *help;
    const char *subtree; // "METERS.accuracy_list_meter"
    const SrOption *options;
    size_t params_bytes;
    // State of one output with `classes` scores, for phases of at most `rows` rows.
    SrStatus (*open)(const void *params, int classes, int64_t rows, void **state);
    void (*close)(void *state); // NULL is fine
    void (*reset)(void *state);
    void (*update)(void *state, const SrMeterRows *rows);
    // Over the phase so far; returns their number.  Without rows the values are 0.
    int (*values)(void *state, SrMeterValue out[SR_METER_MAX_VALUES]);
} SrMeter;

const SrMeter *sr_meter_at(int i); // NULL past the end
// Unknown name: SR_ERR_CONFIG with the nearest.
SrStatus sr_meter_find(const char *name, const SrMeter **out);

// Every params struct of a meter starts with what all tables have (SR_METER_OPTIONS).
typedef struct {
    int num_meters;
    SrStrings meter_names;
} SrMeterOutputs;
#define SR_METER_OPTIONS(params)                                                                \
    {"num_meters",                                                                              \
     SR_OPT_INT,                                                                                \
     offsetof(params, outputs.num_meters),                                                      \
     "1",                                                                                       \
     1,                                                                                         \
     1024,                                                                                      \
     NULL,                                                                                      \
     "Outputs of the model (inferred for a frozen trunk)."},                                    \
    {                                                                                           \
        "meter_names", SR_OPT_STRINGS, offsetof(params, outputs.meter_names), "[]", 0, 0, NULL, \
            "Name of each output (inferred: the layers)."                                       \
    }

// 100 v with the four decimals VISSL keeps.
double sr_meter_percent(double share);

#endif
