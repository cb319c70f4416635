// Tests the trunk resnet: torchvision's node names and shapes (lists in tests/trunks/nodes),
// VISSL's stages, names and numbers of parameters, options that change the shape, and refusals.
#include "tests/check.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/yaml_load.h"
#include "graph/ir/builder.h"
#include "graph/ir/layer_name.h"
#include "trunks/trunk.h"

typedef struct {
    SrArena arena;
    SrParams *params;
    SrGraph *graph;
    SrNodeId last;
} Built;

static SrStatus build(Built *t, const char *options, int size) {
    const SrTrunk *trunk;
    SrYaml *map = NULL;
    SrBuilder *b;
    *t = (Built){0};
    CHECK_OK(sr_trunk_find("resnet", &trunk));
    CHECK_OK(sr_yaml_parse(&t->arena, options, strlen(options), "test", &map));
    void *params = sr_arena_alloc(&t->arena, trunk->params_bytes);
    SR_TRY(sr_options_parse(trunk->options, map, trunk->subtree, &t->arena, params));
    CHECK_OK(sr_params_new(&t->params));
    CHECK_OK(sr_graph_new(t->params, &t->graph));
    CHECK_OK(sr_builder_new(t->graph, &b));
    SrNodeId x = sr_build_input(b, "x", SR_SHAPE(2, size, size, 3), SR_F32);
    sr_builder_set_param_prefix(b, sr_trunk_param_prefix(trunk));
    SrTrunkOutput out;
    SrStatus status =
        sr_trunk_build(trunk, b, params, &(SrTrunkInput){.image = x, .mask = SR_NO_NODE}, &out);
    t->last = out.pooled;
    if (status == SR_OK)
        CHECK_OK(sr_builder_status(b));
    sr_builder_free(b);
    return status;
}

static void deinit(Built *t) {
    sr_graph_free(t->graph);
    sr_params_free(t->params);
    sr_arena_deinit(&t->arena);
}

// Compares a line such as "layer1.0.conv1 [2, 64, 16, 16]", in NCHW, with a node in NHWC.
static void check_line(const char *line, const SrNode *node) {
    char name[128];
    int n, c = 0, h = 0, w = 0;
    int fields = sscanf(line, "%127s [%d, %d, %d, %d]", name, &n, &c, &h, &w) - 1;
    SrShape expected = fields == 4 ? SR_SHAPE(n, h, w, c) : SR_SHAPE(n, c);
    char a[SR_SHAPE_TEXT_BYTES], b[SR_SHAPE_TEXT_BYTES];
    CHECK_STR(node->name, name);
    CHECK_STR(sr_shape_text(node->shape, a, sizeof a), sr_shape_text(expected, b, sizeof b));
}

static void check_nodes(const char *list, const char *options) {
    Built t;
    char path[128], *text, *save = NULL;
    size_t bytes;
    CHECK_OK(build(&t, options, 64));
    snprintf(path, sizeof path, "tests/trunks/nodes/%s.txt", list);
    CHECK_OK(sr_file_read(path, 1 << 20, &text, &bytes));
    int i = 0;
    // The lists end with torchvision's classifier, which belongs to a head here.
    for (char *line = strtok_r(text, "\n", &save); line && !sr_text_starts(line, "fc ");
         line = strtok_r(NULL, "\n", &save)) {
        CHECK(i < sr_graph_count(t.graph));
        check_line(line, sr_graph_at(t.graph, i++));
    }
    CHECK_INT(i, sr_graph_count(t.graph));
    sr_free(text);
    deinit(&t);
}

TEST(test_nodes) {
    check_nodes("resnet18", "{DEPTH: 18}");
    check_nodes("resnet50", "{DEPTH: 50}");
    check_nodes("resnext50_32x4d", "{DEPTH: 50, GROUPS: 32, WIDTH_PER_GROUP: 4}");
    check_nodes("wide_resnet50_2", "{DEPTH: 50, WIDTH_PER_GROUP: 128}");
}

