// The use cases of the multi-input, multi-output model (spec 2.10 to 2.12 and 4): which outputs
// there are, what learns, and for each the gradients of sum(output * cotangent) against finite
// differences of the graph in double precision.
#include "tests/check.h"

#include "tests/graph/toy.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/schema.h"

#define REST \
    "\nLOSS: {name: swav_loss}\nDATA: {TRAIN: {COLLATE_FUNCTION: multicrop_collator, TRANSFORMS: " \
    "[{name: ImgPilToMultiCrop, total_num_crops: 2, num_crops: [2]}]}}\n"
#define FEAT "FEATURE_EVAL_SETTINGS: "
#define TWO_LAYERS "LINEAR_EVAL_FEAT_POOL_OPS_MAP: [[res3, [AdaptiveAvgPool2d, [[2, 1]]]], " \
                   "[res2, [MaxPool2d, [4, 4]]]]"
#define TWO_PROBES "HEAD: {PARAMS: [[eval_mlp, {in_channels: 8, dims: [16, 3]}], " \
                   "[eval_mlp, {in_channels: 4, dims: [16, 2]}]]}"
#define TWO_MLPS "PARAMS: [[mlp, {dims: [32, 3], use_relu: true}], [mlp, {dims: [32, 2]}]]"
#define LINEAR_EVAL FEAT "{EVAL_MODE_ON: true, FREEZE_TRUNK_ONLY: true, SHOULD_FLATTEN_FEATS: " \
                         "false, " TWO_LAYERS "}"

enum { BATCH = 6 };

typedef struct {
    SrConfig *config;
    SrModel *model;
    SrOutputGraph g;
    SrPlan *plan;
} Case;

// The model stands without its loss here, so what a loss demands of the heads is passed by: a
// configuration that SwAV accepts, then the case's own keys over it.
static SrStatus configure(Case *t, const char *model) {
    static const char plain[] = "MODEL: {" TINY_TRUNK ", " TINY_SWAV_HEAD "}" REST;
    char text[1024];
    SrYaml *given;
    CHECK_OK(sr_config_parse(plain, "plain.yaml", NULL, 0, &t->config));
    SrArena *arena = &t->config->arena;
    snprintf(text, sizeof text, "{%s}", model);
    CHECK_OK(sr_yaml_parse(arena, text, strlen(text), "case.yaml", &given));
    CHECK_OK(sr_yaml_merge(arena, sr_yaml_find(t->config->tree, "MODEL"), given));
    return sr__config_read(t->config);
}

static SrStatus open_case(Case *t, const char *model, int n_views, const int *sizes) {
    *t = (Case){.plan = NULL};
    SR_TRY(configure(t, model));
    SR_TRY(sr_model_new(t->config, &t->model));
    return sr_model_build_outputs(t->model, BATCH, n_views, sizes, sizes, &t->g);
}

static void close_case(Case *t) {
    sr_plan_free(t->plan);
    sr_model_free(t->model);
    sr_config_free(t->config);
}

static void start(Case *t) {
    SrParams *params = sr_model_params(t->model);
    CHECK_OK(sr_params_allocate(params));
    sr_params_init(params, 5);
    SrPlanOptions options = {.mode = SR_MODE_TRAIN,
                             .outputs = t->g.outputs,
                             .n_outputs = t->g.n_outputs,
                             .losses = t->g.outputs,
                             .n_losses = t->g.n_outputs};
    CHECK_OK(sr_plan_compile(t->g.graph, &options, &t->plan));
    for (int v = 0; v < t->g.n_views; v++) {
        SrTensor x = sr_plan_input(t->plan, t->g.views[v]);
        toy_fill(x.data, sr_shape_count(x.shape), (uint64_t)v);
    }
    for (int i = 0; i < t->g.n_outputs; i++)
        toy_fill(sr_plan_seed(t->plan, t->g.outputs[i]),
                 sr_shape_count(sr_graph_at(t->g.graph, t->g.outputs[i])->shape), 100 + (uint64_t)i);
}

static double objective(Case *t, ToyRun *run) {
    double sum = 0;
    toy_run(run);
    for (int i = 0; i < t->g.n_outputs; i++) {
        SrNodeId id = t->g.outputs[i];
        const float *cot = sr_plan_seed(t->plan, id);
        for (int64_t k = 0; k < sr_shape_count(sr_graph_at(t->g.graph, id)->shape); k++)
            sum += run->value[id][k] * (double)cot[k];
    }
    return sum;
}

