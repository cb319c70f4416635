// Whole steps of two replicas against torch's DistributedDataParallel: images and labels of each in; losses,
// the first step's gradients, the parameters after the last one, and the running statistics that replica 0
// is left with.  The program's own configuration, model, optimiser and step.
#include <string.h>

#include "tests/golden/table.h"
#include "trainer/run/step.h"

enum { WORLD = 2 };

typedef struct {
    SrGoldenCase *c;
    SrConfig *config;
    SrModel *model;
    SrTrainGraph graph;
    SrPlan *plan, *loss_plan;
    SrReplicas *replicas;
    SrOptim *optim;
    SrStep step;
    SrLoss spy; // the loss, with a look at the gradients
    SrStatus looked;
} DdpRun;

static const SrTensor *tensor(DdpRun *d, int replica, const char *what, int step) {
    const char *name = sr_arena_printf(d->c->arena, "r%d.%s%d", replica, what, step);
    return name ? golden_tensor(d->c, name) : NULL;
}

static SrStatus configure(DdpRun *d, int batch) {
    static const char *const sections[] = {"MODEL", "LOSS", "OPTIMIZER"};
    const char *size = sr_arena_printf(d->c->arena, "DATA.TRAIN.BATCHSIZE_PER_REPLICA=%d", batch);
    const char *overrides[] = {size, "DISTRIBUTED.REPLICAS=2",
                               "OPTIMIZER.construct_single_param_group_only=True"};
    SrText text = SR_TEXT_INIT;
    SrYaml *tree = sr_yaml_new(d->c->arena, SR_YAML_MAP, "golden", 0);
    for (int i = 0; tree && i < 3; i++)
        SR_TRY(sr_yaml_put(d->c->arena, tree, sections[i],
                           sr_yaml_copy(d->c->arena, sr_yaml_find(d->c->config, sections[i]))));
    if (!tree || !size)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for the configuration");
    sr_yaml_remove(sr_yaml_find(tree, "OPTIMIZER"), "lr");
    sr_yaml_print(tree, &text);
    SrStatus status = sr_config_parse(text.s ? text.s : "", d->c->name, overrides,
                                      SR_COUNT(overrides), &d->config);
    sr_text_deinit(&text);
    return status;
}

// ---- the optimiser writes over gradients, so they are read in between

static DdpRun *looking;

static void look(void *state, const SrLossStep *step) {
    (void)state;
    if (step->iteration == 0)
        looking->looked = golden_compare_grads(looking->c, step->params, "grad0.", "", GOLDEN_GRAD);
}

// ---- building

static SrStatus build(DdpRun *d) {
    const SrTensor *x = tensor(d, 0, "x", 0);
    if (!x)
        SR_FAIL(SR_ERR_RUN, "the case has no r0.x0");
    SR_TRY(configure(d, x->shape.d[0]));
    SR_TRY(sr_model_new(d->config, &d->model));
    SR_TRY(sr_model_build_train(d->model, x->shape.d[0], 1, &x->shape.d[2], &x->shape.d[3], 0,
                                &d->graph));
    SrParams *params = sr_model_params(d->model);
    SR_TRY(sr_params_allocate(params));
    sr_params_init(params, 1);
    SR_TRY(golden_load_table(d->c, params, "param.", "", true));
    SR_TRY(sr_optim_new(params, &d->config->optimizer, &d->optim));
    SrPlanOptions options = {.mode = SR_MODE_TRAIN};
    SR_TRY(sr_replicas_compile(&d->graph, &options, &d->plan, &d->loss_plan));
    SR_TRY(sr_replicas_new(&d->graph, d->plan, d->loss_plan, 1, &d->replicas));
    d->spy = *d->graph.loss_kind;
    d->spy.after_backward = look;
    d->graph.loss_kind = &d->spy;
    d->step = (SrStep){.params = params,
                       .graph = &d->graph,
                       .plan = d->plan,
                       .loss_plan = d->loss_plan,
                       .replicas = d->replicas,
                       .optim = d->optim};
    return SR_OK;
}

// ---- one step

static SrStatus fill(DdpRun *d, int replica, int step) {
    const SrTensor *x = tensor(d, replica, "x", step), *label = tensor(d, replica, "label", step);
    if (!x || !label || label->dtype != SR_I64)
        SR_FAIL(SR_ERR_RUN, "the case lacks images or labels of step %d", step);
    const float *nhwc = golden_to_nhwc(d->c, x->data, x->shape);
    memcpy(sr_plan_input(d->plan, d->graph.views[0]).data, nhwc,
           (size_t)sr_shape_count(x->shape) * sizeof *nhwc);
    memcpy(sr_plan_input(d->plan, d->graph.labels).data, label->data,
           (size_t)sr_shape_count(label->shape) * sizeof(int64_t));
    sr_replicas_take(d->replicas, replica, NULL);
    return SR_OK;
}

static SrStatus run_step(DdpRun *d, int step) {
    const SrYaml *lr = sr_yaml_find_path(d->c->config, "OPTIMIZER.lr");
    SrStepArgs args = {.iteration = step};
    double ours, mean = 0;
    if (!lr)
        SR_FAIL(SR_ERR_RUN, "the case has no OPTIMIZER.lr");
    args.lr = args.lr_head = lr->f;
    for (int r = 0; r < WORLD; r++) {
        const SrTensor *loss = tensor(d, r, "loss", step);
        SR_TRY(fill(d, r, step));
        mean += loss ? (double)((const float *)loss->data)[0] / WORLD : 0;
    }
    SR_TRY(sr_step_run(&d->step, &args, &ours));
    SR_TRY(d->looked);
    return golden_number(d->c, "mean loss", ours, mean, GOLDEN_TAP);
}

static SrStatus steps(DdpRun *d) {
    int step = 0;
    SR_TRY(build(d));
    for (; tensor(d, 0, "x", step); step++)
        SR_TRY(run_step(d, step));
    const char *after = sr_arena_printf(d->c->arena, "after%d.", step - 1);
    SR_TRY(golden_compare_values(d->c, d->step.params, after ? after : "", "", GOLDEN_TAP));
    return golden_compare_values(d->c, d->step.params, "r0.final_buffer.", "", GOLDEN_TAP);
}

static SrStatus run(SrGoldenCase *c) {
    DdpRun d = {.c = c};
    if (strstr(c->name, "syncbn")) {
        c->not_offered = "batch norms over all replicas are not built";
        return SR_OK;
    }
    looking = &d;
    SrStatus status = steps(&d);
    sr_replicas_free(d.replicas);
    sr_plan_free(d.plan);
    sr_plan_free(d.loss_plan);
    sr_optim_free(d.optim);
    sr_model_free(d.model);
    sr_config_free(d.config);
    return status;
}

const SrGolden sr_golden_ddp = {
    .prefixes = {"dist_ddp_r18"},
    .run = run,
};
