// The record of a run, read back from its own files: stdout.json (a line every LOG_FREQUENCY
// updates), metrics.json (epochs, probes, evaluations), log.txt (warnings). Half a last line, as a
// killed run leaves it, is passed over.
#ifndef SR_PAGES_RUN_HISTORY_H
#define SR_PAGES_RUN_HISTORY_H

#include "base/arena.h"
#include "base/text.h"
#include "base/yaml.h"

// A named curve; values that a line lacks are NaN.
typedef struct {
    const char *key;
    double *y; // (n_steps)
} SrSeries;

enum { SR_HISTORY_SERIES = 24 };

typedef struct {
    double epoch;
    double loss, seconds;   // of training; NaN: this line is of a probe
    double knn, linear;     // of HOOKS.PROBE, per cent; NaN: none
    double test, train_top; // top-1 of test and train phases with labels; NaN: none
} SrHistoryEpoch;

typedef struct {
    SrArena arena;
    int n_steps, n_series, n_epochs;
    double *iteration, *time_s; // (n_steps) time_s: training until there, from the times of steps
    SrSeries series[SR_HISTORY_SERIES];
    SrHistoryEpoch *epoch;      // (n_epochs)
    const SrYaml *knn, *layers; // the last reports of metrics.json; NULL: none
    int n_warnings;
    const char *warning[24]; // of the last start, each once
    int times[24];           // that it was said
    int64_t mtime;           // of the newest of the files, seconds since 1970
} SrHistory;

// A folder without files gives an empty history.
SrStatus sr_history_read(const char *run, SrHistory *out);
void sr_history_deinit(SrHistory *history);
const SrSeries *sr_history_find(const SrHistory *history, const char *key); // NULL: no line has it
double sr_history_last(const SrHistory *history, const char *key);          // NaN: no line has it

#endif
