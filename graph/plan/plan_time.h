// Estimates the time of a plan's step on a machine of known speed, by the roofline model for each
// call (Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for
// multicore architectures", CACM 2009).
#ifndef SR_GRAPH_PLAN_PLAN_TIME_H
#define SR_GRAPH_PLAN_PLAN_TIME_H

#include "graph/plan/plan.h"

// Work of a machine per second, measured with real kernels rather than taken from its peak.
typedef struct {
    double window_flops; // FLOP/s of convolutions larger than 1x1
    double matrix_flops; // FLOP/s of 1x1 convolutions and linear layers
    double bytes;        // bytes/s of memory
} SrPlanRates;
// Return the seconds of one forward and backward pass at these rates, and the bytes that it moves.
// A dry run's plan suffices.
double sr_plan_seconds(const SrPlan *plan, const SrPlanRates *rates);
double sr_plan_traffic(const SrPlan *plan);

#endif
