// Tests use cases of models with several inputs and outputs: which outputs exist and what learns.
// For each the gradients of sum(output * cotangent) agree with finite differences of the graph in
// double precision.
#include "tests/check.h"

#include "base/text/yaml_load.h"
#include "data/collator.h"
#include "tests/graph/gradients.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/config/config_internal.h"
#include "trainer/config/vissl/schema.h"

#define REST                                                                                       \
    "\nLOSS: {name: swav_loss}\nDATA: {TRAIN: {COLLATE_FUNCTION: multicrop_collator, TRANSFORMS: " \
    "[{name: ImgPilToMultiCrop, total_num_crops: 2, num_crops: [2]}]}}\n"
#define FEAT "FEATURE_EVAL_SETTINGS: "
#define TWO_LAYERS                                                            \
    "LINEAR_EVAL_FEAT_POOL_OPS_MAP: [[res3, [AdaptiveAvgPool2d, [[2, 1]]]], " \
    "[res2, [MaxPool2d, [4, 4]]]]"
#define TWO_MLPS "PARAMS: [[mlp, {dims: [32, 3], use_relu: true}], [mlp, {dims: [32, 2]}]]"

enum { BATCH = 6 };

typedef struct {
    SrConfig *config;
    SrModel *model;
    SrOutputGraph g;
    SrPlan *plan;
    const SrBatchPlan *batch; // batch of a collator that names its inputs; NULL: views in order
} Case;

// The model has no loss here, so checks of a loss on its heads must pass: the configuration is
// one that SwAV accepts, and the case's map MODEL is merged over it afterwards.
static SrStatus configure(Case *t, const SrYaml *model) {
    static const char plain[] = "MODEL: {" TINY_TRUNK ", " TINY_SWAV_HEAD "}" REST;
    CHECK_OK(sr_config_parse(plain, "plain.yaml", NULL, 0, &t->config));
    CHECK_OK(sr_yaml_merge(&t->config->arena, sr_yaml_find(t->config->tree, "MODEL"), model));
    return sr__config_read(t->config, NULL);
}

static SrStatus build(Case *t, int n_views, const int *sizes) {
    SR_TRY(sr_model_new(t->config, &t->model));
    sr_model_set_batch(t->model, t->batch);
    return sr_model_build_outputs(t->model, BATCH, n_views, sizes, sizes, &t->g);
}

// Opens a case. model: the content of MODEL: {}. names: DATA.TRAIN.INPUT_KEY_NAMES.
static SrStatus open_with(Case *t, const char *model, SrStrings names, const SrBatchPlan *batch,
                          int n_views, const int *sizes) {
    char text[1024];
    SrArena arena = SR_ARENA_INIT;
    SrYaml *given;
    *t = (Case){.batch = batch};
    snprintf(text, sizeof text, "{%s}", model);
    CHECK_OK(sr_yaml_parse(&arena, text, strlen(text), "case.yaml", &given));
    SrStatus status = configure(t, given);
    sr_arena_deinit(&arena);
    SR_TRY(status);
    t->config->train.input_keys = names;
    return build(t, n_views, sizes);
}

static SrStatus open_named(Case *t, const char *model, SrStrings names, int n_views,
                           const int *sizes) {
    return open_with(t, model, names, NULL, n_views, sizes);
}

static SrStatus open_case(Case *t, const char *model, int n_views, const int *sizes) {
    static const char *const data = "data";
    return open_named(t, model, (SrStrings){1, &data}, n_views, sizes);
}

static void close_case(Case *t) {
    sr_plan_free(t->plan);
    sr_model_free(t->model);
    sr_config_free(t->config);
}

static GradientCheck check_of(Case *t) {
    return (GradientCheck){.graph = t->g.graph,
                           .params = sr_model_params(t->model),
                           .plan = t->plan,
                           .inputs = t->g.views,
                           .n_inputs = t->g.n_views,
                           .outputs = t->g.outputs,
                           .n_outputs = t->g.n_outputs};
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
    GradientCheck c = check_of(t);
    gradients_fill(&c);
}

