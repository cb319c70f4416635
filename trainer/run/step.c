// One training step.  Not the loop around it (train.c), not what is logged.
#include "trainer/run/step.h"

#include <math.h>

SrLossStep sr_step_view(const SrStep *step, int64_t iteration, int epoch) {
    return (SrLossStep){.params = step->params,
                        .plan = step->plan,
                        .iteration = iteration,
                        .max_iterations = step->max_iterations,
                        .epoch = epoch};
}

void sr_step_start(const SrStep *step, int64_t iteration, bool resumed) {
    const SrTrainGraph *g = step->graph;
    SrLossStep hook = sr_step_view(step, iteration, 0);
    if (g->loss_kind->start)
        g->loss_kind->start(g->loss_state, &hook, resumed);
}

// Runs the forward once more, node by node, which allocates and is slow: the run is over anyway.
static SrStatus not_finite(SrStep *step, int64_t iteration, double loss) {
    const char *layer = sr_plan_find_nonfinite(step->plan, iteration);
    return sr_fail(
        SR_ERR_RUN,
        "iteration %lld: the loss is %s; it first appeared in %s%s%s; lower the learning rate or "
        "look at the images",
        (long long)iteration, isnan(loss) ? "NaN" : "infinite",
        layer ? "layer '" : "the loss itself", layer ? layer : "", layer ? "'" : "");
}

SrStatus sr_step_run(SrStep *step, const SrStepArgs *args, double *loss) {
    const SrLoss *kind = step->graph->loss_kind;
    void *state = step->graph->loss_state;
    SrLossStep hook = sr_step_view(step, args->iteration, args->epoch);
    // The queue's scores with the present prototypes, drawn negatives, a momentum encoder's moves.
    if (kind->before_step)
        kind->before_step(state, &hook);
    // Several passes of the trunk add into the same gradients, so they start from zero.
    sr_params_zero_grad(step->params);
    sr_plan_forward(step->plan, args->iteration);
    // Looked at before the backward: a NaN must not reach the parameters.
    const float *value = sr_plan_output(step->plan, step->graph->loss).data; // scalar
    *loss = (double)value[0];
    if (step->check_nan && !isfinite(*loss))
        return not_finite(step, args->iteration, *loss);
    sr_plan_backward(step->plan);
    if (kind->after_backward)
        kind->after_backward(state, &hook);
    // VISSL clips before it freezes: gradients of frozen parameters count in the norm.
    if (step->clip)
        sr_grad_clip(step->params, NULL, step->clip_norm_type, step->clip_max_norm);
    sr_optim_step(step->optim, args->lr, args->lr_head,
                  sr_freeze_at(&step->freeze, args->iteration));
    // Prototypes back to unit length, teachers towards the student, this batch into the queue.
    if (kind->after_update)
        kind->after_update(state, &hook);
    return SR_OK;
}
