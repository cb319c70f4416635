// Every trunk of the registry with its default options: names, stages, shared parameters over two
// resolutions, and plans of both modes that can be made.
#include "base/text.h"
#include "graph/plan.h"
#include "tests/check.h"
#include "trunks/feature_extractor.h"
#include "trunks/trunk.h"

typedef struct {
    SrArena arena;
    SrParams *params;
    SrGraph *graph;
    SrBuilder *b;
    void *options;
} Built;

static void start(Built *t, const SrTrunk *trunk) {
    *t = (Built){.params = NULL};
    t->options = sr_arena_alloc(&t->arena, trunk->params_bytes + 1);
    CHECK_OK(sr_options_parse(trunk->options, NULL, trunk->subtree, &t->arena, t->options));
    CHECK_OK(sr_params_new(&t->params));
    CHECK_OK(sr_graph_new(t->params, &t->graph));
    CHECK_OK(sr_builder_new(t->graph, &t->b));
    sr_builder_set_param_prefix(t->b, trunk->param_prefix);
}

static SrNodeId add(Built *t, const SrTrunk *trunk, int pass, int size) {
    SrNodeId y = SR_NO_NODE;
    char name[16];
    snprintf(name, sizeof name, "x%d", pass);
    SrNodeId x = sr_build_input(t->b, name, SR_SHAPE(2, size, size, 3), SR_F32);
    sr_builder_set_pass(t->b, pass);
    CHECK_OK(trunk->build(t->b, t->options, x, &y));
    CHECK_OK(sr_builder_status(t->b));
    return y;
}

static void finish(Built *t) {
    sr_builder_free(t->b);
    sr_graph_free(t->graph);
    sr_params_free(t->params);
    sr_arena_deinit(&t->arena);
}

// A trunk without parameters (pixels) costs nothing that is counted.
static void check_plans(Built *t, SrNodeId y) {
    static const SrMode modes[] = {SR_MODE_TRAIN, SR_MODE_EVAL};
    for (int m = 0; m < SR_COUNT(modes); m++) {
        SrPlan *plan;
        SrPlanOptions options = {
            .mode = modes[m], .outputs = &y, .n_outputs = 1, .no_allocate = true};
        CHECK_OK(sr_plan_compile(t->graph, &options, &plan));
        CHECK(sr_plan_cost(plan).forward_flops > 0 || sr_params_count(t->params) == 0);
        sr_plan_free(plan);
    }
}

static void test_every_trunk(void **state) {
    (void)state;
    for (int i = 0; sr_trunk_at(i); i++) {
        const SrTrunk *trunk = sr_trunk_at(i);
        Built t;
        SrNodeId id;
        start(&t, trunk);
        CHECK(trunk->help && sr_text_starts(trunk->subtree, "MODEL.TRUNK."));
        SrNodeId y = add(&t, trunk, 0, 64);
        int count = sr_params_count(t.params);
        for (int k = 0; k < count; k++)
            CHECK(sr_text_starts(sr_params_at(t.params, k)->name, trunk->param_prefix));
        CHECK(sr_graph_alias_count(t.graph) > 0);
        CHECK_OK(sr_feature_tap(t.graph, "flatten", &id));
        CHECK_INT(sr_graph_at(t.graph, id)->shape.rank, 2);
        add(&t, trunk, 1, 96);
        CHECK_INT(sr_params_count(t.params), count);
        CHECK_OK(sr_graph_check(t.graph));
        check_plans(&t, y);
        finish(&t);
    }
    CHECK(sr_trunk_at(-1) == NULL);
}

SR_TESTS(trunk, unit(test_every_trunk))