// One number of a parameter, by central differences.
static double slope(Case *t, ToyRun *run, int param, int64_t k) {
    double *w = &run->param[param][k], kept = *w, h = 1e-6;
    *w = kept + h;
    double above = objective(t, run);
    *w = kept - h;
    double below = objective(t, run);
    *w = kept;
    return (above - below) / (2 * h);
}

// Every parameter of the heads and every seventh of the trunk, at one place each.
static void check_gradients(Case *t) {
    SrParams *params = sr_model_params(t->model);
    ToyRun *run = toy_run_new(t->g.graph, SR_MODE_TRAIN);
    int checked = 0;
    for (int v = 0; v < t->g.n_views; v++)
        toy_run_input(run, t->g.views[v], sr_plan_input(t->plan, t->g.views[v]).data);
    sr_params_zero_grad(params);
    sr_plan_forward(t->plan, 0);
    sr_plan_backward(t->plan);
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        bool head = !strncmp(p->name, "heads.", 6);
        if (!p->trainable || (!head && i % 7))
            continue;
        int64_t n = sr_shape_count(p->shape), k = n / 2;
        double largest = 1e-3, expected = slope(t, run, i, k), got = (double)p->grad[k];
        for (int64_t j = 0; j < n; j++)
            largest = fmax(largest, fabs((double)p->grad[j]));
        if (!(fabs(got - expected) <= 2e-3 * largest))
            fail_msg("%s[%lld]: gradient %g, finite differences %g", p->name, (long long)k, got,
                     expected);
        checked++;
    }
    CHECK(checked > 0);
    toy_run_free(run);
}

static const SrParam *param(Case *t, const char *name) {
    SrParams *params = sr_model_params(t->model);
    int i = sr_params_find(params, name);
    if (i < 0)
        fail_msg("no parameter %s", name);
    return sr_params_at(params, i);
}

static SrShape shape(Case *t, int i) {
    return sr_graph_at(t->g.graph, t->g.outputs[i])->shape;
}

static const int one[] = {8}, two[] = {8, 12};

static void test_single_output(void **state) {
    (void)state;
    Case t;
    CHECK_OK(open_case(&t, "HEAD: {PARAMS: [[mlp, {dims: [32, 3]}]]}", 1, one));
    CHECK_INT(t.g.n_outputs, 1);
    start(&t);
    check_gradients(&t);
    close_case(&t);
}

static void test_several_resolutions(void **state) {
    (void)state;
    Case t;
    CHECK_OK(open_case(&t, "HEAD: {PARAMS: [[mlp, {dims: [32, 3]}]]}", 2, two));
    CHECK_INT(shape(&t, 0).d[0], 2 * BATCH);
    start(&t);
    check_gradients(&t);
    close_case(&t);
}

// A chain, as VISSL has it, and the same two heads side by side.
static void test_several_heads_on_one_feature(void **state) {
    (void)state;
    Case t;
    CHECK_FAILS(open_case(&t, "HEAD: {" TWO_MLPS "}", 1, one), SR_ERR_CONFIG,
                "dims starts with 32, but its input has 3");
    close_case(&t);
    CHECK_OK(open_case(&t, "HEAD: {PARAMS: [[mlp, {dims: [32, 5]}], [mlp, {dims: [5, 2]}]]}", 1,
                       one));
    CHECK_INT(t.g.n_outputs, 1);
    close_case(&t);
    CHECK_OK(open_case(&t, "HEAD: {PARALLEL: true, " TWO_MLPS "}", 1, one));
    CHECK_INT(t.g.n_outputs, 2);
    CHECK_INT(shape(&t, 0).d[1], 3);
    CHECK_INT(shape(&t, 1).d[1], 2);
    start(&t);
    check_gradients(&t);
    close_case(&t);
}

// Features in the order asked for, a head each; what lies behind the last one is left alone.
static void test_several_layers(void **state) {
    (void)state;
    Case t;
    CHECK_OK(open_case(&t, TWO_PROBES ", " FEAT "{SHOULD_FLATTEN_FEATS: false, " TWO_LAYERS "}", 1,
                       one));
    CHECK_INT(t.g.n_outputs, 2);
    CHECK_INT(shape(&t, 0).d[1], 3);
    start(&t);
    check_gradients(&t);
    const char *counter = "trunk._feature_blocks.layer2.0.bn1.num_batches_tracked";
    CHECK_INT(*(const int64_t *)param(&t, counter)->value, 1);
    counter = "trunk._feature_blocks.layer3.0.bn1.num_batches_tracked";
    CHECK_INT(*(const int64_t *)param(&t, counter)->value, 0);
    close_case(&t);
}

