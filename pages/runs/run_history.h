// History of a run, read from its files: stdout.json (a line every LOG_FREQUENCY updates),
// metrics.json (epochs, probes, evaluations) and log.txt (warnings).  An incomplete last line, as
// a killed run leaves it, is skipped.
#ifndef SR_PAGES_RUNS_RUN_HISTORY_H
#define SR_PAGES_RUNS_RUN_HISTORY_H

#include "base/arena.h"
#include "base/text/text.h"
#include "base/text/yaml.h"

// A named curve; a value that a line lacks is NaN.
typedef struct {
    const char *key;
    double *y; // (n_steps)
} SrSeries;

enum { SR_HISTORY_SERIES = 24, SR_HISTORY_WARNINGS = 24 };

typedef struct {
    double epoch;
    double loss, seconds;   // loss and time of training; NaN: the line is from a probe
    double knn, linear;     // accuracy by HOOKS.PROBE, per cent; NaN: none
    double test, train_top; // top-1 of test and train phases with labels, per cent; NaN: none
} SrHistoryEpoch;

typedef struct {
    SrArena arena;
    int n_steps, n_series, n_epochs;
    double *iteration, *time_s; // (n_steps) time_s: training time so far, the sum of step times
    SrSeries series[SR_HISTORY_SERIES];
    SrHistoryEpoch *epoch;      // (n_epochs)
    const SrYaml *knn, *layers; // last reports in metrics.json; NULL: none
    const SrYaml *change;     // last comparison of the trunk before and after training; NULL: none
    const SrYaml *embeddings; // last line of metrics.json with figures of embeddings; NULL: none
    int n_warnings;
    const char *warning[SR_HISTORY_WARNINGS]; // (n_warnings) different warnings of the last start
    int times[SR_HISTORY_WARNINGS];           // (n_warnings) how often each appears
    int64_t mtime;                            // modification of the newest file, seconds since 1970
} SrHistory;

// Reads a history; a folder without these files gives an empty one.
SrStatus sr_history_read(const char *run, SrHistory *out);
void sr_history_deinit(SrHistory *history);
// Writes the best layer of the run's last evaluation of layers to out (n bytes); "": there is none.
SrStatus sr_history_best_layer(const char *run, char *out, size_t n);
const SrSeries *sr_history_find(const SrHistory *history, const char *key); // NULL: no line has it
double sr_history_last(const SrHistory *history, const char *key);          // NaN: no line has it
// Returns the training time of the epochs that are done, as they were logged, or of the steps so
// far, seconds.  0: there are none.
double sr_history_seconds(const SrHistory *history);

#endif
