// Runs golden cases of whole training steps: from images the losses, the outputs and gradients of
// the first step, and the state after the last update. The configuration of the case goes through
// the program's own parser, model, loss, schedule, optimiser and step.
//
// Every case runs several times with the last bit of all images and parameters shaken; trace.h
// gives the reason.
//
// Gradients of the first step are compared after clipping, if the case clips, as the optimiser
// takes them.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/yaml_print.h"
#include "base/text/yaml_scalar.h"
#include "tests/golden/images.h"
#include "tests/golden/table.h"
#include "tests/golden/trace.h"
#include "trainer/model/train_graph.h"
#include "trainer/optim/grad_clip.h"
#include "trainer/run/step.h"
#include "trainer/schedules/schedule.h"

enum { MOST_LAYERS = 100 };

typedef struct {
    SrGoldenCase *c;
    SrConfig *config;
    SrModel *model;
    SrTrainGraph graph;
    SrPlan *plan;
    SrOptim *optim;
    SrSchedule *lr, *decay; // decay: NULL unless it is scheduled
    int max_iteration, batch;
    int shaking;
    GoldenTrace *trace;
    SrStep step;
    SrLoss spy;      // the loss with a hook that keeps the gradients of the first step
    SrStatus looked; // status of that hook
} StepsRun;

// Parameters with other names in some kinds of cases: "<theirs>..." of the case is "<ours>..." of
// the table.
static const struct {
    const char *kind, *theirs, *ours;
} renamed[] = {{"byol_steps", "heads.1.", "loss.heads.predictor."}};

// Values that some kinds record in addition to loss<i> and the outputs: "<tensor><step>" is the
// value of the node, or of the last of the nodes "<node><number>".
static const struct {
    const char *kind, *tensor, *node;
} watched[] = {
    {"byol_steps", "emb", "loss.heads.predictor.clf."},
    {"byol_steps", "target", "loss.momentum_encoder.heads.0.clf."},
    {"dino_steps", "teacher", "loss.momentum_encoder.heads.0.prototypes0"},
    {"dino_steps", "emb", "heads.0.prototypes0"},
};

static SrStatus keep(StepsRun *r, const char *tensor, const float *values, int64_t n) {
    return golden_trace_keep(r->c, r->trace, tensor, values, n);
}

// Returns the entry of the parameter table for the case's parameter `name`.
static const char *entry_name(StepsRun *r, const char *prefix, const char *name) {
    for (int i = 0; i < SR_COUNT(renamed); i++)
        if (sr_text_starts(r->c->name, renamed[i].kind) && sr_text_starts(name, renamed[i].theirs))
            return sr_arena_printf(r->c->arena, "%s%s", renamed[i].ours,
                                   name + strlen(renamed[i].theirs));
    return sr_arena_printf(r->c->arena, "%s%s", prefix, name);
}

// Keeps each entry "<prefix><name>" that has a tensor "<kind><name>" in the case. Gradients are
// multiplied by `scale`.
static SrStatus keep_table(StepsRun *r, const char *kind, const char *prefix, bool grads,
                           float scale) {
    SrParams *params = sr_model_params(r->model);
    int kept = r->trace->n;
    for (int i = 0; i < r->c->tensors->n; i++) {
        const char *tensor = r->c->tensors->tensors[i].name;
        if (!sr_text_starts(tensor, kind))
            continue;
        const char *name = entry_name(r, prefix, tensor + strlen(kind));
        int index = name ? sr_params_find(params, name) : -1;
        const SrParam *p = index < 0 ? NULL : sr_params_at(params, index);
        if (!p || (grads && !p->grad))
            SR_FAIL(SR_ERR_RUN, "%s has no counterpart in our table", tensor);
        if (p->dtype == SR_F32)
            SR_TRY(keep(r, tensor, grads ? p->grad : p->value, sr_shape_count(p->shape)));
    }
    for (; kept < r->trace->n && grads; kept++)
        for (int64_t i = 0; i < r->trace->rows[kept].n; i++)
            r->trace->rows[kept].values[i] *= scale;
    return SR_OK;
}

static int integer(const SrYaml *map, const char *key) {
    const SrYaml *node = sr_yaml_find(map, key);
    return node ? (int)node->i : 0;
}

// ---- the configuration

