// The answer of a run's page: the verdict, bars next to the baselines, and the layers as one chart.
#ifndef SR_PAGES_RUNS_RUN_ANSWER_H
#define SR_PAGES_RUNS_RUN_ANSWER_H

#include "pages/runs/run_page.h"

// Appends the verdict, or a sentence on why there is none; bars of kNN and probe with their
// standard errors; probes over epochs; a table of layers, whose cells are bars.
void sr_run_answer(const SrRunPage *page, SrText *out);

#endif
