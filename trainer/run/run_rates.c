// Builds a run's schedules of learning rates and weight decays, and computes their values at an
// update.
#include "trainer/run/run_rates.h"

SrStatus sr__run_build_schedules(SrRun *run) {
    // The four schedules differ only in their source and target.
    const SrOptimizerConfig *o = &run->config->optimizer;
    const struct {
        const SrYaml *tree;
        const char *where;
        SrSchedule **out;
    } rows[] = {
        {o->lr, "OPTIMIZER.param_schedulers.lr", &run->lr},
        {o->head_use_different_lr ? o->lr_head : NULL, "OPTIMIZER.param_schedulers.lr_head",
         &run->lr_head},
        {o->weight_decay_schedule, "OPTIMIZER.param_schedulers.weight_decay", &run->decay},
        {o->weight_decay_head_schedule, "OPTIMIZER.param_schedulers.weight_decay_head",
         &run->decay_head},
    };
    for (int i = 0; i < SR_COUNT(rows); i++)
        if (rows[i].tree)
            SR_TRY(sr_schedule_new(rows[i].tree, rows[i].where, o->num_epochs, &run->arena,
                                   rows[i].out));
    if (!run->lr_head)
        run->lr_head = run->lr;
    if (!run->lr)
        SR_FAIL(SR_ERR_CONFIG, "OPTIMIZER.param_schedulers.lr is missing");
    return SR_OK;
}

// `where` is the share of updates done; a schedule that moves per epoch sees it as it was when the
// epoch began.
static double value_at(const SrRun *run, const SrSchedule *s, int64_t iteration) {
    if (sr_schedule_per_epoch(s) && run->steps_per_epoch > 0)
        iteration -= iteration % run->steps_per_epoch;
    return sr_schedule_value(s, (double)iteration / (double)SR_MAX(run->max_iterations, 1));
}

// Rates are computed from the number of updates done, never accumulated, so a resumed run sees the
// same doubles.
void sr_run_rates(SrRun *run, int64_t iteration, double *lr, double *lr_head) {
    *lr = value_at(run, run->lr, iteration);
    *lr_head = run->lr_head == run->lr ? *lr : value_at(run, run->lr_head, iteration);
    if (!run->decay && !run->decay_head)
        return;
    // Heads have their own schedule, or else their own constant, or else the trunk's decay.
    const SrOptimizerConfig *o = &run->config->optimizer;
    double decay = run->decay ? value_at(run, run->decay, iteration) : o->weight_decay;
    double head = o->head_use_different_wd ? o->head_weight_decay : decay;
    if (run->decay_head)
        head = value_at(run, run->decay_head, iteration);
    sr_optim_set_weight_decay(run->optim, decay, head);
}