// Sections of the case's config and their paths in a user's configuration; later ones are merged
// into earlier ones.
static const struct {
    const char *section, *path;
} sections[] = {
    {"MODEL", "MODEL"},
    {"LOSS", "LOSS"},
    {"OPTIMIZER", "OPTIMIZER"},
    {"GRAD_CLIP", "MODEL.GRAD_CLIP"},
    {"TEMP_FROZEN_PARAMS_ITER_MAP", "MODEL.TEMP_FROZEN_PARAMS_ITER_MAP"},
};

// Completes BYOL's case, which has no LOSS: its second head is the predictor, which belongs to
// the loss here.
static SrStatus compose_byol(StepsRun *r, SrYaml *tree) {
    SrArena *arena = r->c->arena;
    SrYaml *heads = sr_yaml_find_path(tree, "MODEL.HEAD.PARAMS");
    const SrYaml *momentum = sr_yaml_find(r->c->config, "base_momentum"), *dims;
    if (!heads || heads->n != 2 || !momentum || heads->items[1]->n != 2 ||
        !(dims = sr_yaml_find(heads->items[1]->items[1], "dims")) || dims->n != 3)
        SR_FAIL(SR_ERR_RUN, "expected a projector, a predictor and base_momentum");
    SR_TRY(sr_yaml_put_path(arena, tree, "LOSS.name",
                            sr_yaml_scalar(arena, "byol_loss", "golden", 0)));
    SR_TRY(sr_yaml_put_path(arena, tree, "LOSS.byol_loss.momentum", sr_yaml_copy(arena, momentum)));
    SR_TRY(sr_yaml_put_path(arena, tree, "LOSS.byol_loss.predictor_hidden_dim",
                            sr_yaml_copy(arena, dims->items[1])));
    heads->n = 1;
    return SR_OK;
}

// Moves a schedule among OPTIMIZER's own keys to OPTIMIZER.param_schedulers, where VISSL expects
// it.
static SrStatus move_schedule(StepsRun *r, SrYaml *tree, const char *key, const char *name) {
    SrYaml *optimizer = sr_yaml_find(tree, "OPTIMIZER"), *schedule = sr_yaml_find(optimizer, key);
    const char *path = sr_arena_printf(r->c->arena, "OPTIMIZER.param_schedulers.%s", name);
    if (!schedule)
        return SR_OK;
    SR_TRY(sr_yaml_put_path(r->c->arena, tree, path, schedule));
    sr_yaml_remove(optimizer, key);
    return SR_OK;
}

// Composes the configuration that a user would write for the case: schedules in their place, and
// the data section.
static SrStatus compose(StepsRun *r, SrYaml **out) {
    SrArena *arena = r->c->arena;
    SrYaml *tree = sr_yaml_new(arena, SR_YAML_MAP, "golden", 0);
    if (!tree)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for the configuration");
    for (int i = 0; i < SR_COUNT(sections); i++) {
        const SrYaml *section = sr_yaml_find(r->c->config, sections[i].section);
        if (section)
            SR_TRY(sr_yaml_put_path(arena, tree, sections[i].path, sr_yaml_copy(arena, section)));
    }
    if (!sr_yaml_find_path(tree, "OPTIMIZER.lr"))
        SR_FAIL(SR_ERR_RUN, "the case has no OPTIMIZER.lr");
    SR_TRY(move_schedule(r, tree, "lr", "lr"));
    SR_TRY(move_schedule(r, tree, "weight_decay_schedule", "weight_decay"));
    if (sr_text_starts(r->c->name, "byol_steps"))
        SR_TRY(compose_byol(r, tree));
    const char *batch = sr_arena_printf(arena, "%d", r->batch);
    const char *const data[][2] = {{"DATA.TRAIN.COLLATE_FUNCTION", "multicrop_collator"},
                                   {"DATA.TRAIN.BATCHSIZE_PER_REPLICA", batch}};
    for (int i = 0; i < 2; i++)
        SR_TRY(sr_yaml_put_path(arena, tree, data[i][0],
                                sr_yaml_scalar(arena, data[i][1], "golden", 0)));
    *out = tree;
    return SR_OK;
}

static const SrTensor *tensor(StepsRun *r, const char *fmt, int a, int b) {
    const char *name = sr_arena_printf(r->c->arena, fmt, a, b);
    return name ? golden_tensor(r->c, name) : NULL;
}

