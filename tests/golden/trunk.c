// Runs golden cases of trunks: from a state dict and a batch of images VISSL's stages in
// evaluation and, if the case has cotangents, all gradients and running statistics in training.
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "graph/ir/layer_name.h"
#include "graph/plan/plan.h"
#include "graph/plan/plan_run.h"
#include "tests/golden/recorded_draws.h"
#include "tests/golden/table.h"
#include "tests/golden/trunk_notes.h"
#include "trunks/trunk.h"

enum { MAX_TAPS = 32 };

typedef struct {
    SrGoldenCase *c;
    SrParams *params;
    SrGraph *graph;
    SrNodeId x, mask;
    SrTrunkOutput out;
    float *input;  // (N, H, W, C)
    bool dropping; // build a trunk that drops patches, as MSN does, if the case has one
    int n_sizes;
    struct {              // further passes over images x<size> of other sizes
        const char *size; // such as "48" or "40x52"
        SrNodeId x;
        SrTrunkOutput out;
    } size[4];
} TrunkRun;

typedef struct { // tensors of the case named <kind><stage>
    int n;
    const char *tensor[MAX_TAPS];
    SrNodeId node[MAX_TAPS];
} Taps;

// Finds the node of a stage. "default" and "last" stand for the output of a trunk when no stage
// is requested.
static SrStatus find_tap(const TrunkRun *r, const char *name, SrNodeId *out) {
    *out = r->out.pooled;
    return !strcmp(name, "default") || !strcmp(name, "last")
               ? SR_OK
               : sr_layer_node(r->graph, name, SR_NAMES_STAGES, out);
}

// Returns whether the tensor was made with recorded draws or from the small view; drawn() and
// small_view() compare those.
static bool is_drawn(const char *name) {
    return !strcmp(name, "droppath") || !strcmp(name, "masked") || !strcmp(name, "small");
}

// Appends the tensors of a kind to `out`.
static SrStatus find_taps(const TrunkRun *r, const char *kind, Taps *out) {
    for (int i = 0; i < r->c->tensors->n && out->n < MAX_TAPS; i++) {
        const char *name = r->c->tensors->tensors[i].name;
        if (!sr_text_starts(name, kind) || is_drawn(name + strlen(kind)))
            continue;
        out->tensor[out->n] = name;
        SR_TRY(find_tap(r, name + strlen(kind), &out->node[out->n++]));
    }
    return SR_OK;
}

// Returns the size in the name of an image tensor: "48" for x48, "40x52" for x40x52, "_small" for
// MSN's x_small. NULL: the name has none.
static const char *size_of(const TrunkRun *r, const char *name) {
    bool sized =
        r->dropping ? !strcmp(name, "x_small") : name[0] == 'x' && name[1] >= '0' && name[1] <= '9';
    return sized ? name + 1 : NULL;
}

static SrStatus build_sizes(TrunkRun *r, SrBuilder *b, const SrTrunk *trunk, const void *params) {
    for (int i = 0; i < r->c->tensors->n && r->n_sizes < SR_COUNT(r->size); i++) {
        const char *size = size_of(r, r->c->tensors->tensors[i].name);
        const int *d = r->c->tensors->tensors[i].tensor.shape.d; // (N, C, H, W)
        int k = r->n_sizes;
        if (!size)
            continue;
        char cot[32];
        snprintf(cot, sizeof cot, "cot%s", size);
        sr_builder_set_pass(b, k + 1);
        // A size without gradients must not move running statistics, so it is built for
        // evaluation only.
        sr_builder_set_mode(b, golden_tensor(r->c, cot) ? SR_MODE_BOTH : SR_MODE_EVAL);
        r->size[k].size = size;
        r->size[k].x = sr_build_input(b, "x", SR_SHAPE(d[0], d[2], d[3], d[1]), SR_F32);
        SR_TRY(sr_trunk_build(trunk, b, params,
                              &(SrTrunkInput){.image = r->size[k].x, .mask = SR_NO_NODE},
                              &r->size[k].out));
        r->n_sizes++;
    }
    return SR_OK;
}