// Checks the gradient of every trainable parameter; returns how many there are.
static int check_gradients(Case *t) {
    GradientCheck c = check_of(t);
    return gradients_check(&c);
}

static const SrParam *param(Case *t, const char *name) {
    SrParams *params = sr_model_params(t->model);
    int i = sr_params_find(params, name);
    if (i < 0)
        fail_msg("no parameter %s", name);
    return sr_params_at(params, i);
}

static SrShape shape(Case *t, int i) { return sr_graph_at(t->g.graph, t->g.outputs[i])->shape; }

static int64_t counter(Case *t, const char *module) {
    char name[128];
    snprintf(name, sizeof name, "%s.num_batches_tracked", module);
    return *(const int64_t *)param(t, name)->value;
}

static const int one[] = {8}, two[] = {8, 12};

// ---- the files of configs/examples

// Opens the composed MODEL of an example with views of `sizes`: 16 pixels would take four times
// as long as 8.
static void open_example(Case *t, const char *name, int n_views, const int *sizes) {
    char path[128];
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree;
    *t = (Case){.plan = NULL};
    snprintf(path, sizeof path, "configs/examples/%s.yaml", name);
    CHECK_OK(sr_config_compose(path, NULL, 0, &arena, &tree));
    CHECK_OK(configure(t, sr_yaml_find(tree, "MODEL")));
    sr_arena_deinit(&arena);
    CHECK_OK(build(t, n_views, sizes));
}

// Checks outputs (rows, width) and the number of trainable parameters: a ResNet-18 has 20
// convolutions and 20 batch norms with two each, 60 in all.
TEST(test_examples) {
    static const struct {
        const char *name;
        int n_views, n_outputs, rows[3], widths[3], trained;
    } rows[] = {{"single_output", 1, 1, {BATCH}, {4}, 62},
                {"head_chain", 1, 1, {BATCH}, {4}, 60 + 6 + 2},
                {"several_heads", 1, 2, {BATCH, BATCH}, {4, 2}, 60 + 6 + 2},
                {"several_layers", 1, 3, {BATCH, BATCH, BATCH}, {4, 4, 4}, 60 + 12},
                {"chain_and_head", 1, 2, {BATCH, BATCH}, {4, 4}, 60 + 6},
                {"several_inputs", 2, 2, {BATCH, BATCH}, {4, 4}, 60 + 6},
                {"several_resolutions", 2, 2, {2 * BATCH, 2 * BATCH}, {8, 6}, 60 + 7},
                {"frozen_trunk", 1, 2, {BATCH, BATCH}, {4, 4}, 8},
                {"frozen_head", 1, 1, {BATCH}, {4}, 60},
                {"frozen_trunk_and_head", 1, 1, {BATCH}, {4}, 0}};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        Case t;
        // The pooling of frozen_trunk, 4 x 4 on res3, needs the 16 pixels of its file.
        static const int full[] = {16};
        open_example(&t, rows[i].name, rows[i].n_views,
                     strcmp(rows[i].name, "frozen_trunk") ? two : full);
        CHECK_INT(t.g.n_outputs, rows[i].n_outputs);
        for (int k = 0; k < t.g.n_outputs; k++)
            CHECK(sr_shape_equal(shape(&t, k), SR_SHAPE(rows[i].rows[k], rows[i].widths[k])));
        start(&t);
        CHECK_INT(check_gradients(&t), rows[i].trained);
        close_case(&t);
    }
}

// ---- properties that the numbers above do not show

// Layers after the last feature are not built.
TEST(test_several_layers) {
    Case t;
    open_example(&t, "several_layers", 1, one);
    start(&t);
    check_gradients(&t);
    CHECK_INT(counter(&t, "trunk._feature_blocks.layer3.1.bn2"), 1);
    CHECK_INT(counter(&t, "trunk._feature_blocks.layer4.0.bn1"), 0);
    close_case(&t);
}