// Returns view v of a step and its first row in *first: crop<step>_<v>, or crop<v>_<step> in
// DINO's case. Otherwise two views one after the other in x_<step>, or the second one in
// x_key_<step>.
static const SrTensor *view_of(StepsRun *r, int step, int v, int *first) {
    bool by_view = sr_text_starts(r->c->name, "dino_");
    const SrTensor *crop = tensor(r, "crop%d_%d", by_view ? v : step, by_view ? step : v),
                   *key = tensor(r, "x_key_%d", step, 0);
    *first = 0;
    if (crop || v > 1)
        return crop;
    *first = key ? 0 : v * r->batch;
    return key && v == 1 ? key : tensor(r, "x_%d", step, 0);
}

static SrStatus find_views(StepsRun *r) {
    int first;
    const SrTensor *x = view_of(r, 0, 0, &first);
    if (!x)
        SR_FAIL(SR_ERR_RUN, "the case has no images");
    r->batch = x->shape.d[0];
    if (tensor(r, "x_%d", 0, 0) && !tensor(r, "x_key_%d", 0, 0))
        r->batch /= 2;
    return SR_OK;
}

static SrStatus configure(StepsRun *r) {
    SrYaml *tree = NULL;
    SrText text = SR_TEXT_INIT;
    SR_TRY(find_views(r));
    r->max_iteration = integer(r->c->config, "max_iteration");
    SR_TRY(compose(r, &tree));
    sr_yaml_print(tree, &text);
    SrStatus status = sr_config_parse(text.s ? text.s : "", r->c->name, NULL, 0, &r->config);
    sr_text_deinit(&text);
    return status;
}

// ---- building

// Points to the run whose gradients look_at() keeps before the optimiser overwrites them.
static StepsRun *looking;

// Compares the norm of the gradients, then keeps the gradients of the first step. sr_grad_clip
// with an infinite bound clips nothing and returns the norm.
static SrStatus look_at(StepsRun *r, const SrLossStep *step) {
    const bool *frozen = sr_freeze_at(&r->step.freeze, step->iteration);
    double norm = sr_grad_clip(step->params, frozen, r->step.clip_norm_type, INFINITY), reference;
    if (golden_value(r->c,
                     golden_numbered(r->c, "gradient_norm_before_clipping", (int)step->iteration),
                     &reference) &&
        r->shaking == 0)
        SR_TRY(golden_number(r->c, "gradient norm", norm, reference, GOLDEN_GRAD));
    if (step->iteration > 0)
        return SR_OK;
    double factor = r->step.clip ? fmin(1, r->step.clip_max_norm / (norm + 1e-6)) : 1;
    return keep_table(r, "grad0.", "", true, (float)factor);
}

static void look(void *state, const SrLossStep *step) {
    (void)state;
    if (looking->looked == SR_OK)
        looking->looked = look_at(looking, step);
}

static SrStatus build_step(StepsRun *r) {
    r->spy = *r->graph.loss_kind;
    r->spy.after_backward = look;
    r->graph.loss_kind = &r->spy;
    r->step = (SrStep){.params = sr_model_params(r->model),
                       .graph = &r->graph,
                       .plan = r->plan,
                       .optim = r->optim,
                       .clip = r->config->model.grad_clip,
                       .clip_norm_type = r->config->model.grad_clip_norm_type,
                       .clip_max_norm = r->config->model.grad_clip_max_norm,
                       .max_iterations = r->max_iteration};
    SR_TRY(sr_freeze_new(r->step.params, &r->config->model, r->c->arena, &r->step.freeze));
    sr_step_start(&r->step, 0, false);
    int64_t n;
    const float *queue = golden_floats(r->c, "queue_init", &n);
    int index = sr_params_find(r->step.params, "loss.queue");
    if (queue && index >= 0)
        memcpy(sr_params_at(r->step.params, index)->value, queue, (size_t)n * sizeof *queue);
    return SR_OK;
}

static SrStatus watched_node(StepsRun *r, int i, SrNodeId *out) {
    const char *name = watched[i].node;
    *out = sr_graph_find(r->graph.graph, name);
    for (int k = 0; sr_text_ends(name, ".") && k < MOST_LAYERS; k++) {
        SrNodeId node = sr_graph_find(r->graph.graph, golden_numbered(r->c, name, k));
        *out = node == SR_NO_NODE ? *out : node;
    }
    if (*out == SR_NO_NODE)
        SR_FAIL(SR_ERR_RUN, "there is no node '%s' for %s", name, watched[i].tensor);
    return SR_OK;
}