static SrStatus build_trunk(TrunkRun *r, SrBuilder *b) {
    const SrTensor *x = golden_tensor(r->c, "x");
    const SrYaml *name = sr_yaml_find_path(r->c->config, "MODEL.TRUNK.NAME");
    const SrTrunk *trunk;
    if (!x)
        SR_FAIL(SR_ERR_RUN, "the case has no input x");
    SR_TRY(sr_trunk_find(name ? name->text : "resnet", &trunk));
    void *params = sr_arena_alloc(r->c->arena, trunk->params_bytes);
    if (!params)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for the trunk's options");
    SrYaml *options;
    SR_TRY(golden_trunk_options(r->c, trunk, &options));
    if (golden_tensor(r->c, "randperm") && !r->dropping)
        SR_TRY(golden_trunk_option(r->c, options, "{MASKED_IMAGE_MODELING: {NAME: \"\"}}"));
    SR_TRY(sr_options_parse(trunk->options, options, trunk->subtree, r->c->arena, params));
    const int *d = x->shape.d; // (N, C, H, W)
    r->x = sr_build_input(b, "x", SR_SHAPE(d[0], d[2], d[3], d[1]), SR_F32);
    r->input = golden_to_nhwc(r->c, golden_floats(r->c, "x", NULL), x->shape);
    sr_builder_set_param_prefix(b, sr_trunk_param_prefix(trunk));
    const SrTensor *mask = golden_tensor(r->c, "mask"); // (N, h, w)
    r->mask = SR_NO_NODE;
    if (mask)
        r->mask = sr_build_input(
            b, "mask", SR_SHAPE(mask->shape.d[0], mask->shape.d[1] * mask->shape.d[2]), SR_F32);
    SR_TRY(
        sr_trunk_build(trunk, b, params, &(SrTrunkInput){.image = r->x, .mask = r->mask}, &r->out));
    return build_sizes(r, b, trunk, params);
}

static SrStatus build(TrunkRun *r) {
    SrBuilder *b;
    SR_TRY(sr_params_new(&r->params));
    SR_TRY(sr_graph_new(r->params, &r->graph));
    SR_TRY(sr_builder_new(r->graph, &b));
    SrStatus status = build_trunk(r, b);
    sr_builder_free(b);
    SR_TRY(status);
    SR_TRY(sr_params_allocate(r->params));
    return golden_load_table(r->c, r->params, "param.", "", true);
}

// Returns whether the case stores this node with channels last: VISSL's lastMAP, and nodes that
// the graph marks.
static bool is_channels_last(const TrunkRun *r, const char *name, SrNodeId node) {
    return sr_text_ends(name, "lastMAP") || sr_graph_at(r->graph, node)->channels_last;
}

static SrStatus compare_nchw(TrunkRun *r, const char *name, SrTensor y, double relative) {
    return golden_compare(r->c, name, golden_to_nchw(r->c, y.data, y.shape),
                          sr_shape_count(y.shape), relative);
}

// Returns whether the case stores sequences first, (L, N, D) instead of (N, L, D), as
// ClassyVision's encoder does.
static bool is_sequence_first(const TrunkRun *r, const char *name, SrShape y) {
    SrShape theirs = golden_tensor(r->c, name)->shape;
    return theirs.rank == 3 && y.rank == 3 && theirs.d[0] == y.d[1] && theirs.d[1] == y.d[0] &&
           y.d[0] != y.d[1];
}

// Copies (A, B, D) to (B, A, D).
static void turn(const float *from, float *to, int A, int B, int D) {
    for (int64_t i = 0; i < (int64_t)A * B * D; i++)
        to[(i / D % B * A + i / D / B) * D + i % D] = from[i];
}

