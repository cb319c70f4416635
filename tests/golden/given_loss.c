// Builds one loss on given outputs of a student and a teacher, and computes steps of it
// (given_loss.h).
#include "tests/golden/given_loss.h"

#include <stdio.h>
#include <string.h>

#include "base/text/yaml_load.h"
#include "graph/plan/plan_run.h"

static const char *tensor_name(GivenLoss *g, const char *tensor, const char *step) {
    return sr_arena_printf(g->c->arena, "%s%s%s", g->prefix ? g->prefix : "", tensor, step);
}

// Adds an input to the graph for each given output, with the shape of the case's tensor.
static SrStatus add_outputs(GivenLoss *g, GivenOutput *given, SrOutputs *out) {
    *out = (SrOutputs){.n = 0};
    for (int i = 0; i < GIVEN_MAX && given[i].name; i++) {
        const SrTensor *t = golden_tensor(g->c, tensor_name(g, given[i].tensor, g->step));
        if (!t)
            SR_FAIL(SR_ERR_RUN, "%s: no tensor %s%s", g->c->name, given[i].tensor, g->step);
        if (!given[i].built)
            given[i].node = sr_build_input(g->builder, given[i].tensor, t->shape, SR_F32);
        given[i].built = true;
        out->v[out->n++] = (SrOutput){.name = given[i].name,
                                      .node = given[i].node,
                                      .n_views = t->shape.d[0] / g->batch,
                                      .grid_h = g->grid,
                                      .grid_w = g->grid};
    }
    return sr_builder_status(g->builder);
}

// Stands for any further forward pass of the model: the student's if the loss runs it itself,
// otherwise the teacher's.
static SrStatus run_teacher(SrLossContext *ctx, const SrModelRun *run, SrOutputs *outputs) {
    GivenLoss *g = ctx->model;
    SR_TRY(add_outputs(g, run->trainable ? g->student : g->teacher, outputs));
    return run->reduce ? run->reduce(g->builder, ctx->name, outputs) : SR_OK;
}

static SrNodeId extra(SrLossContext *ctx, const char *name, int view) {
    GivenLoss *g = ctx->model;
    return strcmp(name, "mask") == 0 && view < g->n_masks ? g->masks[view] : SR_NO_NODE;
}

static const SrLossServices services = {.run = run_teacher, .extra = extra};

static SrStatus options_of(GivenLoss *g, void **params) {
    const SrYaml *map = sr_yaml_find_path(g->c->config, g->kind->subtree);
    SrYaml *given = NULL;
    if (!sr_yaml_find(g->c->config, "LOSS"))
        map = g->c->config;
    if (g->options) {
        SR_TRY(sr_yaml_parse(g->c->arena, g->options, strlen(g->options), "golden", &given));
        map = given;
    }
    *params = sr_arena_alloc(g->c->arena, g->kind->params_bytes + 1);
    if (!*params)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for the options of %s", g->kind->name);
    return sr_options_parse(g->kind->options, map, g->kind->subtree, g->c->arena, *params);
}

static SrStatus add_masks(GivenLoss *g) {
    const SrTensor *t = golden_tensor(g->c, tensor_name(g, "mask", g->step));
    for (int v = 0; v < g->n_masks; v++) {
        char leaf[16];
        if (!t)
            SR_FAIL(SR_ERR_RUN, "%s: no mask", g->c->name);
        int patches = (int)(sr_shape_count(t->shape) / t->shape.d[0]);
        snprintf(leaf, sizeof leaf, "mask%d", v);
        g->masks[v] = sr_build_input(g->builder, leaf, SR_SHAPE(g->batch, patches), SR_F32);
    }
    return SR_OK;
}

// Adds prototypes that the loss reads from the teacher's part of the parameter table.
static SrStatus add_prototypes(GivenLoss *g) {
    const SrTensor *t = g->prototypes ? golden_tensor(g->c, g->prototypes) : NULL;
    int index;
    if (!g->prototypes)
        return SR_OK;
    if (!t)
        SR_FAIL(SR_ERR_RUN, "%s: no tensor %s", g->c->name, g->prototypes);
    SrSlot slot = {.name = "weight", .shape = t->shape, .dtype = SR_F32, .kind = SR_SLOT_PARAM};
    SR_TRY(
        sr_params_add(g->params, "loss.teacher_model.heads.0.prototypes0.weight", &slot, &index));
    sr_params_at(g->params, index)->trainable = false;
    return SR_OK;
}

static SrStatus build(GivenLoss *g) {
    void *params;
    SR_TRY(options_of(g, &params));
    g->ctx = (SrLossContext){.builder = g->builder,
                             .name = g->kind->name,
                             .batch = g->batch,
                             .replicas = 1,
                             .processes = 1,
                             .n_views = g->n_views,
                             .sample_index = SR_NO_NODE,
                             .labels = SR_NO_NODE,
                             .services = &services,
                             .model = g};
    if (g->labels.shape.rank > 0)
        g->ctx.labels = sr_build_input(g->builder, "label", g->labels.shape, g->labels.dtype);
    SR_TRY(add_masks(g));
    SR_TRY(add_prototypes(g));
    for (int v = 0; v < g->n_views; v++)
        g->ctx.views[v].h = g->ctx.views[v].w = g->side;
    if (g->kind->student_views != SR_NO_STUDENT)
        SR_TRY(add_outputs(g, g->student, &g->ctx.outputs));
    sr_builder_set_param_prefix(g->builder, "loss.");
    sr_builder_set_node_prefix(g->builder, "loss.");
    SR_TRY(g->kind->build(&g->ctx, params, &g->loss, &g->state));
    return sr_builder_status(g->builder);
}

