// Prints plans, for tests and debuggers.
#ifndef SR_GRAPH_PLAN_PLAN_PRINT_H
#define SR_GRAPH_PLAN_PLAN_PRINT_H

#include "graph/plan/plan.h"

// Prints a line per kernel call with name, op, shapes and address range.
SrStatus sr_plan_print(const SrPlan *plan, SrText *out);

#endif