static SrStatus compare_turned(TrunkRun *r, const char *name, SrTensor y) {
    int64_t n = sr_shape_count(y.shape);
    float *turned = sr_arena_alloc(r->c->arena, (size_t)n * sizeof *turned);
    if (!turned)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for %s", name);
    turn(y.data, turned, y.shape.d[0], y.shape.d[1], y.shape.d[2]);
    return golden_compare(r->c, name, turned, n, GOLDEN_TAP);
}

static SrStatus compare_tap(TrunkRun *r, SrPlan *plan, SrNodeId node, const char *name) {
    SrTensor y = sr_plan_output(plan, node);
    if (!golden_tensor(r->c, name))
        SR_FAIL(SR_ERR_RUN, "the case has no tensor '%s'", name);
    if (is_sequence_first(r, name, y.shape))
        return compare_turned(r, name, y);
    if (is_channels_last(r, name, node))
        return golden_compare(r->c, name, y.data, sr_shape_count(y.shape), GOLDEN_TAP);
    return compare_nchw(r, name, y, GOLDEN_TAP);
}

static SrStatus compare_taps(TrunkRun *r, SrPlan *plan, const Taps *taps) {
    for (int i = 0; i < taps->n; i++)
        SR_TRY(compare_tap(r, plan, taps->node[i], taps->tensor[i]));
    return SR_OK;
}

static void forward(TrunkRun *r, SrPlan *plan, int64_t iteration) {
    SrTensor x = sr_plan_input(plan, r->x);
    memcpy(x.data, r->input, (size_t)sr_shape_count(x.shape) * sizeof(float));
    if (r->mask != SR_NO_NODE) {
        SrTensor mask = sr_plan_input(plan, r->mask);
        memcpy(mask.data, golden_floats(r->c, "mask", NULL),
               (size_t)sr_shape_count(mask.shape) * sizeof(float));
    }
    sr_plan_forward(plan, iteration);
}

static SrStatus evaluate(TrunkRun *r) {
    Taps taps = {0};
    SrPlan *plan;
    SR_TRY(find_taps(r, "eval.", &taps));
    SR_TRY(find_taps(r, "module.", &taps));
    SrPlanOptions options = {.mode = SR_MODE_EVAL, .outputs = taps.node, .n_outputs = taps.n};
    SR_TRY(sr_plan_compile(r->graph, &options, &plan));
    forward(r, plan, 0);
    SrStatus status = compare_taps(r, plan, &taps);
    sr_plan_free(plan);
    return status;
}

// Writes a cotangent where the backward pass of `node` starts. Maps are converted to (N, H, W,
// C). A flat output keeps the order of the case, even if the case gives it as (N, C, H, W).
static SrStatus seed(TrunkRun *r, SrPlan *plan, SrNodeId node, const char *name) {
    const SrTensor *cot = golden_tensor(r->c, name);
    const SrNode *y = sr_graph_at(r->graph, node);
    if (!cot || sr_shape_count(cot->shape) != sr_shape_count(y->shape))
        SR_FAIL(SR_ERR_RUN, "%s: no cotangent of the size of %s", name, y->name);
    const float *data = golden_floats(r->c, name, NULL);
    float *to = sr_plan_seed(plan, node);
    size_t bytes = (size_t)sr_shape_count(cot->shape) * sizeof(float);
    if (is_sequence_first(r, name, y->shape))
        turn(data, to, y->shape.d[1], y->shape.d[0], y->shape.d[2]);
    else if (y->shape.rank == 4 && !is_channels_last(r, name, node))
        memcpy(to, golden_to_nhwc(r->c, data, cot->shape), bytes);
    else
        memcpy(to, data, bytes);
    return SR_OK;
}

