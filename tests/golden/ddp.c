// Runs golden cases dist_ddp*: whole training steps of several replicas against PyTorch's
// DistributedDataParallel. From images and labels of each replica the test compares losses, the
// gradients of the first step, the parameters after updates and the final running statistics of
// replica 0. Configuration, model, optimiser and step are the program's own. Batch norms span the
// replicas that MODEL.SYNC_BN_CONFIG says, or all if the name has "syncbn". A case CASE_syncbn
// may take its parameters and images from CASE.
#include <string.h>

#include "base/file.h"
#include "base/text/yaml_print.h"
#include "tests/golden/table.h"
#include "tests/golden/trace.h"
#include "tests/golden/world.h"
#include "trainer/model/train_graph.h"
#include "trainer/run/step.h"

typedef struct {
    SrGoldenCase *c;
    SrConfig *config;
    SrModel *model;
    SrTrainGraph graph;
    SrPlan *plan, *loss_plan;
    SrReplicas *replicas;
    SrOptim *optim;
    SrStep step;
    SrLoss spy; // the loss with a hook that keeps the gradients
    SrStatus looked;
    SrSafetensors plain; // the case without SyncBN, if it has the parameters and images of both
    const SrSafetensors *own;
    int shaking;
    GoldenTrace *trace;
    int world;
} DdpRun;

static const SrTensor *tensor(DdpRun *d, int replica, const char *what, int step) {
    return golden_tensor(d->c, golden_replica_name(d->c, replica, what, step));
}

// Makes golden_tensor search the plain case, or this case again.
static void look_into(DdpRun *d, bool plain) {
    if (d->plain.n)
        d->c->tensors = plain ? &d->plain : d->own;
}

// Returns "MODEL.SYNC_BN_CONFIG={...}". A group size that depends on the machine means all
// replicas.
static const char *sync_override(const DdpRun *d) {
    const SrYaml *given = sr_yaml_find_path(d->c->config, "MODEL.SYNC_BN_CONFIG"),
                 *convert = sr_yaml_find(given, "CONVERT_BN_TO_SYNC_BN"),
                 *group = sr_yaml_find(given, "GROUP_SIZE");
    bool sync = convert ? convert->b : strstr(d->c->name, "syncbn") != NULL;
    return sr_arena_printf(d->c->arena,
                           "MODEL.SYNC_BN_CONFIG={CONVERT_BN_TO_SYNC_BN: %s, GROUP_SIZE: %d}",
                           sync ? "True" : "False", group && group->i > 0 ? (int)group->i : 0);
}

static SrStatus configure(DdpRun *d, int batch) {
    static const char *const sections[] = {"MODEL", "LOSS", "OPTIMIZER"};
    SrArena *arena = d->c->arena;
    const char *overrides[] = {sr_arena_printf(arena, "DATA.TRAIN.BATCHSIZE_PER_REPLICA=%d", batch),
                               sync_override(d),
                               sr_arena_printf(arena, "DISTRIBUTED.REPLICAS=%d", d->world),
                               "OPTIMIZER.construct_single_param_group_only=True"};
    SrText text = SR_TEXT_INIT;
    SrYaml *tree = sr_yaml_new(arena, SR_YAML_MAP, "golden", 0);
    for (int i = 0; tree && i < 3; i++)
        SR_TRY(sr_yaml_put(arena, tree, sections[i],
                           sr_yaml_copy(arena, sr_yaml_find(d->c->config, sections[i]))));
    if (!tree || !overrides[0] || !overrides[1] || !overrides[2])
        SR_FAIL(SR_ERR_MEMORY, "out of memory for the configuration");
    sr_yaml_remove(sr_yaml_find(tree, "OPTIMIZER"), "lr");
    sr_yaml_print(tree, &text);
    SrStatus status = sr_config_parse(text.s ? text.s : "", d->c->name, overrides,
                                      SR_COUNT(overrides), &d->config);
    sr_text_deinit(&text);
    return status;
}

// ---- gradients are read before the optimiser overwrites them

static DdpRun *looking;

// Compares num_batches_tracked, which is one number.
static SrStatus compare_count(DdpRun *d, const char *tensor, const SrParam *p) {
    int64_t n;
    const float *reference = golden_floats(d->c, tensor, &n);
    if (!reference || n != 1 || sr_shape_count(p->shape) != 1)
        SR_FAIL(SR_ERR_RUN, "%s is not one number", tensor);
    return golden_number(d->c, tensor, (double)*(const int64_t *)p->value, (double)*reference, 0);
}