// The trunk is in evaluation mode, the heads in training mode.
TEST(test_frozen_trunk) {
    static const int full[] = {16};
    Case t;
    open_example(&t, "frozen_trunk", 1, full);
    start(&t);
    check_gradients(&t);
    CHECK(!param(&t, "trunk.base_model._feature_blocks.conv1.weight")->trainable);
    CHECK(param(&t, "heads.1.clf.clf.0.weight")->trainable);
    CHECK_INT(counter(&t, "trunk.base_model._feature_blocks.bn1"), 0);
    CHECK_INT(counter(&t, "heads.0.channel_bn"), 1);
    close_case(&t);
}

// A model that is fully frozen changes neither statistics nor weights.
TEST(test_frozen_trunk_and_head) {
    Case t;
    open_example(&t, "frozen_trunk_and_head", 1, one);
    start(&t);
    check_gradients(&t);
    CHECK_INT(sr_params_numbers(sr_model_params(t.model), true), 0);
    CHECK_INT(counter(&t, "trunk._feature_blocks.bn1"), 0);
    CHECK_INT(sr_plan_cost(t.plan).n_backward, 0);
    close_case(&t);
}

TEST(test_chain_must_fit) {
    Case t;
    CHECK_FAILS(open_case(&t, "HEAD: {" TWO_MLPS "}", 1, one), SR_ERR_CONFIG,
                "dims starts with 32, but its input has 3");
    close_case(&t);
}

TEST(test_features_only) {
    Case t;
    CHECK_OK(open_case(&t,
                       FEAT "{EVAL_MODE_ON: true, FREEZE_TRUNK_ONLY: true, "
                            "EXTRACT_TRUNK_FEATURES_ONLY: true, " TWO_LAYERS "}",
                       1, one));
    CHECK_INT(t.g.n_outputs, 2);
    CHECK(sr_shape_equal(shape(&t, 0), SR_SHAPE(BATCH, 16))); // the feature is flattened
    CHECK(sr_shape_equal(shape(&t, 1), SR_SHAPE(BATCH, 16)));
    close_case(&t);
}

#define MAPPED_HEADS                                                     \
    ", HEAD: {PARAMS: [[mlp, {dims: [32, 3]}], [[mlp, {dims: [8, 4]}], " \
    "[siamese_concat_view, {num_towers: 2}]]]}"

// The siamese towers are concatenated after the first module of the head; running statistics see
// each input separately.
TEST(test_several_inputs) {
    Case t;
    CHECK_OK(open_case(&t,
                       "MULTI_INPUT_HEAD_MAPPING: [[patches, {feat_names: [res5avg], "
                       "head_index: 0}], [images, [flatten]]], HEAD: {PARAMS: [[mlp, {dims: "
                       "[32, 3]}], [[mlp, {dims: [32, 4]}], [siamese_concat_view, "
                       "{num_towers: 2}]]]}",
                       2, two));
    CHECK_INT(t.g.n_outputs, 2);
    CHECK(sr_shape_equal(shape(&t, 0), SR_SHAPE(BATCH, 3)));
    CHECK(sr_shape_equal(shape(&t, 1), SR_SHAPE(BATCH / 2, 8)));
    start(&t);
    check_gradients(&t);
    CHECK_INT(counter(&t, "trunk._feature_blocks.bn1"), 2);
    close_case(&t);
    // One head serves both inputs: its parameters are shared.
    CHECK_OK(open_case(&t,
                       "MULTI_INPUT_HEAD_MAPPING: [[a, [flatten]], [b, [flatten]]], "
                       "HEAD: {PARAMS: [[mlp, {dims: [32, 3]}]]}",
                       2, two));
    CHECK_INT(t.g.n_outputs, 2);
    start(&t);
    CHECK_INT(check_gradients(&t), 62);
    close_case(&t);
}

