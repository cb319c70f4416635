// Builds one loss on given outputs of a model, and computes steps of it (loss_case.h).
#include "tests/golden/loss_case.h"

#include <string.h>

#include "base/text/yaml_load.h"
#include "graph/plan/plan_run.h"

// Stands for any further forward pass of the model, such as a teacher's.
static SrStatus run_teacher(SrLossContext *ctx, const SrModelRun *run, SrOutputs *outputs) {
    LossCase *r = ctx->model;
    (void)run;
    r->t = sr_build_input(r->builder, "teacher", r->teacher, SR_F32);
    *outputs = (SrOutputs){.n = 1};
    outputs->v[0] =
        (SrOutput){.name = r->teacher_name, .node = r->t, .n_views = r->teacher.d[0] / r->batch};
    return sr_builder_status(r->builder);
}

static SrStatus run_head(SrLossContext *ctx, const SrLossHead *head, SrNodeId x,
                         SrOutputs *outputs) {
    LossCase *r = ctx->model;
    (void)head, (void)x;
    r->p = sr_build_input(r->builder, "prediction", r->prediction, SR_F32);
    *outputs = (SrOutputs){.n = 1};
    outputs->v[0] = (SrOutput){.name = "embedding", .node = r->p, .n_views = r->n_views};
    return sr_builder_status(r->builder);
}

static const SrLossServices services = {.run = run_teacher, .head = run_head};

static SrStatus options_of(LossCase *r, void **params) {
    const SrYaml *map = sr_yaml_find_path(r->c->config, r->kind->subtree);
    SrYaml *given = NULL;
    if (!sr_yaml_find(r->c->config, "LOSS"))
        map = r->c->config;
    if (r->options) {
        SR_TRY(sr_yaml_parse(r->c->arena, r->options, strlen(r->options), "golden", &given));
        map = given;
    }
    *params = sr_arena_alloc(r->c->arena, r->kind->params_bytes + 1);
    if (!*params)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for the options of %s", r->kind->name);
    return sr_options_parse(r->kind->options, map, r->kind->subtree, r->c->arena, *params);
}

SrStatus loss_case_find(LossCase *r) {
    const SrYaml *name = sr_yaml_find_path(r->c->config, "LOSS.name");
    if (!name || !name->text)
        SR_FAIL(SR_ERR_RUN, "%s: no LOSS.name", r->c->name);
    return sr_loss_find(name->text, &r->kind);
}

static void add_outputs(LossCase *r) {
    static const char *const names[LOSS_CASE_MORE] = {"x1", "x2", "x3"};
    r->x = sr_build_input(r->builder, "x", r->shape, SR_F32);
    for (int i = 0; i < r->n_more; i++)
        r->more[i] = sr_build_input(r->builder, names[i], r->shape, SR_F32);
    r->ctx.outputs.n = 1 + r->n_more;
    for (int i = 0; i <= r->n_more; i++)
        r->ctx.outputs.v[i] =
            (SrOutput){.name = r->name, .node = i ? r->more[i - 1] : r->x, .n_views = r->n_views};
}

static SrStatus build(LossCase *r) {
    void *params;
    SR_TRY(options_of(r, &params));
    r->ctx = (SrLossContext){.builder = r->builder,
                             .name = r->kind->name,
                             .batch = r->batch,
                             .replicas = SR_MAX(r->replicas, 1),
                             .processes = SR_MAX(r->replicas, 1),
                             .n_views = r->n_views,
                             .sample_index = SR_NO_NODE,
                             .labels = SR_NO_NODE,
                             .services = &services,
                             .model = r};
    r->ctx.n_samples = r->n_samples;
    if (r->n_samples > 0)
        r->ctx.sample_index =
            sr_build_input(r->builder, "sample_index", SR_SHAPE(r->batch), SR_I64);
    add_outputs(r);
    sr_builder_set_param_prefix(r->builder, "loss.");
    sr_builder_set_node_prefix(r->builder, "loss.");
    SR_TRY(r->kind->build(&r->ctx, params, &r->loss, &r->state));
    return sr_builder_status(r->builder);
}

SrStatus loss_case_open(LossCase *r) {
    SR_TRY(sr_params_new(&r->params));
    SR_TRY(sr_graph_new(r->params, &r->graph));
    SR_TRY(sr_builder_new(r->graph, &r->builder));
    SR_TRY(build(r));
    SrNodeId wanted[2 + LOSS_CASE_MORE] = {r->x, r->more[0], r->more[1], r->more[2]};
    if (r->prediction.rank > 0)
        wanted[1 + r->n_more] = r->p;
    SrPlanOptions options = {.mode = SR_MODE_TRAIN,
                             .outputs = r->ctx.kept,
                             .n_outputs = r->ctx.n_kept,
                             .losses = &r->loss,
                             .n_losses = 1,
                             .input_grads = wanted,
                             .n_input_grads = 1 + r->n_more + (r->prediction.rank > 0)};
    SR_TRY(sr_params_allocate(r->params));
    sr_params_init(r->params, 1);
    return sr_plan_compile(r->graph, &options, &r->plan);
}

void loss_case_close(LossCase *r) {
    sr_plan_free(r->plan);
    sr_builder_free(r->builder);
    sr_graph_free(r->graph);
    sr_params_free(r->params);
}

SrStatus loss_case_step(LossCase *r, const float *x, const float *t, int64_t iteration,
                        int64_t max_iterations) {
    SrLossStep step = {.params = r->params,
                       .plan = r->plan,
                       .iteration = iteration,
                       .max_iterations = max_iterations};
    if (!x || (r->teacher.rank > 0 && !t))
        SR_FAIL(SR_ERR_RUN, "%s: nothing given for step %lld", r->c->name, (long long)iteration);
    if (r->kind->before_step)
        r->kind->before_step(r->state, &step);
    if (r->recorded)
        SR_TRY(r->recorded(r, iteration));
    int64_t n = sr_shape_count(r->shape);
    memcpy(sr_plan_input(r->plan, r->x).data, x, (size_t)n * sizeof *x);
    for (int i = 0; i < r->n_more; i++)
        memcpy(sr_plan_input(r->plan, r->more[i]).data, x + (i + 1) * n, (size_t)n * sizeof *x);
    if (t)
        memcpy(sr_plan_input(r->plan, r->t).data, t,
               (size_t)sr_shape_count(r->teacher) * sizeof *t);
    sr_plan_forward(r->plan, iteration);
    sr_plan_backward(r->plan);
    if (r->kind->after_backward)
        r->kind->after_backward(r->state, &step);
    if (r->kind->after_update)
        r->kind->after_update(r->state, &step);
    return SR_OK;
}

double loss_case_value(LossCase *r) {
    return (double)*(const float *)sr_plan_output(r->plan, r->loss).data;
}

const float *loss_case_gradient(LossCase *r) { return loss_case_gradient_of(r, 0); }

const float *loss_case_gradient_of(LossCase *r, int output) {
    return sr_plan_input_grad(r->plan, output ? r->more[output - 1] : r->x).data;
}

float *loss_case_prediction(LossCase *r) { return sr_plan_input(r->plan, r->p).data; }

const float *loss_case_prediction_gradient(LossCase *r) {
    return sr_plan_input_grad(r->plan, r->p).data;
}
