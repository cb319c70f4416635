// Tests CIFAR's ResNets: names, shapes and numbers of parameters of the published nets (He et al.
// 2016, table 6: 0.27 M at 20 layers, 1.7 M at 110), stages, and depths that do not exist.
// tests/parity/resnet20.py compares outputs of trained weights.
#include "tests/check.h"

#include "base/text/text.h"
#include "base/text/yaml_load.h"
#include "graph/ir/builder.h"
#include "graph/ir/layer_name.h"
#include "trunks/presets.h"

typedef struct {
    SrParams *params;
    SrGraph *graph;
    SrNodeId last;
} Built;

static void build(Built *t, const char *preset, int size) {
    SrBuilder *b;
    CHECK_OK(sr_params_new(&t->params));
    CHECK_OK(sr_graph_new(t->params, &t->graph));
    CHECK_OK(sr_builder_new(t->graph, &b));
    SrNodeId x = sr_build_input(b, "x", SR_SHAPE(2, size, size, 3), SR_F32);
    const SrPreset *found;
    CHECK_OK(sr_preset_find(preset, &found));
    CHECK_OK(sr_preset_build(found, b, x, &t->last));
    sr_builder_free(b);
}

static void deinit(Built *t) {
    sr_graph_free(t->graph);
    sr_params_free(t->params);
}

static SrShape shape_of(const Built *t, const char *name) {
    SrNodeId id = sr_graph_find(t->graph, name);
    CHECK(id != SR_NO_NODE);
    return sr_graph_at(t->graph, id)->shape;
}

// Returns the number of learned values, without running statistics and counters.
static int64_t learned(const Built *t) {
    int64_t n = 0;
    for (int i = 0; i < sr_params_count(t->params); i++) {
        const SrParam *p = sr_params_at(t->params, i);
        n += p->kind == SR_SLOT_PARAM ? sr_shape_count(p->shape) : 0;
    }
    return n;
}

TEST(test_sizes) {
    static const struct {
        const char *preset;
        int64_t learned;
    } cases[] = {{"resnet20", 269722},
                 {"resnet32", 464154},
                 {"resnet44", 658586},
                 {"resnet56", 853018},
                 {"resnet110", 1727962}}; // published as 0.27 M to 1.7 M
    for (int i = 0; i < SR_COUNT(cases); i++) {
        Built t;
        build(&t, cases[i].preset, 32);
        CHECK_INT(learned(&t), cases[i].learned);
        deinit(&t);
    }
}

TEST(test_names) {
    Built t;
    SrNodeId id;
    build(&t, "resnet20", 33); // an odd size: x[::2] keeps the last pixel
    CHECK(sr_shape_equal(shape_of(&t, "layer1.2.relu_1"), SR_SHAPE(2, 33, 33, 16)));
    CHECK(sr_shape_equal(shape_of(&t, "layer2.0.shortcut.getitem"), SR_SHAPE(2, 17, 17, 16)));
    CHECK(sr_shape_equal(shape_of(&t, "layer2.0.shortcut.pad"), SR_SHAPE(2, 17, 17, 32)));
    CHECK(sr_shape_equal(shape_of(&t, "layer3.0.add"), SR_SHAPE(2, 9, 9, 64)));
    CHECK(sr_shape_equal(shape_of(&t, "view"), SR_SHAPE(2, 64)));
    CHECK(sr_shape_equal(shape_of(&t, "linear"), SR_SHAPE(2, 10)));
    CHECK_INT(sr_graph_find(t.graph, "layer1.0.shortcut.pad"), SR_NO_NODE);
    CHECK(sr_params_find(t.params, "layer3.2.bn2.running_var") >= 0);
    CHECK_OK(sr_layer_node(t.graph, "res4", SR_NAMES_STAGES, &id));
    CHECK_STR(sr_graph_at(t.graph, id)->name, "layer3.2.relu_1");
    deinit(&t);
}

TEST(test_depth) {
    const SrTrunk *trunk;
    SrArena arena = SR_ARENA_INIT;
    SrParams *params;
    SrGraph *graph;
    SrBuilder *b;
    SrYaml *map;
    SrTrunkOutput out;
    CHECK_OK(sr_trunk_find("resnet_cifar", &trunk));
    void *options = sr_arena_alloc(&arena, trunk->params_bytes);
    CHECK_OK(sr_yaml_parse(&arena, "{DEPTH: 21}", 11, "test", &map));
    CHECK_OK(sr_options_parse(trunk->options, map, trunk->subtree, &arena, options));
    CHECK_OK(sr_params_new(&params));
    CHECK_OK(sr_graph_new(params, &graph));
    CHECK_OK(sr_builder_new(graph, &b));
    SrNodeId x = sr_build_input(b, "x", SR_SHAPE(1, 32, 32, 3), SR_F32);
    CHECK_FAILS(
        sr_trunk_build(trunk, b, options, &(SrTrunkInput){.image = x, .mask = SR_NO_NODE}, &out),
        SR_ERR_CONFIG, "DEPTH is 21; expected 6 n + 2");
    sr_builder_free(b);
    sr_graph_free(graph);
    sr_params_free(params);
    sr_arena_deinit(&arena);
}

SR_TESTS(resnet_cifar, unit(test_sizes), unit(test_names), unit(test_depth))