static SrStatus backward(TrunkRun *r, SrPlan *plan, const Taps *cots) {
    for (int i = 0; i < cots->n; i++)
        SR_TRY(seed(r, plan, cots->node[i], cots->tensor[i]));
    sr_plan_backward(plan);
    SR_TRY(compare_nchw(r, "grad_x", sr_plan_input_grad(plan, r->x), GOLDEN_GRAD));
    return golden_compare_grads(r->c, r->params, "grad.", "", GOLDEN_GRAD);
}

static SrStatus train_with(TrunkRun *r, SrPlan *plan, const Taps *taps, const Taps *cots) {
    sr_params_zero_grad(r->params);
    forward(r, plan, 0);
    SR_TRY(compare_taps(r, plan, taps));
    SR_TRY(golden_compare_values(r->c, r->params, "after.", "", GOLDEN_GRAD));
    return backward(r, plan, cots);
}

static SrStatus train(TrunkRun *r) {
    Taps taps = {0}, cots = {0};
    SrPlan *plan;
    SR_TRY(find_taps(r, "train.", &taps));
    SR_TRY(find_taps(r, "cot.", &cots));
    if (cots.n == 0)
        return SR_OK;
    SrPlanOptions options = {.mode = SR_MODE_TRAIN,
                             .outputs = taps.node,
                             .n_outputs = taps.n,
                             .losses = cots.node,
                             .n_losses = cots.n,
                             .input_grads = &r->x,
                             .n_input_grads = 1};
    SR_TRY(sr_plan_compile(r->graph, &options, &plan));
    SrStatus status = train_with(r, plan, &taps, &cots);
    sr_plan_free(plan);
    return status;
}

static SrStatus drawn_step(TrunkRun *r, SrPlan *plan, const char *suffix) {
    char name[32];
    SrNodeId y = r->out.pooled;
    sr_params_zero_grad(r->params);
    forward(r, plan, 0);
    snprintf(name, sizeof name, "train.%s", suffix);
    SR_TRY(compare_tap(r, plan, y, name));
    snprintf(name, sizeof name, "cot.%s", suffix);
    SR_TRY(seed(r, plan, y, name));
    sr_plan_backward(plan);
    snprintf(name, sizeof name, "grad_x.%s", suffix);
    if (golden_tensor(r->c, name))
        SR_TRY(compare_nchw(r, name, sr_plan_input_grad(plan, r->x), GOLDEN_GRAD));
    snprintf(name, sizeof name, "grad_%s.", suffix);
    return golden_compare_grads(r->c, r->params, name, "", GOLDEN_GRAD);
}

// Checks a training step with the draws that VISSL recorded.
static SrStatus drawn(TrunkRun *r, const char *suffix) {
    SrPlan *plan;
    SrPlanOptions options = {.mode = SR_MODE_TRAIN,
                             .outputs = &r->out.pooled,
                             .n_outputs = 1,
                             .losses = &r->out.pooled,
                             .n_losses = 1,
                             .input_grads = &r->x,
                             .n_input_grads = 1};
    SR_TRY(golden_record_draws(r->c, r->graph));
    SR_TRY(sr_plan_compile(r->graph, &options, &plan));
    SrStatus status = drawn_step(r, plan, suffix);
    sr_plan_free(plan);
    return status;
}

static SrStatus size_step(TrunkRun *r, SrPlan *plan, int k, const SrTensor *cot) {
    char name[48];
    SrTensor to = sr_plan_input(plan, r->size[k].x);
    SrNodeId y = r->size[k].out.pooled;
    snprintf(name, sizeof name, "x%s", r->size[k].size);
    const SrTensor *x = golden_tensor(r->c, name);
    memcpy(to.data, golden_to_nhwc(r->c, golden_floats(r->c, name, NULL), x->shape),
           (size_t)sr_shape_count(to.shape) * sizeof(float));
    sr_params_zero_grad(r->params);
    sr_plan_forward(plan, 0);
    snprintf(name, sizeof name, "eval%s.lastBLK", r->size[k].size);
    if (golden_tensor(r->c, name))
        SR_TRY(compare_tap(r, plan, r->size[k].out.tokens, name));
    snprintf(name, sizeof name, "eval%s.default", r->size[k].size);
    SR_TRY(compare_tap(r, plan, y, name));
    if (!cot)
        return SR_OK;
    snprintf(name, sizeof name, "cot%s", r->size[k].size);
    SR_TRY(seed(r, plan, y, name));
    sr_plan_backward(plan);
    snprintf(name, sizeof name, "grad%s.", r->size[k].size);
    return golden_compare_grads(r->c, r->params, name, "", GOLDEN_GRAD);
}