static SrStatus build(StepsRun *r) {
    int n = 0, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS], first;
    for (const SrTensor *t; n < SR_MAX_VIEWS && (t = view_of(r, 0, n, &first)); n++) {
        h[n] = t->shape.d[2];
        w[n] = t->shape.d[3];
    }
    SR_TRY(sr_model_new(r->config, &r->model));
    SR_TRY(sr_model_build_train(r->model, r->batch, n, h, w, 0, &r->graph));
    SrParams *params = sr_model_params(r->model);
    SR_TRY(sr_params_allocate(params));
    sr_params_init(params, 1);
    SR_TRY(golden_load_table(r->c, params, "param.", "", false));
    for (int i = 0; i < SR_COUNT(renamed); i++)
        if (sr_text_starts(r->c->name, renamed[i].kind))
            SR_TRY(golden_load_table(r->c, params,
                                     sr_arena_printf(r->c->arena, "param.%s", renamed[i].theirs),
                                     renamed[i].ours, false));
    golden_shake_table(params, r->shaking);
    SR_TRY(sr_schedule_new(r->config->optimizer.lr, "lr", 1, r->c->arena, &r->lr));
    if (r->config->optimizer.weight_decay_schedule)
        SR_TRY(sr_schedule_new(r->config->optimizer.weight_decay_schedule, "weight_decay", 1,
                               r->c->arena, &r->decay));
    SR_TRY(sr_optim_new(params, &r->config->optimizer, &r->optim));
    SrNodeId outputs[SR_MAX_OUTPUTS + SR_LOSS_MAX_KEPT + SR_COUNT(watched)];
    int n_outputs = 0;
    for (; n_outputs < r->graph.n_outputs; n_outputs++)
        outputs[n_outputs] = r->graph.outputs[n_outputs];
    for (int i = 0; i < SR_COUNT(watched); i++)
        if (sr_text_starts(r->c->name, watched[i].kind))
            SR_TRY(watched_node(r, i, &outputs[n_outputs++]));
    SrPlanOptions options = {.mode = SR_MODE_TRAIN,
                             .outputs = outputs,
                             .n_outputs = n_outputs,
                             .losses = &r->graph.loss,
                             .n_losses = 1};
    SR_TRY(sr_plan_compile(r->graph.graph, &options, &r->plan));
    return build_step(r);
}

// Fails unless the case sets every entry of trunk and heads, and no other name.
static SrStatus check_cover(StepsRun *r) {
    SrParams *params = sr_model_params(r->model);
    for (int i = 0; i < sr_params_count(params); i++) {
        const char *name = sr_params_at(params, i)->name;
        for (int k = 0; k < SR_COUNT(renamed); k++)
            if (sr_text_starts(name, renamed[k].ours))
                name = sr_arena_printf(r->c->arena, "%s%s", renamed[k].theirs,
                                       name + strlen(renamed[k].ours));
        if (!sr_text_starts(name, "loss.") &&
            !golden_tensor(r->c, sr_arena_printf(r->c->arena, "param.%s", name)))
            SR_FAIL(SR_ERR_RUN, "the case does not set our parameter %s", name);
    }
    return SR_OK;
}

// ---- one step

static SrStatus fill(StepsRun *r, int step) {
    for (int v = 0; v < r->graph.n_views; v++) {
        int first;
        const SrTensor *t = view_of(r, step, v, &first);
        SrTensor x = sr_plan_input(r->plan, r->graph.views[v]);
        int64_t n = sr_shape_count(x.shape), image = n / x.shape.d[0];
        if (!t || sr_shape_count(t->shape) < n + first * image)
            SR_FAIL(SR_ERR_RUN, "the images of step %d do not fit view %d", step, v);
        SrShape shape = t->shape;
        shape.d[0] = x.shape.d[0];
        const float *nhwc = golden_to_nhwc(r->c, (const float *)t->data + first * image, shape);
        memcpy(x.data, nhwc, (size_t)n * sizeof(float));
        golden_shake(x.data, n, r->shaking, (uint64_t)(1000 * step + v));
    }
    return SR_OK;
}

static bool is_watched(StepsRun *r, const char *tensor) {
    for (int i = 0; i < SR_COUNT(watched); i++)
        if (sr_text_starts(r->c->name, watched[i].kind) && strcmp(watched[i].tensor, tensor) == 0)
            return true;
    return false;
}

