// Runs golden cases of heads: from parameters and an input the outputs in training, gradients of
// sum(out * cot), running statistics, and the outputs in evaluation.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "graph/plan/plan.h"
#include "graph/plan/plan_run.h"
#include "tests/golden/table.h"
#include "trainer/model/head_modules.h"

#define PREFIX "heads.0."

typedef struct {
    SrGoldenCase *c;
    SrParams *params;
    SrGraph *graph;
    SrNodeId x;
    SrHeadOutputs out;
    float *input;       // x as (N, H, W, C)
    bool probabilities; // the case is of msn_head; see mixed_with_uniform
    double smoothing;
} HeadRun;

static SrModelConfig config_of(const SrYaml *head) {
    const SrYaml *eps = sr_yaml_find(head, "BATCHNORM_EPS"),
                 *momentum = sr_yaml_find(head, "BATCHNORM_MOMENTUM"),
                 *factor = sr_yaml_find(head, "PARAMS_MULTIPLIER");
    return (SrModelConfig){.head_params = sr_yaml_find(head, "PARAMS"),
                           .bn_eps = eps ? eps->f : 1e-5,
                           .bn_momentum = momentum ? momentum->f : 0.1,
                           .params_multiplier = factor ? factor->f : 1};
}

static SrShape nhwc(SrShape s) {
    return s.rank == 4 ? SR_SHAPE(s.d[0], s.d[2], s.d[3], s.d[1]) : s;
}

// Returns whether the tensors of the case do not match the head's entries one to one. iBOT's
// cases hold a shared norm or shared prototypes under several names, and prototypes of patches
// that do not exist. msn_head's case has no lengths of prototypes.
static bool has_other_tensors(const SrYaml *head) {
    const SrYaml *entry = sr_yaml_find(head, "PARAMS");
    while (entry && entry->type == SR_YAML_LIST && entry->n > 0)
        entry = entry->items[0];
    return entry && entry->type == SR_YAML_STRING &&
           (sr_text_starts(entry->text, "ibot_") || strcmp(entry->text, "msn_head") == 0);
}

// Converts scores to the output of VISSL's msn_head. That head ends with a softmax and a product
// with smoothed one-hot labels (K, K), s/K off the diagonal and 1 - s more on it: softmax(scores)
// * (1 - s) + s/K.
static void mixed_with_uniform(const HeadRun *r, const float *scores, int rows, int k, float *out) {
    for (int i = 0; i < rows; i++, scores += k, out += k) {
        double sum = 0;
        for (int j = 0; j < k; j++)
            sum += exp((double)scores[j]);
        for (int j = 0; j < k; j++)
            out[j] = (float)(exp((double)scores[j]) / sum * (1 - r->smoothing) + r->smoothing / k);
    }
}

// Converts the gradient with respect to those outputs to the gradient with respect to the scores.
static void through_softmax(const HeadRun *r, const float *scores, int rows, int k, float *grad) {
    for (int i = 0; i < rows; i++, scores += k, grad += k) {
        double sum = 0, mean = 0;
        for (int j = 0; j < k; j++)
            sum += exp((double)scores[j]);
        for (int j = 0; j < k; j++)
            mean += exp((double)scores[j]) / sum * (double)grad[j];
        for (int j = 0; j < k; j++)
            grad[j] = (float)(exp((double)scores[j]) / sum * (1 - r->smoothing) *
                              ((double)grad[j] - mean));
    }
}

static void set_msn(HeadRun *r, const SrYaml *head) {
    const SrYaml *entry = sr_yaml_find(head, "PARAMS")->items[0];
    if (entry->items[0]->type != SR_YAML_STRING || strcmp(entry->items[0]->text, "msn_head") != 0)
        return; // a list of modules starts with a list
    const SrYaml *smoothing = sr_yaml_find(entry->items[1], "label_smoothing");
    const SrYaml *query = sr_yaml_find(entry->items[1], "return_query");
    r->probabilities = !query || !query->b;
    r->smoothing = smoothing ? smoothing->f : 0;
}

// Sets the lengths of normalised prototypes to 1, since the case does not record them.
static SrStatus set_unit_lengths(HeadRun *r) {
    int index = sr_params_find(r->params, PREFIX "prototypes.weight_g");
    if (index < 0)
        SR_FAIL(SR_ERR_RUN, "there are no prototypes.weight_g");
    const SrParam *g = sr_params_at(r->params, index);
    for (int64_t i = 0; i < sr_shape_count(g->shape); i++)
        ((float *)g->value)[i] = 1;
    return SR_OK;
}

