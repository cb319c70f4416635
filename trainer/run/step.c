// Runs one training step.  train.c has the loop around it.
#include "trainer/run/step.h"

#include <math.h>

#include "graph/plan/plan_run.h"
#include "trainer/optim/grad_clip.h"

SrLossStep sr_step_view(const SrStep *step, int64_t iteration, int epoch) {
    SrLossStep view = {.params = step->params,
                       .plan = step->loss_plan ? step->loss_plan : step->plan,
                       .iteration = iteration,
                       .max_iterations = step->max_iterations,
                       .epoch = epoch};
    if (step->replicas)
        view.values = sr_replicas_values(step->replicas, &view.n_values);
    return view;
}

void sr_step_start(const SrStep *step, int64_t iteration, bool resumed) {
    const SrTrainGraph *g = step->graph;
    SrLossStep hook = sr_step_view(step, iteration, 0);
    if (!resumed)
        sr_lora_start(&step->lora);
    if (!resumed && step->ema.n > 0)
        sr_ema_model_start(&step->ema, step->params);
    if (g->loss_kind->start)
        g->loss_kind->start(g->loss_state, &hook, resumed);
}

// Runs the forward once more, node by node, which allocates and is slow: the run is over anyway.
static SrStatus not_finite(SrStep *step, int64_t iteration, double loss) {
    const char *layer = sr_plan_find_nonfinite(step->plan, iteration);
    if (!layer && step->loss_plan)
        layer = sr_plan_find_nonfinite(step->loss_plan, iteration);
    SR_FAIL(SR_ERR_RUN,
            "iteration %lld: the loss is %s; it first appeared in %s%s%s; lower the learning rate, "
            "or check the images",
            (long long)iteration, isnan(loss) ? "NaN" : "infinite",
            layer ? "layer '" : "the loss itself", layer ? layer : "", layer ? "'" : "");
}

static SrStatus forward(SrStep *step, int64_t iteration, double *loss) {
    if (step->replicas)
        return sr_replicas_forward(step->replicas, iteration, &step->hook, loss);
    SR_TRY(sr_plan_forward(step->plan, iteration));
    if (step->hook.after_forward)
        step->hook.after_forward(step->hook.arg, 0);
    *loss = (double)*(const float *)sr_plan_output(step->plan, step->graph->loss).data; // scalar
    return SR_OK;
}

static SrStatus backward(SrStep *step, int64_t iteration) {
    return step->replicas ? sr_replicas_backward(step->replicas, iteration)
                          : sr_plan_backward(step->plan);
}

SrStatus sr_step_run(SrStep *step, const SrStepArgs *args, double *loss) {
    const SrLoss *kind = step->graph->loss_kind;
    void *state = step->graph->loss_state;
    SrLossStep hook = sr_step_view(step, args->iteration, args->epoch);
    if (step->replicas)
        sr_replicas_begin(step->replicas);
    // Hooks compute a queue's scores, draw negatives or move a momentum encoder.
    if (kind->before_step)
        kind->before_step(state, &hook);
    if (kind->before_rows && !step->replicas)
        kind->before_rows(state, &hook, 0);
    // Several passes of the trunk add into the same gradients, so they start from zero.
    sr_params_zero_grad(step->params);
    // Checked before the backward pass: a NaN must not reach the parameters.
    SR_TRY(forward(step, args->iteration, loss));
    if (step->check_nan && !isfinite(*loss))
        return not_finite(step, args->iteration, *loss);
    SR_TRY(backward(step, args->iteration));
    sr_lora_backward(&step->lora);
    if (kind->after_backward)
        kind->after_backward(state, &hook);
    // A frozen parameter does not count in the gradients' norm: it must not slow the others down.
    const bool *frozen = sr_freeze_at(&step->freeze, args->iteration);
    if (step->clip)
        sr_grad_clip(step->params, frozen, step->clip_norm_type, step->clip_max_norm);
    sr_optim_step(step->optim, args->lr, args->lr_head, frozen);
    sr_lora_merge(&step->lora); // hooks and the averaged model read the sums
    // Hooks normalise prototypes, move teachers towards the student, or put the batch into a queue.
    if (kind->after_update)
        kind->after_update(state, &hook);
    if (step->ema.n > 0)
        sr_ema_model_update(&step->ema, step->params, args->iteration, step->max_iterations);
    return SR_OK;
}
