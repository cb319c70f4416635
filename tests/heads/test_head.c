// Every head of the registry builds on features, gives outputs with one row per image, can be
// differentiated, and keeps its entries under its scope. Arguments are the heads' own examples.
#include "tests/check.h"

#include "base/text/text.h"
#include "base/text/yaml_load.h"
#include "graph/plan/plan.h"
#include "graph/plan/plan_run.h"
#include "heads/head.h"

enum { ROWS = 4, CHANNELS = 8 };

static const SrHeadSettings settings = {.bn_eps = 1e-5, .bn_momentum = 0.1, .params_multiplier = 1};

typedef struct {
    SrArena arena;
    SrParams *params;
    SrGraph *graph;
    SrNodeId x, out[SR_HEAD_MAX_OUT];
    int n_out;
} Built;

static void build(Built *t, const SrHead *head, const SrHeadExample *example) {
    SrYaml *map = NULL;
    SrBuilder *b;
    *t = (Built){.n_out = 0};
    for (int i = 0; i < SR_HEAD_MAX_OUT; i++)
        t->out[i] = SR_NO_NODE;
    CHECK_OK(
        sr_yaml_parse(&t->arena, example->arguments, strlen(example->arguments), "test", &map));
    void *params = sr_arena_alloc(&t->arena, head->params_bytes + 1);
    CHECK_OK(sr_options_parse(head->options, map, head->name, &t->arena, params));
    CHECK_OK(sr_params_new(&t->params));
    CHECK_OK(sr_graph_new(t->params, &t->graph));
    CHECK_OK(sr_builder_new(t->graph, &b));
    // A sequence as long as the batch must keep one row per image.
    SrShape shape = example->tokens ? SR_SHAPE(ROWS, ROWS, CHANNELS) : SR_SHAPE(ROWS, CHANNELS);
    t->x = sr_build_input(b, "x", shape, SR_F32);
    sr_builder_push(b, "heads.0");
    CHECK_OK(head->build(b, params, &settings, &t->x, 1, t->out, &t->n_out));
    sr_builder_pop(b);
    CHECK_OK(sr_builder_status(b));
    sr_builder_free(b);
}

static void deinit(Built *t) {
    sr_graph_free(t->graph);
    sr_params_free(t->params);
    sr_arena_deinit(&t->arena);
}

static void check_shapes(Built *t) {
    CHECK(t->n_out >= 1 && t->n_out <= SR_HEAD_MAX_OUT);
    for (int i = 0; i < SR_HEAD_MAX_OUT; i++)
        CHECK((t->out[i] != SR_NO_NODE) == (i < t->n_out)); // it sets its outputs, and no others
    for (int i = 0; i < t->n_out; i++)
        CHECK_INT(sr_graph_at(t->graph, t->out[i])->shape.d[0], ROWS);
    for (int i = 0; i < sr_params_count(t->params); i++)
        CHECK(sr_text_starts(sr_params_at(t->params, i)->name, "heads.0."));
}

// Draws constant parameters at random: a classifier that starts at zero would hide every gradient
// before it.
static void randomize_constants(SrParams *params) {
    for (int i = 0; i < sr_params_count(params); i++) {
        SrParam *p = sr_params_at(params, i);
        bool zero = p->trainable && p->role == SR_ROLE_WEIGHT && p->init.kind == SR_INIT_CONSTANT;
        for (int64_t j = 0; zero && j < sr_shape_count(p->shape); j++)
            ((float *)p->value)[j] = (float)sin((double)(7 * j + i));
    }
}

// A gradient of ones at every output reaches every trainable parameter except those in front of a
// batch norm.
static void check_gradients(Built *t) {
    SrPlan *plan;
    CHECK_OK(sr_params_allocate(t->params));
    sr_params_init(t->params, 3);
    randomize_constants(t->params);
    SrPlanOptions options = {.mode = SR_MODE_TRAIN,
                             .outputs = t->out,
                             .n_outputs = t->n_out,
                             .losses = t->out,
                             .n_losses = t->n_out};
    CHECK_OK(sr_plan_compile(t->graph, &options, &plan));
    SrTensor input = sr_plan_input(plan, t->x);
    float *x = input.data;
    for (int i = 0; i < sr_shape_count(input.shape); i++)
        x[i] = (float)sin(i * i);
    for (int k = 0; k < t->n_out; k++)
        for (int64_t i = 0; i < sr_shape_count(sr_graph_at(t->graph, t->out[k])->shape); i++)
            sr_plan_seed(plan, t->out[k])[i] = (float)cos((double)(3 * i + k));
    sr_plan_forward(plan, 0);
    sr_plan_backward(plan);
    for (int i = 0; i < sr_params_count(t->params); i++) {
        const SrParam *p = sr_params_at(t->params, i);
        double sum = 0;
        for (int64_t j = 0; p->grad && j < sr_shape_count(p->shape); j++)
            sum += fabs((double)p->grad[j]);
        if (p->trainable && !sr_text_ends(p->name, "bias") && !(sum > 0 && isfinite(sum)))
            fail_msg("%s has no gradient", p->name);
    }
    sr_plan_free(plan);
}

TEST(test_every_head) {
    for (int i = 0; sr_head_at(i); i++) {
        const SrHead *found;
        CHECK(sr_head_at(i)->help && sr_head_at(i)->n_examples > 0);
        CHECK_OK(sr_head_find(sr_head_at(i)->name, &found));
        CHECK(found == sr_head_at(i));
        for (int k = 0; k < found->n_examples; k++) {
            Built t;
            build(&t, found, &found->examples[k]);
            check_shapes(&t);
            if (sr_params_count(t.params) > 0)
                check_gradients(&t);
            deinit(&t);
        }
    }
    CHECK(sr_head_at(-1) == NULL);
}

TEST(test_unknown) {
    const SrHead *head;
    CHECK_FAILS(sr_head_find("swav_haed", &head), SR_ERR_CONFIG, "swav_head");
}

// A null counts as not given, wherever it stands.
TEST(test_nulls) {
    static const char *const texts[] = {"{use_bn: null, dims: [8, 4]}",
                                        "{dims: [8, 4], use_bn: null}"};
    for (int i = 0; i < SR_COUNT(texts); i++) {
        const SrHead *head;
        const void *params;
        SrYaml *map;
        SrArena arena = SR_ARENA_INIT;
        CHECK_OK(sr_head_find("mlp", &head));
        CHECK_OK(sr_yaml_parse(&arena, texts[i], strlen(texts[i]), "test", &map));
        CHECK_OK(sr_head_parse(head, map, "test", &arena, NULL, &params));
        CHECK_INT(map->n, 2); // the configuration keeps what was written
        sr_arena_deinit(&arena);
    }
}

SR_TESTS(head, unit(test_every_head), unit(test_unknown), unit(test_nulls))