// Names say which view an input is. Without names the first view is the first input of the
// mapping.
TEST(test_named_inputs) {
    static const char *const turned[] = {"patches", "images", "unused"},
                             *const other[] = {"a", "image"}, *const twice[] = {"images", "images"};
    static const char mapped[] =
        "MULTI_INPUT_HEAD_MAPPING: [[images, [flatten]], [patches, [res2]]], HEAD: {PARAMS: "
        "[[mlp, {dims: [32, 3]}], [siamese_concat_view, {num_towers: 1}]]}";
    Case t;
    CHECK_OK(open_named(&t, mapped, (SrStrings){2, turned}, 2, two));
    CHECK(sr_shape_equal(shape(&t, 0), SR_SHAPE(BATCH, 3)));
    CHECK(sr_shape_equal(shape(&t, 1),
                         SR_SHAPE(BATCH, 4 * two[0] * two[0]))); // patches are the first view
    start(&t);
    CHECK_INT(check_gradients(&t), 60 + 2);
    close_case(&t);
    static const int sizes[] = {8, 12, 16};
    // The third view has no head.
    CHECK_OK(open_named(&t, mapped, (SrStrings){3, turned}, 3, sizes));
    CHECK_INT(t.g.n_outputs, 2);
    close_case(&t);
    CHECK_FAILS(open_named(&t, mapped, (SrStrings){2, other}, 2, two), SR_ERR_CONFIG,
                "MULTI_INPUT_HEAD_MAPPING[0] (DATA.TRAIN.INPUT_KEY_NAMES): unknown input 'images'; "
                "did you mean");
    close_case(&t);
    CHECK_FAILS(open_named(&t, mapped, (SrStrings){2, twice}, 2, two), SR_ERR_CONFIG,
                "'images' is named twice");
    close_case(&t);
    CHECK_FAILS(open_named(&t, mapped, (SrStrings){2, turned}, 1, two), SR_ERR_CONFIG,
                "has 2 names (the first is");
    close_case(&t);
    CHECK_FAILS(open_named(&t, "CUDA_CACHE: {}", (SrStrings){2, turned}, 2, two), SR_ERR_CONFIG,
                "MODEL.MULTI_INPUT_HEAD_MAPPING says which head takes which");
    close_case(&t);
}

// Returns the batch that patch_and_image_collator makes: a crop and a patch of the sizes `two`.
static SrBatchPlan images_and_patches(void) {
    return (SrBatchPlan){.n_views = 2,
                         .n_inputs = 2,
                         .input = {{"images", two[0], two[0], 1}, {"patches", two[1], two[1], 1}}};
}

// Inputs that a collator names are matched by name: the order of INPUT_KEY_NAMES does not matter,
// as in VISSL.
TEST(test_inputs_named_by_the_collator) {
    static const char mapped[] =
        "MULTI_INPUT_HEAD_MAPPING: [[patches, [res2]], [images, [flatten]]], HEAD: {PARAMS: "
        "[[siamese_concat_view, {num_towers: 1}], [mlp, {dims: [32, 3]}]]}";
    static const char *const orders[2][2] = {{"patches", "images"}, {"images", "patches"}},
                             *const wrong[] = {"images", "pathces"};
    SrBatchPlan batch = images_and_patches();
    Case t;
    for (int i = 0; i < 2; i++) {
        CHECK_OK(open_with(&t, mapped, (SrStrings){2, orders[i]}, &batch, 2, two));
        CHECK(sr_shape_equal(shape(&t, 0), SR_SHAPE(BATCH, 4 * two[1] * two[1])));
        CHECK(sr_shape_equal(shape(&t, 1), SR_SHAPE(BATCH, 3)));
        close_case(&t);
    }
    static const char single[] = "MULTI_INPUT_HEAD_MAPPING: [[images, [flatten]]], HEAD: {PARAMS: "
                                 "[[mlp, {dims: [32, 3]}]]}";
    CHECK_FAILS(open_with(&t, single, (SrStrings){2, wrong}, &batch, 2, two), SR_ERR_CONFIG,
                "DATA.TRAIN.INPUT_KEY_NAMES[1]: unknown input of the collator 'pathces'; did you "
                "mean 'patches'");
    close_case(&t);
}