TEST(test_stages) {
    static const char *const stages[][2] = {{"conv1", "relu"},
                                            {"res1", "maxpool"},
                                            {"res2", "layer1.1.relu_1"},
                                            {"res3", "layer2.1.relu_1"},
                                            {"res4", "layer3.1.relu_1"},
                                            {"res5", "layer4.1.relu_1"},
                                            {"res5avg", "avgpool"},
                                            {"flatten", "flatten"},
                                            {"layer2", "layer2.1.relu_1"},
                                            {"layer2.0.bn1", "layer2.0.bn1"}};
    Built t;
    SrNodeId id;
    CHECK_OK(build(&t, "{DEPTH: 18}", 64));
    for (int i = 0; i < SR_COUNT(stages); i++) {
        CHECK_OK(sr_layer_node(t.graph, stages[i][0], SR_NAMES_STAGES, &id));
        CHECK_STR(sr_graph_at(t.graph, id)->name, stages[i][1]);
    }
    CHECK_FAILS(sr_layer_node(t.graph, "res6", SR_NAMES_STAGES, &id), SR_ERR_CONFIG, "res");
    CHECK_STR(sr_graph_at(t.graph, t.last)->name, "flatten");
    deinit(&t);
}

// Numbers of parameters are torchvision's without the classifier: 11,689,512 - 513,000 and so on.
TEST(test_parameters) {
    static const struct {
        const char *options;
        int64_t numbers;
    } rows[] = {{"{DEPTH: 10}", 4905792},
                {"{DEPTH: 18}", 11176512},
                {"{DEPTH: 34}", 21284672},
                {"{DEPTH: 50}", 23508032},
                {"{DEPTH: 101}", 42500160},
                {"{DEPTH: 152}", 58143808},
                {"{DEPTH: 50, GROUPS: 32, WIDTH_PER_GROUP: 4}", 22979904}};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        Built t;
        CHECK_OK(build(&t, rows[i].options, 32));
        CHECK_INT(sr_params_numbers(t.params, true), rows[i].numbers);
        CHECK(sr_params_find(t.params, "_feature_blocks.layer1.0.conv1.weight") >= 0);
        CHECK(sr_params_find(t.params, "_feature_blocks.layer2.0.downsample.1.running_var") >= 0);
        CHECK(sr_params_find(t.params, "_feature_blocks.bn1.num_batches_tracked") >= 0);
        deinit(&t);
    }
}

static void check_last(const char *options, int size, const char *layer, SrShape expected) {
    Built t;
    SrNodeId id;
    char a[SR_SHAPE_TEXT_BYTES], b[SR_SHAPE_TEXT_BYTES];
    CHECK_OK(build(&t, options, size));
    CHECK_OK(sr_layer_node(t.graph, layer, SR_NAMES_STAGES, &id));
    CHECK_STR(sr_shape_text(sr_graph_at(t.graph, id)->shape, a, sizeof a),
              sr_shape_text(expected, b, sizeof b));
    deinit(&t);
}

TEST(test_options) {
    check_last("{DEPTH: 18, LAYER4_STRIDE: 1}", 64, "res5", SR_SHAPE(2, 4, 4, 512));
    check_last("{DEPTH: 18, WIDTH_MULTIPLIER: 0.0625}", 64, "res5", SR_SHAPE(2, 2, 2, 32));
    check_last("{DEPTH: 50, WIDTH_MULTIPLIER: 2}", 64, "flatten", SR_SHAPE(2, 4096));
    check_last("{DEPTH: 18, SMALL_IMAGE_STEM: true}", 32, "res1", SR_SHAPE(2, 32, 32, 64));
    check_last("{DEPTH: 18, SMALL_IMAGE_STEM: true}", 32, "res5", SR_SHAPE(2, 4, 4, 512));
    check_last("{DEPTH: 200, WIDTH_MULTIPLIER: 0.125}", 64, "res4", SR_SHAPE(2, 4, 4, 128));
}

