// The meter contract: figures that train and test phases compute from class scores.  The build
// finds each descriptor `const SrMeter sr_meter_<stem>` in measure/meters/<stem>.c.
//
// A meter looks at one output of the model and keeps its state over a phase.  The trainer opens one
// for each output and each entry of METERS.names (trainer/run/meters/meter_list.h).
#ifndef SR_MEASURE_METER_H
#define SR_MEASURE_METER_H

#include "base/plugin/option.h"

#define SR_METER_MAX_VALUES 16
#define SR_METER_KEY_BYTES 16

// Rows of one output, with their labels.
typedef struct {
    int rows, classes;
    const float *scores; // (rows, classes)
    // (rows) class of each row; below 0: none, the row is left out.  If multi_hot: (rows,
    // classes) of 1, 0, and -1: unknown.
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
    // Allocates the state of one output with `classes` scores, for phases of at most `rows` rows.
    SrStatus (*open)(const void *params, int classes, int64_t rows, void **state);
    void (*close)(void *state); // frees the state; does nothing for NULL
    void (*reset)(void *state); // begins a phase
    void (*update)(void *state, const SrMeterRows *rows);
    // Computes the values over the phase so far and returns their number.  Without rows they are 0.
    int (*values)(void *state, SrMeterValue out[SR_METER_MAX_VALUES]);
} SrMeter;

// Returns meter i in name order; NULL past the end.
const SrMeter *sr_meter_at(int i);
// Finds a meter by name.  SR_ERR_CONFIG: there is none; the message names the closest one.
SrStatus sr_meter_find(const char *name, const SrMeter **out);

// Start of every meter's params: the options that all meters have (SR_METER_OPTIONS).
typedef struct {
    int num_meters;
    SrStrings meter_names;
} SrMeterOutputs;
#define SR_METER_OPTIONS(params)                                                    \
    {"num_meters",                                                                  \
     SR_OPT_INT,                                                                    \
     offsetof(params, outputs.num_meters),                                          \
     "1",                                                                           \
     1,                                                                             \
     1024,                                                                          \
     .help = "Outputs of the model (inferred for a frozen trunk)."},                \
    {                                                                               \
        "meter_names", SR_OPT_STRINGS, offsetof(params, outputs.meter_names), "[]", \
            .help = "Name of each output (inferred: the layers)."                   \
    }

// Returns 100 * share, rounded to the four decimals that VISSL prints.
double sr_meter_percent(double share);

#endif