TEST(test_refused) {
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
        {"MULTI_INPUT_HEAD_MAPPING: [[a, [flatten]], [b, {feat_names: [res3], head_index: "
         "2}]]" MAPPED_HEADS,
         2, "head_index must be 0 .. 1"},
        {"MULTI_INPUT_HEAD_MAPPING: [[a, [flatten]], [b, {feat_name: [res3]}]]" MAPPED_HEADS, 2,
         "unknown key 'feat_name'"},
        {"MULTI_INPUT_HEAD_MAPPING: [[a, {feat_names: [flatten], additional_keys: "
         "[depth]}]]" MAPPED_HEADS,
         1, "MULTI_INPUT_HEAD_MAPPING[0]: additional_keys: unknown key 'depth'; known: mask"},
        {"MULTI_INPUT_HEAD_MAPPING: [[a, [flatten]], [b, [res9]]]" MAPPED_HEADS, 2,
         "MODEL.MULTI_INPUT_HEAD_MAPPING: there is no layer 'res9'; did you mean 'res1'"},
        {"MULTI_INPUT_HEAD_MAPPING: [[a, [flatten]], [b, [res3, res4]]]" MAPPED_HEADS, 2,
         "2 features for one head"},
        {"MULTI_INPUT_HEAD_MAPPING: [[a, [flatten]], [b, [res3]]]" MAPPED_HEADS, 1,
         "has 2 inputs (the first is 'a'), but the batch has 1"},
        {"MULTI_INPUT_HEAD_MAPPING: [[a, [flatten]], [b, [res3]]]" MAPPED_HEADS ", " FEAT
         "{" TWO_LAYERS "}",
         2, "empty one of them"},
        {"HEAD: {PARAMS: [[mlp, {dims: [32, 3]}]]}, " FEAT "{" TWO_LAYERS "}", 1,
         "MODEL.HEAD.PARAMS has 1 heads"},
        {FEAT "{LINEAR_EVAL_FEAT_POOL_OPS_MAP: [[res3, [AvgPool, [2]]]]}", 1,
         "LINEAR_EVAL_FEAT_POOL_OPS_MAP[0]: unknown pooling 'AvgPool'; did you mean 'AvgPool2d'"},
        {"NON_TRAINABLE_PARAMS: [heads.0.prototypes0.weigth]", 1,
         "MODEL.NON_TRAINABLE_PARAMS: no parameter has the name 'heads.0.prototypes0.weigth'; did "
         "you mean 'heads.0.prototypes0.weight'?"},
        {FEAT "{LINEAR_EVAL_FEAT_POOL_OPS_MAP: [[res3, [AvgPool2d]]]}", 1, "takes [kernel"},
        {FEAT "{LINEAR_EVAL_FEAT_POOL_OPS_MAP: [[res3, Identity]]}", 1, "expected [layer"},
        {FEAT "{LINEAR_EVAL_FEAT_POOL_OPS_MAP: [[rse3, [Identity, []]]]}", 1,
         "LINEAR_EVAL_FEAT_POOL_OPS_MAP: there is no layer 'rse3'; did you mean 'res"}};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        Case t;
        CHECK_FAILS(open_case(&t, rows[i].model, rows[i].views, two), SR_ERR_CONFIG, rows[i].text);
        close_case(&t);
    }
}

SR_TESTS(use_cases, unit(test_examples), unit(test_several_layers), unit(test_frozen_trunk),
         unit(test_frozen_trunk_and_head), unit(test_chain_must_fit), unit(test_features_only),
         unit(test_several_inputs), unit(test_named_inputs),
         unit(test_inputs_named_by_the_collator), unit(test_refused))
