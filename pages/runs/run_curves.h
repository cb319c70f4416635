// Curves of a run as charts (html.h).
#ifndef SR_PAGES_RUNS_RUN_CURVES_H
#define SR_PAGES_RUNS_RUN_CURVES_H

#include "pages/runs/run_history.h"

// Appends kNN and the linear probe over epochs, next to the baselines.  False: there are none.
bool sr_run_probe_curves(const SrHistory *history, SrText *out);
// Appends the curves over updates: loss first, then those that explain it.
void sr_run_step_curves(const SrHistory *history, SrText *out);

#endif