// Keeps each entry that has a tensor "<kind><name>" in the case.
static SrStatus keep_table(DdpRun *d, const char *kind, bool grads) {
    SrParams *params = sr_model_params(d->model);
    for (int i = 0; i < d->c->tensors->n; i++) {
        const char *tensor = d->c->tensors->tensors[i].name;
        if (!sr_text_starts(tensor, kind))
            continue;
        int index = sr_params_find(params, tensor + strlen(kind));
        const SrParam *p = index < 0 ? NULL : sr_params_at(params, index);
        if (!p || (grads && !p->grad))
            SR_FAIL(SR_ERR_RUN, "%s has no counterpart in our table", tensor);
        if (p->dtype == SR_F32)
            SR_TRY(golden_trace_keep(d->c, d->trace, tensor, grads ? p->grad : p->value,
                                     sr_shape_count(p->shape)));
        else if (!d->shaking)
            SR_TRY(compare_count(d, tensor, p));
    }
    return SR_OK;
}

static void look(void *state, const SrLossStep *step) {
    (void)state;
    if (step->iteration == 0)
        looking->looked = keep_table(looking, "grad0.", true);
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
    golden_shake_table(params, d->shaking);
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

// Replicas whose batch norms share statistics form one batch, one after the other. The last of
// them starts its computation.
static SrStatus fill(DdpRun *d, int replica, int step) {
    const SrTensor *x = tensor(d, replica, "x", step), *label = tensor(d, replica, "label", step);
    if (!x || !label || label->dtype != SR_I64)
        SR_FAIL(SR_ERR_RUN, "the case lacks images or labels of step %d", step);
    float *nhwc = golden_to_nhwc(d->c, x->data, x->shape);
    int64_t n = sr_shape_count(x->shape), labels = sr_shape_count(label->shape);
    int group = d->config->sync_bn_group, place = replica % group;
    golden_shake(nhwc, n, d->shaking, (uint64_t)(step * d->world + replica));
    memcpy((float *)sr_plan_input(d->plan, d->graph.views[0]).data + place * n, nhwc,
           (size_t)n * sizeof *nhwc);
    memcpy((int64_t *)sr_plan_input(d->plan, d->graph.labels).data + place * labels, label->data,
           (size_t)labels * sizeof(int64_t));
    if (d->replicas && place == group - 1)
        sr_replicas_take(d->replicas, replica / group, NULL);
    return SR_OK;
}

// Returns values.lr_per_step[step], or OPTIMIZER.lr.
static SrStatus learning_rate(DdpRun *d, int step, double *out) {
    const SrYaml *each = sr_yaml_find(d->c->values, "lr_per_step"),
                 *lr = sr_yaml_find_path(d->c->config, "OPTIMIZER.lr");
    if (each && step < each->n)
        lr = each->items[step];
    if (!lr || (lr->type != SR_YAML_FLOAT && lr->type != SR_YAML_INT))
        SR_FAIL(SR_ERR_RUN, "the case has no learning rate for step %d", step);
    *out = lr->f;
    return SR_OK;
}

static SrStatus run_step(DdpRun *d, int step) {
    SrStepArgs args = {.iteration = step};
    double ours, mean;
    SR_TRY(learning_rate(d, step, &args.lr));
    args.lr_head = args.lr;
    look_into(d, true);
    for (int r = 0; r < d->world; r++)
        SR_TRY(fill(d, r, step));
    look_into(d, false);
    SR_TRY(sr_step_run(&d->step, &args, &ours));
    SR_TRY(d->looked);
    SR_TRY(golden_world_loss(d->c, step, &mean));
    SR_TRY(golden_trace_number(d->c, d->trace, "mean loss", ours, mean));
    const char *after = sr_arena_printf(d->c->arena, "after%d.", step);
    return keep_table(d, after ? after : "", false);
}

static SrStatus steps(DdpRun *d) {
    int step = 0;
    SR_TRY(build(d));
    while (tensor(d, 0, "loss", step))
        SR_TRY(run_step(d, step++));
    SR_TRY(keep_table(d, "r0.final_buffer.", false));
    return keep_table(d, "final_buffer.", false);
}

// Opens the case of the same name without "_syncbn", or without "_syncbn" and all that follows.
static SrStatus open_plain(DdpRun *d) {
    SrArena *arena = d->c->arena;
    const char *name = d->c->name, *suffix = strstr(name, "_syncbn");
    for (int k = 0; suffix && k < 2; k++) {
        const char *file =
            sr_arena_printf(arena, "%s/%.*s%s.safetensors", d->c->folder, (int)(suffix - name),
                            name, k ? "" : suffix + strlen("_syncbn"));
        if (file && sr_file_exists(file))
            return sr_safetensors_open(&d->plain, file);
    }
    SR_FAIL(SR_ERR_RUN, "the case has no r0.x0, nor is there one of its name without _syncbn");
}

static SrStatus run_once(SrGoldenCase *c, int shaking, GoldenTrace *trace) {
    DdpRun d = {
        .c = c, .own = c->tensors, .world = golden_world(c), .shaking = shaking, .trace = trace};
    looking = &d;
    SrStatus status = golden_tensor(c, "r0.x0") ? SR_OK : open_plain(&d);
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

static SrStatus run(SrGoldenCase *c) { return golden_trace_run(c, run_once); }

const SrGolden sr_golden_ddp = {
    .prefixes = {"dist_ddp"},
    .run = run,
};
