// Counts memory and arithmetic of a run before its first step.
#ifndef SR_TRAINER_RUN_RUN_COST_H
#define SR_TRAINER_RUN_RUN_COST_H

#include "trainer/run/run_parts.h"

// Fill run->cost from the table and from dry plans, and check it.  SR_ERR_MEMORY: the
// run needs more memory than is free.
SrStatus sr__run_count_cost(SrRun *run);
SrStatus sr__run_check_memory(const SrRun *run);

// Writes two lines: "24.6 M parameters: 24.5 M trained, ..." and "  memory: activations 1.2 GB,
// ...". The second has no line end.
void sr_run_cost_text(const SrRun *run, SrText *out);
// Writes the cost as fields of an open JSON object.
void sr_run_cost_json(const SrRun *run, SrText *out);

size_t sr_run_state_bytes(const SrRunCost *cost); // optimiser, statistics, loss
size_t sr_run_bytes(const SrRunCost *cost);       // all of it together

#endif
