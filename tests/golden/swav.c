// Runs golden cases of SwAV losses: from embeddings and scores, and those of a momentum encoder
// if there is one, the codes, the loss, the gradient of the scores and the queue, step by step.
// Some cases check the renormalisation of prototypes alone.
#include <stdio.h>
#include <string.h>

#include "graph/plan/plan.h"
#include "graph/plan/plan_run.h"
#include "kernels/basic/linear.h"
#include "losses/loss.h"
#include "losses/shared/prototypes.h"
#include "tests/golden/table.h"

enum { MAX_SETS = 15, MAX_OUT = 128 };

#define TEACHER "loss.momentum_encoder."

typedef struct {
    SrGoldenCase *c;
    const SrLoss *kind;
    SrParams *params;
    SrGraph *graph;
    SrBuilder *b;
    int batch, n_sets, n_crops;
    // Element 0 is the embeddings, the others the scores of each set of prototypes.
    SrNodeId in[1 + MAX_SETS], teacher[1 + MAX_SETS];
    SrNodeId loss;
    void *state;
    SrLossContext ctx;
    SrPlan *plan;
} SwavRun;

static const char *tensor_name(SwavRun *r, const char *fmt, int a, int b, int c) {
    const char *name = sr_arena_printf(r->c->arena, fmt, a, b, c);
    return name ? name : "";
}

// ---- building

static SrNodeId input_like(SwavRun *r, const char *name, const char *tensor) {
    const SrTensor *t = golden_tensor(r->c, tensor);
    if (t)
        return sr_build_input(r->b, name, t->shape, SR_F32);
    sr_builder_fail(r->b, SR_ERR_RUN, "the case has no tensor %s", tensor);
    return SR_NO_NODE;
}

// Builds the model as the loss sees it. Scores are given, and the prototypes belong to a head
// that no one runs.
static SrStatus build_student(SwavRun *r, bool momentum) {
    r->in[0] = input_like(r, "embeddings", momentum ? "momentum_emb0" : "emb0");
    while (r->n_sets < MAX_SETS &&
           golden_tensor(r->c, tensor_name(r, "scores0_%d", r->n_sets, 0, 0)))
        r->n_sets++;
    sr_builder_push(r->b, "heads.0");
    for (int h = 0; h < r->n_sets; h++) {
        r->in[1 + h] = input_like(r, tensor_name(r, "scores%d", h, 0, 0),
                                  tensor_name(r, "scores0_%d", h, 0, 0));
        SrLinearParams p = {.out_features = sr_shape_last(sr_build_shape(r->b, r->in[1 + h]))};
        sr_build(r->b, "linear", tensor_name(r, "prototypes%d", h, 0, 0), &p, r->in[0]);
    }
    sr_builder_pop(r->b);
    return sr_builder_status(r->b);
}

static SrOutputs outputs_of(SwavRun *r, const SrNodeId *nodes) {
    SrOutputs out = {.n = 1 + r->n_sets};
    for (int i = 0; i < out.n; i++)
        out.v[i] = (SrOutput){.name = i ? tensor_name(r, "scores%d", i - 1, 0, 0) : "embedding",
                              .node = nodes[i],
                              .n_views = r->n_crops};
    return out;
}

// Stands for the forward pass of the momentum encoder.
static SrStatus run_teacher(SrLossContext *ctx, const SrModelRun *run, SrOutputs *outputs) {
    SwavRun *r = ctx->model;
    (void)run;
    r->teacher[0] = input_like(r, "momentum_embeddings", "momentum_emb0");
    for (int h = 0; h < r->n_sets; h++)
        r->teacher[1 + h] = input_like(r, tensor_name(r, "momentum_scores%d", h, 0, 0),
                                       tensor_name(r, "momentum_scores0_%d", h, 0, 0));
    *outputs = outputs_of(r, r->teacher);
    return sr_builder_status(r->b);
}

static const SrLossServices services = {.run = run_teacher};

static SrStatus build_loss(SwavRun *r) {
    void *params = sr_arena_alloc(r->c->arena, r->kind->params_bytes);
    const SrYaml *map = sr_yaml_find_path(r->c->config, r->kind->subtree);
    const SrYaml *crops = sr_yaml_find(map, "num_crops"), *bs = sr_yaml_find(r->c->config, "bs");
    if (!params || !bs)
        SR_FAIL(SR_ERR_RUN, "the case names no bs");
    SR_TRY(sr_options_parse(r->kind->options, map, r->kind->subtree, r->c->arena, params));
    r->batch = (int)bs->i;
    r->n_crops = crops ? (int)crops->i : 2;
    r->ctx = (SrLossContext){.builder = r->b,
                             .name = r->kind->name,
                             .batch = r->batch,
                             .replicas = 1,
                             .n_views = r->n_crops,
                             .outputs = outputs_of(r, r->in),
                             .sample_index = SR_NO_NODE,
                             .labels = SR_NO_NODE,
                             .services = &services,
                             .model = r};
    sr_builder_set_param_prefix(r->b, "loss.");
    sr_builder_set_node_prefix(r->b, "loss.");
    return r->kind->build(&r->ctx, params, &r->loss, &r->state);
}

