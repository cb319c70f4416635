// Whole steps of two replicas against torch's DistributedDataParallel: images and labels of each in; losses,
// the first step's gradients, the parameters after the last one, and the running statistics that replica 0
// is left with.  The program's own configuration, model, optimiser and step.  CASE_syncbn: the parameters and images of
// CASE, but batch norms over both replicas.
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
    SrSafetensors plain; // of the case without SyncBN, which has the parameters and images of both
    const SrSafetensors *own;
    bool sync; // batch norms over all replicas
} DdpRun;

static const SrTensor *tensor(DdpRun *d, int replica, const char *what, int step) {
    const char *name = sr_arena_printf(d->c->arena, "r%d.%s%d", replica, what, step);
    return name ? golden_tensor(d->c, name) : NULL;
}

// Makes what golden_tensor finds that of the plain case, or the case's again.
static void look_into(DdpRun *d, bool plain) {
    if (d->sync)
        d->c->tensors = plain ? &d->plain : d->own;
}

static SrStatus configure(DdpRun *d, int batch) {
    static const char *const sections[] = {"MODEL", "LOSS", "OPTIMIZER"};
    const char *size = sr_arena_printf(d->c->arena, "DATA.TRAIN.BATCHSIZE_PER_REPLICA=%d", batch);
    const char *sync = d->sync ? "MODEL.SYNC_BN_CONFIG.CONVERT_BN_TO_SYNC_BN=True"
                               : "MODEL.SYNC_BN_CONFIG.CONVERT_BN_TO_SYNC_BN=False";
    const char *overrides[] = {size, sync, "MODEL.SYNC_BN_CONFIG.GROUP_SIZE=0",
                               "DISTRIBUTED.REPLICAS=2",
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
    look_into(d, true);
    const SrTensor *x = tensor(d, 0, "x", 0);
    if (!x)
        SR_FAIL(SR_ERR_RUN, "the case has no r0.x0");
    SR_TRY(configure(d, x->shape.d[0]));
    SR_TRY(sr_model_new(d->config, &d->model));
    SR_TRY(sr_model_build_train(d->model, d->config->batch, 1, &x->shape.d[2], &x->shape.d[3], 0,
                                &d->graph));
    SrParams *params = sr_model_params(d->model);
    SR_TRY(sr_params_allocate(params));
    sr_params_init(params, 1);
    SR_TRY(golden_load_table(d->c, params, "param.", "", true));
    look_into(d, false);
    SR_TRY(sr_optim_new(params, &d->config->optimizer, &d->optim));
    SrPlanOptions options = {.mode = SR_MODE_TRAIN};
    SR_TRY(sr_replicas_compile(&d->graph, &options, &d->plan, &d->loss_plan));
    if (d->graph.replicas > 1)
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

// Replicas whose batch norms are one stand in one batch, one behind the other.
static SrStatus fill(DdpRun *d, int replica, int step) {
    const SrTensor *x = tensor(d, replica, "x", step), *label = tensor(d, replica, "label", step);
    if (!x || !label || label->dtype != SR_I64)
        SR_FAIL(SR_ERR_RUN, "the case lacks images or labels of step %d", step);
    const float *nhwc = golden_to_nhwc(d->c, x->data, x->shape);
    int64_t n = sr_shape_count(x->shape), labels = sr_shape_count(label->shape);
    int place = d->replicas ? 0 : replica;
    memcpy((float *)sr_plan_input(d->plan, d->graph.views[0]).data + place * n, nhwc,
           (size_t)n * sizeof *nhwc);
    memcpy((int64_t *)sr_plan_input(d->plan, d->graph.labels).data + place * labels, label->data,
           (size_t)labels * sizeof(int64_t));
    if (d->replicas)
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
        look_into(d, true);
        SR_TRY(fill(d, r, step));
        look_into(d, false);
        mean += loss ? (double)((const float *)loss->data)[0] / WORLD : 0;
    }
    SR_TRY(sr_step_run(&d->step, &args, &ours));
    SR_TRY(d->looked);
    return golden_number(d->c, "mean loss", ours, mean, GOLDEN_TAP);
}

static SrStatus steps(DdpRun *d) {
    int step = 0;
    SR_TRY(build(d));
    for (; tensor(d, 0, "loss", step); step++)
        SR_TRY(run_step(d, step));
    const char *after = sr_arena_printf(d->c->arena, "after%d.", step - 1);
    SR_TRY(golden_compare_values(d->c, d->step.params, after ? after : "", "", GOLDEN_TAP));
    return golden_compare_values(d->c, d->step.params,
                                 d->sync ? "final_buffer." : "r0.final_buffer.", "", GOLDEN_TAP);
}

static SrStatus run(SrGoldenCase *c) {
    const char *suffix = strstr(c->name, "_syncbn");
    int length = (int)(suffix ? suffix - c->name : (ptrdiff_t)strlen(c->name));
    DdpRun d = {.c = c, .own = c->tensors, .sync = suffix != NULL};
    const char *plain =
        sr_arena_printf(c->arena, "%s/%.*s.safetensors", c->folder, length, c->name);
    looking = &d;
    SrStatus status = d.sync && plain ? sr_safetensors_open(&d.plain, plain) : SR_OK;
    if (status == SR_OK)
        status = steps(&d);
    sr_safetensors_close(&d.plain);
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
