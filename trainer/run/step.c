// One training step.  Not the loop around it (train.c), not what is logged.
#include "trainer/run/step.h"

#include <math.h>
#include <string.h>

// from: (N); the plan has no memory for an input that nothing reads.
static void fill_numbers(SrPlan *plan, SrNodeId input, const int64_t *from) {
    if (input == SR_NO_NODE)
        return;
    SrTensor to = sr_plan_input(plan, input); // (N)
    if (to.data)
        memcpy(to.data, from, (size_t)sr_shape_count(to.shape) * sizeof(int64_t));
}

// A copy, because the plan's inputs lie at fixed addresses inside its arena; it costs a thousandth
// of a step.
void sr_step_fill(SrStep *step, const SrBatch *batch) {
    const SrTrainGraph *g = step->graph;
    for (int v = 0; v < g->n_views; v++) {
        SrTensor x = sr_plan_input(step->plan, g->views[v]); // (N, H_v, W_v, 3)
        memcpy(x.data, batch->view[v], (size_t)sr_shape_count(x.shape) * sizeof(float));
    }
    fill_numbers(step->plan, g->sample_index, batch->index);
    fill_numbers(step->plan, g->labels, batch->label);
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
    SrLossStep hook = {.params = step->params,
                       .plan = step->plan,
                       .iteration = args->iteration,
                       .max_iterations = step->max_iterations,
                       .epoch = args->epoch};
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
