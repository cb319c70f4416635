// Tests RegNets whose options lead to the narrowest blocks.
#include <string.h>

#include "base/text/yaml_load.h"
#include "tests/check.h"
#include "trunks/trunk.h"

// A multiplier that leaves less than one channel inside a block gives it one.
TEST(test_narrow_bottleneck) {
    const char *text = "{depth: 4, w_0: 8, w_a: 8, w_m: 2, group_width: 8, "
                       "bottleneck_multiplier: 0.01}";
    const SrTrunk *trunk;
    SrArena arena = SR_ARENA_INIT;
    SrYaml *map = NULL;
    SrParams *params;
    SrGraph *graph;
    SrBuilder *b;
    SrTrunkOutput out;
    CHECK_OK(sr_trunk_find("regnet", &trunk));
    void *options = sr_arena_alloc(&arena, trunk->params_bytes);
    CHECK_OK(sr_yaml_parse(&arena, text, strlen(text), "test", &map));
    CHECK_OK(sr_options_parse(trunk->options, map, trunk->subtree, &arena, options));
    CHECK_OK(sr_params_new(&params));
    CHECK_OK(sr_graph_new(params, &graph));
    CHECK_OK(sr_builder_new(graph, &b));
    SrNodeId x = sr_build_input(b, "x", SR_SHAPE(2, 32, 32, 3), SR_F32);
    CHECK_OK(
        sr_trunk_build(trunk, b, options, &(SrTrunkInput){.image = x, .mask = SR_NO_NODE}, &out));
    sr_builder_free(b);
    sr_graph_free(graph);
    sr_params_free(params);
    sr_arena_deinit(&arena);
}

SR_TESTS(regnet, unit(test_narrow_bottleneck))
