// Plans of a run's step: of the images' graph, of the loss's and of a teacher's.
#ifndef SR_TRAINER_RUN_RUN_PLANS_H
#define SR_TRAINER_RUN_RUN_PLANS_H

#include "trainer/run/run_parts.h"

// True if nothing learns: the run then is one forward on the images of evaluation.
bool sr__run_forward_only(const SrRun *run);
// Returns the options for the images' graph.  dry: without memory.
SrPlanOptions sr__run_plan_options(const SrRun *run, const SrTrainGraph *graph, bool dry);
// Compiles the plans of a step, which the caller owns.  *loss is NULL where one graph holds both.
SrStatus sr_run_compile(SrRun *run, bool dry, SrPlan **out, SrPlan **loss);
// Does so for another graph: that of a smaller last batch.
SrStatus sr__run_compile(const SrRun *run, const SrTrainGraph *graph, bool dry, SrPlan **out,
                         SrPlan **loss);
// Compiles the plan of a graph's teacher, in evaluation mode.  The caller owns it.  dry: without
// memory.
SrStatus sr__run_compile_teacher(const SrRun *run, const SrTrainGraph *graph, bool dry,
                                 SrPlan **out);

#endif