static SrStatus compile(SwavRun *r) {
    SrNodeId outputs[MAX_OUT];
    int n = 0;
    for (int i = 0; i < r->ctx.n_kept; i++)
        outputs[n++] = r->ctx.kept[i];
    outputs[n++] = r->in[0];
    for (int h = 0; h < r->n_sets; h++) {
        for (int i = 0; i < r->n_crops && n < MAX_OUT; i++) {
            SrNodeId codes = sr_graph_find(r->graph, tensor_name(r, "loss.codes%d_%d", h, i, 0));
            if (codes != SR_NO_NODE)
                outputs[n++] = codes;
        }
    }
    SrPlanOptions options = {.mode = SR_MODE_TRAIN,
                             .outputs = outputs,
                             .n_outputs = n,
                             .losses = &r->loss,
                             .n_losses = 1,
                             .input_grads = r->in + 1,
                             .n_input_grads = r->n_sets};
    return sr_plan_compile(r->graph, &options, &r->plan);
}

// ---- loading state

static SrStatus load(SwavRun *r, const char *entry, const char *tensor, int64_t first) {
    const SrTensor *t = golden_tensor(r->c, tensor);
    int index = sr_params_find(r->params, entry);
    if (!t || index < 0)
        SR_FAIL(SR_ERR_RUN, "nothing to load from %s into %s", tensor, entry);
    const SrParam *p = sr_params_at(r->params, index);
    int64_t n = sr_shape_count(p->shape);
    if (first + n > sr_shape_count(t->shape))
        SR_FAIL(SR_ERR_RUN, "%s does not fit %s", tensor, entry);
    memcpy(p->value, (const float *)t->data + first, (size_t)n * sizeof(float));
    return SR_OK;
}

static SrStatus load_queue_scores(SwavRun *r, int h) {
    const char *tensor = tensor_name(r, "queue_scores_init%d", h, 0, 0);
    const SrTensor *t = golden_tensor(r->c, tensor); // (n_assign, L, P)
    for (int i = 0; t && i < t->shape.d[0]; i++)
        SR_TRY(load(r, tensor_name(r, "loss.local_queue%d.%d", h, i, 0), tensor,
                    (int64_t)i * t->shape.d[1] * t->shape.d[2]));
    return SR_OK;
}

static SrStatus load_queue(SwavRun *r) {
    if (golden_tensor(r->c, "queue_emb_init"))
        SR_TRY(load(r, "loss.local_emb_queue", "queue_emb_init", 0));
    for (int h = 0; h < r->n_sets; h++)
        SR_TRY(load_queue_scores(r, h));
    return SR_OK;
}

// Loads the prototypes, which are the same in every step of the case: the loss's change after an
// update is undone.
static SrStatus load_prototypes(SwavRun *r) {
    for (int h = 0; h < r->n_sets; h++) {
        const char *student = tensor_name(r, "heads.0.prototypes%d.weight", h, 0, 0);
        const char *teacher = tensor_name(r, TEACHER "heads.0.prototypes%d.weight", h, 0, 0);
        const char *of_teacher = tensor_name(r, "momentum_prototypes%d", h, 0, 0);
        bool momentum = golden_tensor(r->c, of_teacher) != NULL;
        SR_TRY(
            load(r, student, momentum ? of_teacher : tensor_name(r, "prototypes%d", h, 0, 0), 0));
        if (momentum)
            SR_TRY(load(r, teacher, of_teacher, 0));
    }
    return SR_OK;
}

// ---- one step

static SrStatus fill(SwavRun *r, SrNodeId node, const char *tensor) {
    const SrTensor *t = golden_tensor(r->c, tensor);
    SrTensor to = sr_plan_input(r->plan, node);
    if (!t)
        SR_FAIL(SR_ERR_RUN, "the case has no tensor %s", tensor);
    if (to.data)
        memcpy(to.data, t->data, (size_t)sr_shape_count(to.shape) * sizeof(float));
    return SR_OK;
}

static SrStatus fill_step(SwavRun *r, int step) {
    bool momentum = r->teacher[0] != SR_NO_NODE;
    if (!momentum)
        SR_TRY(fill(r, r->in[0], tensor_name(r, "emb%d", step, 0, 0)));
    else
        SR_TRY(fill(r, r->teacher[0], tensor_name(r, "momentum_emb%d", step, 0, 0)));
    for (int h = 0; h < r->n_sets; h++) {
        SR_TRY(fill(r, r->in[1 + h], tensor_name(r, "scores%d_%d", step, h, 0)));
        if (momentum)
            SR_TRY(fill(r, r->teacher[1 + h], tensor_name(r, "momentum_scores%d_%d", step, h, 0)));
    }
    return SR_OK;
}

