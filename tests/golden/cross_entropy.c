// Runs golden cases cross_entropy_* and bce_logits_*: from outputs x<i> and a target of classes
// or distributions, the loss and the gradient of each output.
#include <stdio.h>
#include <string.h>

#include "graph/plan/plan.h"
#include "graph/plan/plan_run.h"
#include "losses/loss.h"
#include "tests/golden/table.h"

enum { MAX_OUT = 16 };

typedef struct {
    SrGoldenCase *c;
    SrParams *params;
    SrGraph *graph;
    SrNodeId x[MAX_OUT], target, loss;
    int n;
} LabelRun;

// Finds the loss and its options: the manifest holds a LOSS section, or the options alone.
static SrStatus find_loss(SrGoldenCase *c, const SrLoss **out, const SrYaml **options) {
    const char *name = strncmp(c->name, "bce", 3) == 0
                           ? "bce_logits_multiple_output_single_target"
                           : "cross_entropy_multiple_output_single_target";
    const SrYaml *loss = sr_yaml_find(c->config, "LOSS");
    const SrYaml *named = sr_yaml_find(loss, "name");
    SR_TRY(sr_loss_find(named ? named->text : name, out));
    *options = loss ? sr_yaml_find(loss, (*out)->name) : c->config;
    return SR_OK;
}

static SrStatus build(LabelRun *r, SrBuilder *b) {
    const SrLoss *kind;
    const SrYaml *map;
    void *state;
    SR_TRY(find_loss(r->c, &kind, &map));
    void *params = sr_arena_alloc(r->c->arena, kind->params_bytes);
    if (!params)
        SR_FAIL(SR_ERR_MEMORY, "out of memory");
    SR_TRY(sr_options_parse(kind->options, map, kind->subtree, r->c->arena, params));
    for (char name[16]; r->n < MAX_OUT; r->n++) {
        snprintf(name, sizeof name, "x%d", r->n);
        const SrTensor *t = golden_tensor(r->c, name);
        if (!t)
            break;
        r->x[r->n] = sr_build_input(b, name, t->shape, SR_F32);
    }
    const SrTensor *target = golden_tensor(r->c, "target");
    if (!target || (target->dtype != SR_I64 && target->dtype != SR_F32) || r->n == 0)
        SR_FAIL(SR_ERR_RUN, "the case has no x0 and target");
    r->target = sr_build_input(b, "target", target->shape, target->dtype);
    SrLossContext ctx = {.builder = b,
                         .name = kind->name,
                         .batch = target->shape.d[0],
                         .replicas = 1,
                         .n_views = 1,
                         .outputs = {.n = r->n},
                         .sample_index = SR_NO_NODE,
                         .labels = r->target};
    for (int i = 0; i < r->n; i++)
        ctx.outputs.v[i] = (SrOutput){.node = r->x[i], .n_views = 1};
    return kind->build(&ctx, params, &r->loss, &state);
}

static SrStatus compare(LabelRun *r, SrPlan *plan) {
    const SrTensor *target = golden_tensor(r->c, "target");
    char name[16];
    for (int i = 0; i < r->n; i++) {
        int64_t n;
        snprintf(name, sizeof name, "x%d", i);
        const float *x = golden_floats(r->c, name, &n);
        memcpy(sr_plan_input(plan, r->x[i]).data, x, (size_t)n * sizeof *x);
    }
    memcpy(sr_plan_input(plan, r->target).data, target->data,
           (size_t)sr_shape_count(target->shape) * sr_dtype_bytes(target->dtype));
    sr_plan_forward(plan, 0);
    SR_TRY(golden_compare(r->c, "loss", sr_plan_output(plan, r->loss).data, 1, 1e-5));
    sr_plan_backward(plan);
    for (int i = 0; i < r->n; i++) {
        SrTensor dx = sr_plan_input_grad(plan, r->x[i]);
        snprintf(name, sizeof name, "grad%d", i);
        SR_TRY(golden_compare(r->c, name, dx.data, sr_shape_count(dx.shape), GOLDEN_GRAD));
    }
    return SR_OK;
}

static SrStatus run(SrGoldenCase *c) {
    LabelRun r = {.c = c};
    SrBuilder *b = NULL;
    SrPlan *plan = NULL;
    SrStatus status;
    SR_TRY_GOTO(sr_params_new(&r.params));
    SR_TRY_GOTO(sr_graph_new(r.params, &r.graph));
    SR_TRY_GOTO(sr_builder_new(r.graph, &b));
    SR_TRY_GOTO(build(&r, b));
    SrPlanOptions options = {.mode = SR_MODE_TRAIN,
                             .losses = &r.loss,
                             .n_losses = 1,
                             .input_grads = r.x,
                             .n_input_grads = r.n};
    SR_TRY_GOTO(sr_plan_compile(r.graph, &options, &plan));
    SR_TRY_GOTO(compare(&r, plan));
done:
    sr_plan_free(plan);
    sr_builder_free(b);
    sr_graph_free(r.graph);
    sr_params_free(r.params);
    return status;
}

const SrGolden sr_golden_cross_entropy = {
    .prefixes = {"cross_entropy", "bce_logits"},
    .run = run,
};