static SrStatus keep_watched(StepsRun *r, int step) {
    for (int i = 0; i < SR_COUNT(watched); i++) {
        SrNodeId node = SR_NO_NODE;
        if (!sr_text_starts(r->c->name, watched[i].kind))
            continue;
        SR_TRY(watched_node(r, i, &node));
        SrTensor y = sr_plan_output(r->plan, node);
        SR_TRY(keep(r, golden_numbered(r->c, watched[i].tensor, step), y.data,
                    sr_shape_count(y.shape)));
    }
    return SR_OK;
}

// Keeps the state of the loss after a step: the entry of the tensor "<tensor><step>".
static SrStatus keep_state(StepsRun *r, int step) {
    static const char *const states[][2] = {{"center", "loss.center"}, {"queue", "loss.queue"}};
    for (int i = 0; i < SR_COUNT(states); i++) {
        const char *name = golden_numbered(r->c, states[i][0], step);
        int index = sr_params_find(r->step.params, states[i][1]);
        if (index < 0 || !golden_tensor(r->c, name))
            continue;
        const SrParam *p = sr_params_at(r->step.params, index);
        SR_TRY(keep(r, name, p->value, sr_shape_count(p->shape)));
    }
    return SR_OK;
}

// Keeps the outputs that the case records as emb<step>, scores<step>, scores<step>_1, ..., unless
// a watched node stands for them.
static SrStatus keep_outputs(StepsRun *r, int step) {
    for (int i = 0; i < r->graph.n_model_outputs; i++) {
        const char *stem = i ? "scores" : "emb", *name = golden_numbered(r->c, stem, step);
        if (i > 1)
            name = sr_arena_printf(r->c->arena, "%s_%d", name, i - 1);
        SrTensor y = sr_plan_output(r->plan, r->graph.outputs[i]);
        if (name && golden_tensor(r->c, name) && !is_watched(r, stem))
            SR_TRY(keep(r, name, y.data, sr_shape_count(y.shape)));
    }
    return SR_OK;
}

static SrStatus run_step(StepsRun *r, int step) {
    SrStepArgs args = {.iteration = step};
    double loss;
    args.lr = args.lr_head = sr_schedule_value(r->lr, (double)step / r->max_iteration);
    SR_TRY(fill(r, step));
    SR_TRY(golden_scheduled(r->c, "lr_per_step", step, args.lr, 1e-12));
    if (r->decay) {
        double decay = sr_schedule_value(r->decay, (double)step / r->max_iteration);
        SR_TRY(golden_scheduled(r->c, "weight_decay_per_step", step, decay, 1e-12));
        sr_optim_set_weight_decay(r->optim, decay, decay);
    }
    SR_TRY(sr_step_run(&r->step, &args, &loss));
    float value = (float)loss;
    SR_TRY(keep(r, sr_arena_printf(r->c->arena, "loss%d", step), &value, 1));
    SR_TRY(keep_watched(r, step));
    SR_TRY(keep_state(r, step));
    SR_TRY(keep_outputs(r, step));
    return r->looked;
}

static SrStatus run_steps(StepsRun *r) {
    SR_TRY(configure(r));
    SR_TRY(build(r));
    SR_TRY(check_cover(r));
    for (int step = 0; step < r->max_iteration; step++)
        SR_TRY(run_step(r, step));
    SR_TRY(keep_table(r, "final_encoder.", "loss.moco_encoder.", false, 1));
    SR_TRY(keep_table(r, "final_target.", "loss.momentum_encoder.", false, 1));
    SR_TRY(keep_table(r, "final_teacher.", "loss.momentum_encoder.", false, 1));
    return keep_table(r, "final.", "", false, 1);
}

static SrStatus run_once(SrGoldenCase *c, int shaking, GoldenTrace *trace) {
    StepsRun r = {.c = c, .shaking = shaking, .trace = trace};
    looking = &r;
    SrStatus status = run_steps(&r);
    sr_plan_free(r.plan);
    sr_optim_free(r.optim);
    sr_model_free(r.model);
    sr_config_free(r.config);
    return status;
}

static SrStatus run(SrGoldenCase *c) { return golden_trace_run(c, run_once); }

const SrGolden sr_golden_steps = {
    .prefixes = {"swav_steps_", "simclr_steps", "moco_steps", "barlow_steps", "byol_steps",
                 "dino_steps"},
    .run = run,
};