// Loads the loss's own parameters that the case gives as "param.<name>".
static SrStatus load_params(GivenLoss *g) {
    for (int i = 0; i < sr_params_count(g->params); i++) {
        SrParam *p = sr_params_at(g->params, i);
        const char *name = sr_arena_printf(g->c->arena, "param.%s", p->name);
        int64_t n;
        const float *x = golden_tensor(g->c, name) ? golden_floats(g->c, name, &n) : NULL;
        if (x && n != sr_shape_count(p->shape))
            SR_FAIL(SR_ERR_RUN, "%s does not fit", name);
        if (x)
            memcpy(p->value, x, (size_t)n * sizeof *x);
    }
    return SR_OK;
}

SrStatus given_loss_open(GivenLoss *g) {
    SrNodeId grads[GIVEN_MAX];
    int n = 0;
    SR_TRY(sr_params_new(&g->params));
    SR_TRY(sr_graph_new(g->params, &g->graph));
    SR_TRY(sr_builder_new(g->graph, &g->builder));
    SR_TRY(build(g));
    while (n < GIVEN_MAX && g->student[n].name) {
        grads[n] = g->student[n].node;
        n++;
    }
    SrPlanOptions options = {.mode = SR_MODE_TRAIN,
                             .outputs = g->ctx.kept,
                             .n_outputs = g->ctx.n_kept,
                             .losses = &g->loss,
                             .n_losses = 1,
                             .input_grads = grads,
                             .n_input_grads = n};
    SR_TRY(sr_params_allocate(g->params));
    sr_params_init(g->params, 1);
    SR_TRY(load_params(g));
    if (g->prototypes) {
        int64_t count;
        const float *x = golden_floats(g->c, g->prototypes, &count);
        memcpy(sr_params_at(g->params, 0)->value, x, (size_t)count * sizeof *x);
    }
    return sr_plan_compile(g->graph, &options, &g->plan);
}

void given_loss_close(GivenLoss *g) {
    sr_plan_free(g->plan);
    sr_builder_free(g->builder);
    sr_graph_free(g->graph);
    sr_params_free(g->params);
}

static SrStatus fill(GivenLoss *g, const GivenOutput *given, const char *step) {
    for (int i = 0; i < GIVEN_MAX && given[i].name; i++) {
        int64_t n;
        const float *x = golden_floats(g->c, tensor_name(g, given[i].tensor, step), &n);
        SrTensor to = sr_plan_input(g->plan, given[i].node);
        if (!x || n != sr_shape_count(to.shape))
            SR_FAIL(SR_ERR_RUN, "%s: no %s%s of that size", g->c->name, given[i].tensor, step);
        memcpy(to.data, x, (size_t)n * sizeof *x);
    }
    return SR_OK;
}

static SrStatus fill_masks(GivenLoss *g, const char *step) {
    int64_t n;
    const float *x = g->n_masks ? golden_floats(g->c, tensor_name(g, "mask", step), &n) : NULL;
    if (g->n_masks && !x)
        SR_FAIL(SR_ERR_RUN, "%s: no mask%s", g->c->name, step);
    for (int v = 0; v < g->n_masks; v++) {
        SrTensor to = sr_plan_input(g->plan, g->masks[v]);
        int64_t count = sr_shape_count(to.shape);
        memcpy(to.data, x + v * count, (size_t)count * sizeof *x);
    }
    return SR_OK;
}

SrStatus given_loss_step(GivenLoss *g, const char *step, int64_t iteration, int epoch) {
    g->at = (SrLossStep){.params = g->params,
                         .plan = g->plan,
                         .iteration = iteration,
                         .max_iterations = 100,
                         .epoch = epoch};
    if (g->kind->before_step)
        g->kind->before_step(g->state, &g->at);
    SR_TRY(fill(g, g->student, step));
    SR_TRY(fill(g, g->teacher, step));
    SR_TRY(fill_masks(g, step));
    if (g->labels.shape.rank > 0)
        memcpy(sr_plan_input(g->plan, g->ctx.labels).data, g->labels.data,
               (size_t)sr_shape_count(g->labels.shape) * sr_dtype_bytes(g->labels.dtype));
    sr_plan_forward(g->plan, iteration);
    sr_plan_backward(g->plan);
    if (g->kind->after_update)
        g->kind->after_update(g->state, &g->at);
    return SR_OK;
}

double given_loss_value(GivenLoss *g) {
    return (double)*(const float *)sr_plan_output(g->plan, g->loss).data;
}

SrStatus given_loss_compare_gradients(GivenLoss *g, const char *grad, const char *step,
                                      double tolerance) {
    for (int i = 0; i < GIVEN_MAX && g->student[i].name; i++) {
        const char *name =
            tensor_name(g, sr_arena_printf(g->c->arena, "%s_%s", grad, g->student[i].tensor), step);
        if (!golden_tensor(g->c, name))
            name = tensor_name(g, grad, step);
        SrTensor x = sr_plan_input_grad(g->plan, g->student[i].node);
        SR_TRY(golden_compare(g->c, name, x.data, sr_shape_count(x.shape), tolerance));
    }
    return SR_OK;
}