// Checks a view with fewer tokens than MSN's global views, of which no token is dropped.
static SrStatus small_view(TrunkRun *r, int k) {
    char name[32];
    SrPlan *plan;
    SrNodeId y = r->size[k].out.pooled;
    SrPlanOptions options = {.mode = SR_MODE_EVAL, .outputs = &y, .n_outputs = 1};
    SR_TRY(sr_plan_compile(r->graph, &options, &plan));
    snprintf(name, sizeof name, "x%s", r->size[k].size);
    const SrTensor *x = golden_tensor(r->c, name);
    SrTensor to = sr_plan_input(plan, r->size[k].x);
    memcpy(to.data, golden_to_nhwc(r->c, golden_floats(r->c, name, NULL), x->shape),
           (size_t)sr_shape_count(to.shape) * sizeof(float));
    sr_plan_forward(plan, 0);
    snprintf(name, sizeof name, "train.%s", r->size[k].size + 1);
    SrStatus status = compare_tap(r, plan, y, name);
    sr_plan_free(plan);
    return status;
}

// Checks pass k + 1 of the same graph. Without dropout, training gives the outputs of evaluation.
static SrStatus other_size(TrunkRun *r, int k) {
    char name[32];
    SrPlan *plan;
    SrNodeId y[2] = {r->size[k].out.pooled, r->size[k].out.tokens};
    snprintf(name, sizeof name, "cot%s", r->size[k].size);
    const SrTensor *cot = golden_tensor(r->c, name);
    SrPlanOptions options = {.mode = cot ? SR_MODE_TRAIN : SR_MODE_EVAL,
                             .outputs = y,
                             .n_outputs = 2,
                             .losses = y,
                             .n_losses = cot != NULL};
    SR_TRY(sr_plan_compile(r->graph, &options, &plan));
    SrStatus status = size_step(r, plan, k, cot);
    sr_plan_free(plan);
    return status;
}

static SrStatus compare(TrunkRun *r) {
    SR_TRY(evaluate(r));
    SR_TRY(train(r));
    for (int k = 0; k < r->n_sizes; k++)
        SR_TRY(other_size(r, k));
    return golden_tensor(r->c, "uniform0") ? drawn(r, "droppath") : SR_OK;
}

// Checks a trunk that drops patches, which MSN does in evaluation too. Tensors of the case
// without "masked" are of a trunk that drops none; the small view is not affected by dropping.
static SrStatus compare_dropping(TrunkRun *r) {
    for (int k = 0; k < r->n_sizes; k++)
        SR_TRY(small_view(r, k));
    return drawn(r, "masked");
}

static SrStatus run_trunk(SrGoldenCase *c, bool dropping, SrStatus (*compare_all)(TrunkRun *r)) {
    TrunkRun r = {.c = c, .dropping = dropping};
    SrStatus status;
    SR_TRY_GOTO(build(&r));
    SR_TRY_GOTO(compare_all(&r));
done:
    sr_graph_free(r.graph);
    sr_params_free(r.params);
    return status;
}

static SrStatus run(SrGoldenCase *c) {
    if (golden_tensor(c, "randperm"))
        SR_TRY(run_trunk(c, true, compare_dropping));
    return run_trunk(c, false, compare);
}

const SrGolden sr_golden_trunk = {
    .prefixes = {"trunk_"},
    .run = run,
};
