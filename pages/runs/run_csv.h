// All figures of runs as CSV, for spreadsheets and data frames.
#ifndef SR_PAGES_RUNS_RUN_CSV_H
#define SR_PAGES_RUNS_RUN_CSV_H

#include "base/status.h"
#include "base/text/text.h"

// Appends a line "run,seed,epoch,key,value" for each number in the metrics.json of n run folders,
// after a line of names.  epoch: the finished epoch, from 0; empty for a line without one.  Keys of
// nested objects are joined by dots.
SrStatus sr_run_csv(const char *const *runs, int n, SrText *out);

#endif