static void test_frozen_trunk(void **state) {
    (void)state;
    Case t;
    CHECK_OK(open_case(&t, TWO_PROBES ", " LINEAR_EVAL, 1, one));
    start(&t);
    check_gradients(&t);
    CHECK(!param(&t, "trunk.base_model._feature_blocks.conv1.weight")->trainable);
    CHECK(param(&t, "heads.1.clf.clf.0.weight")->trainable);
    const char *counter = "trunk.base_model._feature_blocks.bn1.num_batches_tracked";
    CHECK_INT(*(const int64_t *)param(&t, counter)->value, 0); // runs in evaluation
    CHECK_INT(*(const int64_t *)param(&t, "heads.0.channel_bn.num_batches_tracked")->value, 1);
    close_case(&t);
}

static void test_frozen_head_and_both(void **state) {
    (void)state;
    Case t;
    CHECK_OK(open_case(&t, "NON_TRAINABLE_PARAMS: [heads.*], HEAD: {PARAMS: [[mlp, {dims: [32, 3]}]]}",
                       1, one));
    CHECK(!param(&t, "heads.0.clf.0.weight")->trainable);
    start(&t);
    check_gradients(&t);
    close_case(&t);
    CHECK_OK(open_case(&t, "HEAD: {PARAMS: [[mlp, {dims: [32, 3]}]]}, " FEAT
                           "{EVAL_MODE_ON: true, FREEZE_TRUNK_AND_HEAD: true}", 1, one));
    CHECK_INT(sr_params_numbers(sr_model_params(t.model), true), 0);
    close_case(&t);
}

static void test_features_only(void **state) {
    (void)state;
    Case t;
    CHECK_OK(open_case(&t, FEAT "{EVAL_MODE_ON: true, FREEZE_TRUNK_ONLY: true, "
                                "EXTRACT_TRUNK_FEATURES_ONLY: true, " TWO_LAYERS "}", 1, one));
    CHECK_INT(t.g.n_outputs, 2);
    CHECK(sr_shape_equal(shape(&t, 0), SR_SHAPE(BATCH, 16))); // flattened
    CHECK(sr_shape_equal(shape(&t, 1), SR_SHAPE(BATCH, 16)));
    close_case(&t);
}

#define MAPPED_HEADS ", HEAD: {PARAMS: [[mlp, {dims: [32, 3]}], [[mlp, {dims: [8, 4]}], " \
                     "[siamese_concat_view, {num_towers: 2}]]]}"

