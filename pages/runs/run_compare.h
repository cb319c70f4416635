// The page that compares runs.
#ifndef SR_PAGES_RUNS_RUN_COMPARE_H
#define SR_PAGES_RUNS_RUN_COMPARE_H

#include "base/status.h"
#include "base/text/text.h"

// Appends a page that compares n runs: curves over steps, images and time, a table of results, and
// differences of configurations.
SrStatus sr_run_compare(const char *const *runs, int n, SrText *out);

#endif