static SrStatus compare_codes(SwavRun *r, int step) {
    for (int h = 0; h < r->n_sets; h++) {
        // A case gives the number crops_for_assign or lists the crops; the order is the same.
        for (int i = 0, k = 0; i < r->n_crops; i++) {
            const char *name = tensor_name(r, "assign%d_%d_%d", step, h, i);
            if (!golden_tensor(r->c, name))
                continue;
            SrNodeId node = sr_graph_find(r->graph, tensor_name(r, "loss.codes%d_%d", h, k++, 0));
            if (node == SR_NO_NODE)
                SR_FAIL(SR_ERR_RUN, "there is no node for %s", name);
            SrTensor codes = sr_plan_output(r->plan, node);
            SR_TRY(
                golden_compare(r->c, name, codes.data, sr_shape_count(codes.shape), GOLDEN_GRAD));
        }
    }
    return SR_OK;
}

static SrStatus compare_grads(SwavRun *r, int step) {
    for (int h = 0; h < r->n_sets; h++) {
        SrTensor dx = sr_plan_input_grad(r->plan, r->in[1 + h]);
        SR_TRY(golden_compare(r->c, tensor_name(r, "grad%d_%d", step, h, 0), dx.data,
                              sr_shape_count(dx.shape), GOLDEN_GRAD));
    }
    return SR_OK;
}

static SrStatus compare_queue(SwavRun *r, int step) {
    const char *name = tensor_name(r, "queue_emb%d", step, 0, 0);
    if (!golden_tensor(r->c, name))
        return SR_OK;
    const SrParam *p = sr_params_at(r->params, sr_params_find(r->params, "loss.local_emb_queue"));
    return golden_compare(r->c, name, p->value, sr_shape_count(p->shape), GOLDEN_GRAD);
}

static SrStatus run_step(SwavRun *r, int step) {
    SrLossStep hook = {.params = r->params, .plan = r->plan, .iteration = step};
    SR_TRY(load_prototypes(r));
    SR_TRY(fill_step(r, step));
    r->kind->before_step(r->state, &hook);
    sr_plan_forward(r->plan, step);
    SR_TRY(golden_compare(r->c, tensor_name(r, "loss%d", step, 0, 0),
                          sr_plan_output(r->plan, r->loss).data, 1, GOLDEN_GRAD));
    SR_TRY(compare_codes(r, step));
    sr_plan_backward(r->plan);
    SR_TRY(compare_grads(r, step));
    r->kind->after_update(r->state, &hook);
    return compare_queue(r, step);
}

static SrStatus run_loss(SwavRun *r) {
    SR_TRY(sr_params_new(&r->params));
    SR_TRY(sr_graph_new(r->params, &r->graph));
    SR_TRY(sr_builder_new(r->graph, &r->b));
    r->teacher[0] = SR_NO_NODE;
    SR_TRY(build_student(r, golden_tensor(r->c, "momentum_emb0") != NULL));
    SR_TRY(build_loss(r));
    SR_TRY(compile(r));
    sr_params_init(r->params, 1);
    SR_TRY(load_queue(r));
    for (int step = 0; golden_tensor(r->c, tensor_name(r, "loss%d", step, 0, 0)); step++)
        SR_TRY(run_step(r, step));
    return SR_OK;
}

// ---- prototypes alone

static SrStatus run_normalize(SrGoldenCase *c, SrParams *params) {
    const SrTensor *w = golden_tensor(c, "weight");
    SrSlot slot = {.name = "weight", .shape = w->shape, .dtype = SR_F32, .kind = SR_SLOT_PARAM};
    SrPrototypes p;
    int index;
    SR_TRY(sr_params_add(params, "heads.0.prototypes0.weight", &slot, &index));
    SR_TRY(sr_params_allocate(params));
    SR_TRY(sr_prototypes_find(params, "", 0, &p));
    float *value = sr_params_at(params, index)->value;
    memcpy(value, w->data, (size_t)sr_shape_count(w->shape) * sizeof(float));
    sr_prototypes_normalize(params, &p);
    return golden_compare(c, "weight_out", value, sr_shape_count(w->shape), GOLDEN_GRAD);
}

static SrStatus run(SrGoldenCase *c) {
    SwavRun r = {.c = c};
    SrStatus status;
    if (golden_tensor(c, "weight") && golden_tensor(c, "weight_out")) {
        SR_TRY_GOTO(sr_params_new(&r.params));
        SR_TRY_GOTO(run_normalize(c, r.params));
        goto done;
    }
    const SrYaml *name = sr_yaml_find_path(c->config, "LOSS.name");
    SR_TRY_GOTO(sr_loss_find(name && name->text ? name->text : "", &r.kind));
    SR_TRY_GOTO(run_loss(&r));
done:
    sr_plan_free(r.plan);
    sr_builder_free(r.b);
    sr_graph_free(r.graph);
    sr_params_free(r.params);
    return status;
}

const SrGolden sr_golden_swav = {
    .prefixes = {"swav_"},
    .run = run,
};