TEST(test_norms) {
    Built t;
    SrNodeId id;
    CHECK_OK(build(&t, "{DEPTH: 18, NORM: LayerNorm}", 32));
    CHECK_OK(sr_layer_node(t.graph, "bn1", SR_NAMES_NODES, &id));
    CHECK_STR(sr_graph_at(t.graph, id)->op->name, "group_norm");
    CHECK_INT(sr_params_find(t.params, "_feature_blocks.bn1.running_mean"), -1);
    deinit(&t);
    CHECK_FAILS(build(&t, "{DEPTH: 18, NORM: GroupNorm, GROUPNORM_GROUPS: 7}", 32), SR_ERR_CONFIG,
                "7");
    deinit(&t);
}

// Only the scale of the last norm in each block is zero.
TEST(test_zero_init_residual) {
    Built t;
    CHECK_OK(build(&t, "{DEPTH: 50, WIDTH_MULTIPLIER: 0.125, ZERO_INIT_RESIDUAL: true}", 32));
    CHECK_OK(sr_params_allocate(t.params));
    sr_params_init(t.params, 1);
    int zero = 0;
    for (int i = 0; i < sr_params_count(t.params); i++) {
        const SrParam *p = sr_params_at(t.params, i);
        if (p->role != SR_ROLE_NORM_WEIGHT)
            continue;
        bool last = sr_text_ends(p->name, "bn3.weight");
        CHECK_NEAR(((const float *)p->value)[0], last ? 0 : 1, 0);
        zero += last;
    }
    CHECK_INT(zero, 16);
    deinit(&t);
}

// Convolutions start with PyTorch's default: uniform within 1 / sqrt(fan_in).
TEST(test_initial_values) {
    Built t;
    CHECK_OK(build(&t, "{DEPTH: 18}", 32));
    CHECK_OK(sr_params_allocate(t.params));
    sr_params_init(t.params, 1);
    const SrParam *p =
        sr_params_at(t.params, sr_params_find(t.params, "_feature_blocks.layer3.1.conv2.weight"));
    const float *v = p->value; // (256, 256, 3, 3)
    double largest = 0, squares = 0, bound = 1 / sqrt(256 * 9.0);
    int64_t n = sr_shape_count(p->shape);
    for (int64_t i = 0; i < n; i++) {
        largest = SR_MAX(largest, fabs((double)v[i]));
        squares += (double)v[i] * v[i];
    }
    CHECK(largest <= bound && largest > 0.999 * bound);
    CHECK_NEAR(squares / (double)n, bound * bound / 3, 0.01 * bound * bound);
    deinit(&t);
}

TEST(test_refused) {
    static const char *const rows[][2] = {
        {"{DEPTH: 51}", "10, 18, 34, 50, 101, 152 or 200"},
        {"{DEPTH: 18, GROUPS: 2}", "GROUPS 1"},
        {"{DEPTH: 34, WIDTH_PER_GROUP: 32}", "WIDTH_PER_GROUP 64"},
        {"{LAYER4_STRIDE: 3}", "LAYER4_STRIDE"},
        {"{DEPHT: 18}", "DEPTH"},
        {"{NORM: InstanceNorm}", "NORM"},
        {"{DEPTH: 50, WIDTH_PER_GROUP: 1, WIDTH_MULTIPLIER: 0.25}", "inner channels"}};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        Built t;
        CHECK_FAILS(build(&t, rows[i][0], 32), SR_ERR_CONFIG, rows[i][1]);
        deinit(&t);
    }
    const SrTrunk *trunk;
    CHECK_FAILS(sr_trunk_find("resnett", &trunk), SR_ERR_CONFIG, "resnet");
}

SR_TESTS(resnet, unit(test_nodes), unit(test_stages), unit(test_parameters), unit(test_options),
         unit(test_norms), unit(test_zero_init_residual), unit(test_initial_values),
         unit(test_refused))