static SrStatus build(HeadRun *r) {
    const SrTensor *x = golden_tensor(r->c, "x");
    SrHeadModules heads;
    SrBuilder *b;
    const SrYaml *head = sr_yaml_find(r->c->config, "HEAD");
    SrModelConfig config = config_of(head);
    if (!x)
        SR_FAIL(SR_ERR_RUN, "the case has no input x");
    SR_TRY(sr_head_modules_parse(&config, r->c->arena, &heads));
    SR_TRY(sr_params_new(&r->params));
    SR_TRY(sr_graph_new(r->params, &r->graph));
    SR_TRY(sr_builder_new(r->graph, &b));
    r->x = sr_build_input(b, "x", nhwc(x->shape), SR_F32);
    r->input = golden_to_nhwc(r->c, x->data, x->shape);
    SrStatus status = sr_head_modules_build(b, &heads, NULL, r->x, &r->out);
    sr_builder_free(b);
    SR_TRY(status);
    SR_TRY(sr_params_allocate(r->params));
    set_msn(r, head);
    if (r->probabilities)
        SR_TRY(set_unit_lengths(r));
    bool whole = !has_other_tensors(head);
    return golden_load_table(r->c, r->params, "param.", PREFIX, whole);
}

static void fill(SrPlan *plan, SrNodeId x, const float *input) {
    SrTensor to = sr_plan_input(plan, x);
    memcpy(to.data, input, (size_t)sr_shape_count(to.shape) * sizeof(float));
}

static SrStatus compare_outputs(HeadRun *r, SrPlan *plan, const char *kind) {
    for (int i = 0; i < r->out.n; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s%d", kind, i);
        SrTensor y = sr_plan_output(plan, r->out.node[i]);
        int64_t n = sr_shape_count(y.shape);
        float *ours = sr_arena_copy(r->c->arena, y.data, (size_t)n * sizeof *ours);
        if (ours && r->probabilities)
            mixed_with_uniform(r, y.data, y.shape.d[0], y.shape.d[1], ours);
        SR_TRY(golden_compare(r->c, name, ours, n, GOLDEN_TAP));
    }
    return SR_OK;
}

static SrStatus seed(HeadRun *r, SrPlan *plan) {
    for (int i = 0; i < r->out.n; i++) {
        char name[32];
        int64_t n;
        snprintf(name, sizeof name, "cot%d", i);
        float *cot = golden_floats(r->c, name, &n);
        if (!cot || n != sr_shape_count(sr_graph_at(r->graph, r->out.node[i])->shape))
            SR_FAIL(SR_ERR_RUN, "%s does not fit output %d", name, i);
        SrTensor y = sr_plan_output(plan, r->out.node[i]);
        if (r->probabilities)
            through_softmax(r, y.data, y.shape.d[0], y.shape.d[1], cot);
        memcpy(sr_plan_seed(plan, r->out.node[i]), cot, (size_t)n * sizeof(float));
    }
    return SR_OK;
}

static SrStatus train(HeadRun *r, SrPlan *plan) {
    fill(plan, r->x, r->input);
    sr_params_zero_grad(r->params);
    sr_plan_forward(plan, 0);
    SR_TRY(compare_outputs(r, plan, "out"));
    SR_TRY(golden_compare_values(r->c, r->params, "after.", PREFIX, GOLDEN_GRAD));
    SR_TRY(seed(r, plan));
    sr_plan_backward(plan);
    SrTensor dx = sr_plan_input_grad(plan, r->x);
    const float *nchw = golden_to_nchw(r->c, dx.data, dx.shape);
    SR_TRY(golden_compare(r->c, "grad_x", nchw, sr_shape_count(dx.shape), GOLDEN_GRAD));
    if (sr_params_count(r->params) == 0) // siamese_concat has no parameters
        return SR_OK;
    return golden_compare_grads(r->c, r->params, "grad.", PREFIX, GOLDEN_GRAD);
}

static SrStatus evaluate(HeadRun *r, SrPlan *plan) {
    fill(plan, r->x, r->input);
    sr_plan_forward(plan, 0);
    return compare_outputs(r, plan, "eval_out");
}

static SrStatus with_plan(HeadRun *r, const SrPlanOptions *options,
                          SrStatus (*body)(HeadRun *, SrPlan *)) {
    SrPlan *plan;
    SR_TRY(sr_plan_compile(r->graph, options, &plan));
    SrStatus status = body(r, plan);
    sr_plan_free(plan);
    return status;
}

static SrStatus run(SrGoldenCase *c) {
    HeadRun r = {.c = c};
    SrStatus status;
    SR_TRY_GOTO(build(&r));
    SrPlanOptions training = {.mode = SR_MODE_TRAIN,
                              .outputs = r.out.node,
                              .n_outputs = r.out.n,
                              .losses = r.out.node,
                              .n_losses = r.out.n,
                              .input_grads = &r.x,
                              .n_input_grads = 1};
    SR_TRY_GOTO(with_plan(&r, &training, train));
    SrPlanOptions evaluation = {.mode = SR_MODE_EVAL, .outputs = r.out.node, .n_outputs = r.out.n};
    SR_TRY_GOTO(with_plan(&r, &evaluation, evaluate));
done:
    sr_graph_free(r.graph);
    sr_params_free(r.params);
    return status;
}

const SrGolden sr_golden_head = {
    .prefixes = {"head_"},
    .run = run,
};
