// Adds up the times of a plan's calls, each by the roofline model.
//
// A call takes the longer of its arithmetic and its memory traffic, and caches are empty when it
// starts. trainer/bench measures instead.
#include "graph/plan/plan_time.h"

#include <math.h>

#include "graph/plan/plan_internal.h"
#include "kernels/machine.h"

static double bytes_of(const SrPlan *plan, int buffer) {
    return buffer == SR_NO_BUFFER ? 0 : (double)plan->buffers[buffer].bytes;
}

// Counts all that a call reads or writes, once; scratch stays in the cache.
double sr__call_traffic(const SrPlan *plan, const SrPlanCall *call) {
    if (sr__call_is_step(call->kind))
        return 0;
    double bytes = bytes_of(plan, call->y) + bytes_of(plan, call->dy) + bytes_of(plan, call->saved);
    for (int i = 0; i < SR_OP_MAX_IN; i++)
        bytes += bytes_of(plan, call->x[i]) + bytes_of(plan, call->dx[i]);
    bytes += bytes_of(plan, call->prepared);
    const SrPlanNode *node = &plan->nodes[call->node];
    bool instead = call->prepared != SR_NO_BUFFER &&
                   call->kind != SR_CALL_PREPARE; // read in place of the parameters
    for (int i = 0; i < node->n_w && !instead; i++)
        bytes +=
            (double)sr_shape_count(sr_params_at(plan->params, node->w[i])->shape) * sizeof(float);
    return bytes;
}

double sr_plan_traffic(const SrPlan *plan) {
    double bytes = 0;
    for (int c = 0; c < plan->n_calls; c++)
        bytes += sr__call_traffic(plan, &plan->calls[c]);
    return bytes;
}

// A convolution over more than one pixel; everything else that computes much is a matrix product.
static bool is_window(const SrOp *op, const void *params) {
    return op && op->over_windows && op->over_windows(params);
}

// Share of the rate of WIDE channels that a convolution reaches: 0.86, 0.62 and 0.37 for 64, 32
// and 16 channels, and less than 0.1 for the 3 channels of a stem (bench/conv_bench.c
// r18-quarter).
static double narrow_share(const SrPlan *plan, const SrPlanNode *node) {
    enum { WIDE = 128 };
    SrShape x[SR_OP_MAX_IN];
    sr__plan_shapes(plan, node, x);
    int channels = SR_MIN(sr_shape_last(x[0]), sr_shape_last(node->shape));
    return sqrt((double)SR_MIN(channels, WIDE) / WIDE);
}

double sr_plan_seconds(const SrPlan *plan, const SrPlanRates *rates) {
    double seconds = 0;
    for (int c = 0; c < plan->n_calls; c++) {
        const SrPlanCall *call = &plan->calls[c];
        const SrPlanNode *node = &plan->nodes[call->node];
        bool window = is_window(node->op, node->params);
        double flops =
            window ? rates->window_flops * narrow_share(plan, node) : rates->matrix_flops;
        if (!window && node->dtype == SR_BF16 &&
            (sr_machine_has_tiles(&plan->machine) || sr_machine_has_pairs(&plan->machine)))
            flops *= 2; // products of pairs; most windows are Winograd's, computed in floats
        double arithmetic = (double)call->flops / flops,
               memory = sr__call_traffic(plan, call) / rates->bytes;
        seconds += SR_MAX(arithmetic, memory);
    }
    return seconds;
}