// Two inputs of their own size, layer and head over one trunk; list and dict forms.
static void test_several_inputs(void **state) {
    (void)state;
    Case t;
    CHECK_OK(open_case(&t, "MULTI_INPUT_HEAD_MAPPING: [[patches, {feat_names: [res5avg], "
                           "head_index: 0}], [images, [flatten]]], HEAD: {PARAMS: [[mlp, {dims: "
                           "[32, 3]}], [[mlp, {dims: [32, 4]}], [siamese_concat_view, "
                           "{num_towers: 2}]]]}", 2, two));
    CHECK_INT(t.g.n_outputs, 2);
    CHECK(sr_shape_equal(shape(&t, 0), SR_SHAPE(BATCH, 3)));
    CHECK(sr_shape_equal(shape(&t, 1), SR_SHAPE(BATCH / 2, 8)));
    start(&t);
    check_gradients(&t);
    CHECK_INT(*(const int64_t *)param(&t, "trunk._feature_blocks.bn1.num_batches_tracked")->value,
              2);
    close_case(&t);
    // One head for both inputs: its parameters are shared.
    CHECK_OK(open_case(&t, "MULTI_INPUT_HEAD_MAPPING: [[a, [flatten]], [b, [flatten]]], "
                           "HEAD: {PARAMS: [[mlp, {dims: [32, 3]}]]}", 2, two));
    CHECK_INT(t.g.n_outputs, 2);
    start(&t);
    check_gradients(&t);
    close_case(&t);
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        const char *model;
        int views;
        const char *text;
    } rows[] = {
        {"MULTI_INPUT_HEAD_MAPPING: [[a, [flatten], 1]]" MAPPED_HEADS, 1,
         "MODEL.MULTI_INPUT_HEAD_MAPPING[0]: expected"},
        {"MULTI_INPUT_HEAD_MAPPING: [[a, [flatten]], [a, [res3]]]" MAPPED_HEADS, 2,
         "MODEL.MULTI_INPUT_HEAD_MAPPING[1]: the input 'a' is mapped twice"},
        {"MULTI_INPUT_HEAD_MAPPING: [[a, [flatten]]]" MAPPED_HEADS, 1,
         "no input uses MODEL.HEAD.PARAMS[1]"},
        {"MULTI_INPUT_HEAD_MAPPING: [[a, [flatten]], [b, {feat_names: [res3], head_index: 2}]]"
         MAPPED_HEADS, 2, "head_index must be 0 .. 1"},
        {"MULTI_INPUT_HEAD_MAPPING: [[a, [flatten]], [b, {feat_name: [res3]}]]" MAPPED_HEADS, 2,
         "unknown key 'feat_name'"},
        {"MULTI_INPUT_HEAD_MAPPING: [[a, [flatten]], [b, [res9]]]" MAPPED_HEADS, 2, "res"},
        {"MULTI_INPUT_HEAD_MAPPING: [[a, [flatten]], [b, [res3, res4]]]" MAPPED_HEADS, 2,
         "2 features for one head"},
        {"MULTI_INPUT_HEAD_MAPPING: [[a, [flatten]], [b, [res3]]]" MAPPED_HEADS, 1,
         "has 2 inputs (the first is 'a'), but the batch has 1"},
        {"MULTI_INPUT_HEAD_MAPPING: [[a, [flatten]], [b, [res3]]]" MAPPED_HEADS
         ", " FEAT "{" TWO_LAYERS "}", 2, "empty one of them"},
        {"HEAD: {PARAMS: [[mlp, {dims: [32, 3]}]]}, " FEAT "{" TWO_LAYERS "}", 1,
         "MODEL.HEAD.PARAMS has 1 heads"},
        {FEAT "{LINEAR_EVAL_FEAT_POOL_OPS_MAP: [[res3, [AvgPool, [2]]]]}", 1,
         "LINEAR_EVAL_FEAT_POOL_OPS_MAP[0]: there is no pooling 'AvgPool'"},
        {FEAT "{LINEAR_EVAL_FEAT_POOL_OPS_MAP: [[res3, [AvgPool2d]]]}", 1, "takes [kernel"},
        {FEAT "{LINEAR_EVAL_FEAT_POOL_OPS_MAP: [[res3, Identity]]}", 1, "expected [layer"},
        {FEAT "{LINEAR_EVAL_FEAT_POOL_OPS_MAP: [[rse3, [Identity, []]]]}", 1, "res3"}};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        Case t;
        CHECK_FAILS(open_case(&t, rows[i].model, rows[i].views, two), SR_ERR_CONFIG, rows[i].text);
        close_case(&t);
    }
}

static void test_contradictions(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"EXTRACT_TRUNK_FEATURES_ONLY: true", "needs a frozen trunk"},
        {"EXTRACT_TRUNK_FEATURES_ONLY: true, EVAL_MODE_ON: true, EVAL_TRUNK_AND_HEAD: true",
         "has no head"},
        {"FREEZE_TRUNK_ONLY: true, FREEZE_TRUNK_AND_HEAD: true", "exclude each other"}};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        char text[512];
        SrConfig *config = NULL;
        snprintf(text, sizeof text, "MODEL: {" TINY_TRUNK ", " TINY_SWAV_HEAD ", " FEAT
                 "{%s}}" REST, rows[i][0]);
        CHECK_FAILS(sr_config_parse(text, "case.yaml", NULL, 0, &config), SR_ERR_CONFIG, rows[i][1]);
        sr_config_free(config); // a failure left it NULL
    }
}

SR_TESTS(use_cases, unit(test_single_output), unit(test_several_resolutions),
         unit(test_several_heads_on_one_feature), unit(test_several_layers), unit(test_frozen_trunk),
         unit(test_frozen_head_and_both), unit(test_features_only), unit(test_several_inputs),
         unit(test_refused), unit(test_contradictions))
