// Tests the contract of trunks/trunk.h, checked for every example of every trunk in the registry:
// outputs, names, stages, shared parameters over two resolutions, a training step, depths; and
// every preset.
#include "base/text/text.h"
#include "base/text/yaml_load.h"
#include "graph/ir/layer_name.h"
#include "graph/plan/plan.h"
#include "graph/plan/plan_run.h"
#include "kernels/norm/batch_norm.h"
#include "tests/check.h"
#include "trunks/presets.h"
#include "trunks/trunk.h"

typedef struct {
    const SrTrunk *trunk;
    const SrTrunkExample *example;
    SrArena arena;
    SrParams *params;
    SrGraph *graph;
    SrBuilder *b;
    void *options;
} Built;

static void start(Built *t, const SrTrunk *trunk, const SrTrunkExample *example) {
    SrYaml *map = NULL;
    *t = (Built){.trunk = trunk, .example = example};
    t->options = sr_arena_alloc(&t->arena, trunk->params_bytes + 1);
    CHECK_OK(sr_yaml_parse(&t->arena, example->options, strlen(example->options), "example", &map));
    CHECK_OK(sr_options_parse(trunk->options, map, trunk->subtree, &t->arena, t->options));
    CHECK_OK(sr_params_new(&t->params));
    CHECK_OK(sr_graph_new(t->params, &t->graph));
    CHECK_OK(sr_builder_new(t->graph, &t->b));
    sr_builder_set_param_prefix(t->b, sr_trunk_param_prefix(trunk));
}

static SrNodeId add(Built *t, int pass, int size, SrTrunkOutput *out) {
    char name[16];
    snprintf(name, sizeof name, "x%d", pass);
    SrNodeId x = sr_build_input(t->b, name, SR_SHAPE(2, size, size, 3), SR_F32);
    sr_builder_set_pass(t->b, pass);
    CHECK_OK(sr_trunk_build(t->trunk, t->b, t->options,
                            &(SrTrunkInput){.image = x, .mask = SR_NO_NODE}, out));
    return x;
}

static void finish(Built *t) {
    sr_builder_free(t->b);
    sr_graph_free(t->graph);
    sr_params_free(t->params);
    sr_arena_deinit(&t->arena);
}

static void each_example(void (*body)(Built *t)) {
    for (int i = 0; sr_trunk_at(i); i++) {
        CHECK(sr_trunk_at(i)->examples.n > 0);
        for (int k = 0; k < sr_trunk_at(i)->examples.n; k++) {
            Built t;
            start(&t, sr_trunk_at(i), &sr_trunk_at(i)->examples.v[k]);
            body(&t);
            finish(&t);
        }
    }
}

// Each kind of output has its rank and one row per image; the pooled output always exists.
static void check_output(const Built *t, const SrTrunkOutput *out) {
    const SrNodeId nodes[] = {out->pooled, out->map, out->tokens};
    const int ranks[] = {2, 4, 3};
    for (int k = 0; k < SR_COUNT(nodes); k++) {
        if (nodes[k] == SR_NO_NODE)
            continue;
        SrShape s = sr_build_shape(t->b, nodes[k]);
        CHECK_INT(s.rank, ranks[k]);
        CHECK_INT(s.d[0], 2);
    }
    CHECK(out->pooled != SR_NO_NODE);
    CHECK(out->tokens == SR_NO_NODE || out->n_prefix < sr_build_shape(t->b, out->tokens).d[1]);
    for (int k = 0; k < out->n_extra; k++)
        CHECK(out->extra[k].name && out->extra[k].node != SR_NO_NODE);
}

static void names_case(Built *t) {
    SrTrunkOutput out;
    CHECK(t->trunk->help && sr_text_starts(t->trunk->subtree, "MODEL.TRUNK."));
    add(t, 0, t->example->side, &out);
    check_output(t, &out);
    int count = sr_params_count(t->params);
    for (int k = 0; k < count; k++)
        CHECK(sr_text_starts(sr_params_at(t->params, k)->name, sr_trunk_param_prefix(t->trunk)));
    CHECK(sr_graph_alias_count(t->graph) > 0);
    // Without a layer name the feature is a vector per image, whatever the network calls that
    // node.
    SrNodeId flat = sr_graph_find(t->graph, "flatten");
    CHECK(flat != SR_NO_NODE && sr_graph_at(t->graph, flat)->shape.rank == 2);
    for (int k = 0; k < sr_graph_alias_count(t->graph); k++) {
        SrNodeId aliased, tapped;
        CHECK_OK(sr_layer_node(t->graph, sr_graph_alias_at(t->graph, k, &aliased), SR_NAMES_STAGES,
                               &tapped));
        CHECK_INT(tapped, aliased);
    }
    if (t->example->other_side) { // crops of another size share every parameter
        add(t, 1, t->example->other_side, &out);
        check_output(t, &out);
        CHECK_INT(sr_params_count(t->params), count);
    }
    CHECK_OK(sr_graph_check(t->graph));
}

TEST(test_outputs_and_names) { each_example(names_case); }

static bool all_finite(const float *x, int64_t n, double *size) {
    *size = 0;
    for (int64_t i = 0; i < n; i++)
        *size += fabs((double)x[i]);
    return isfinite(*size);
}

static void fill(SrTensor x) {
    for (int64_t i = 0; i < sr_shape_count(x.shape); i++)
        ((float *)x.data)[i] = (float)((i * 7919) % 1013) / 500 - 1;
}

// Computes a step. The gradient of the output varies between elements, since a norm would cancel
// a constant one.
static void step(Built *t, SrPlan *plan, SrNodeId x, SrNodeId y) {
    double size;
    SrTensor dy = {sr_build_shape(t->b, y), SR_F32, sr_plan_seed(plan, y)};
    fill(sr_plan_input(plan, x));
    sr_plan_forward(plan, 0);
    SrTensor value = sr_plan_output(plan, y);
    if (!all_finite(value.data, sr_shape_count(value.shape), &size) || size == 0)
        fail_msg("%s %s: the output is %g in sum", t->trunk->name, t->example->options, size);
    fill(dy);
    sr_plan_backward(plan);
}

// A training step gives every learned parameter a finite gradient. Some parameters have none (a
// bias before a norm); a trunk in which most have none does not learn.
static void train(Built *t, SrNodeId x, SrNodeId y) {
    SrPlan *plan;
    int n = 0, moved = 0;
    CHECK_OK(sr_params_allocate(t->params));
    sr_params_init(t->params, 1);
    CHECK_OK(sr_plan_compile(
        t->graph,
        &(SrPlanOptions){
            .mode = SR_MODE_TRAIN, .losses = &y, .n_losses = 1, .outputs = &y, .n_outputs = 1},
        &plan));
    step(t, plan, x, y);
    for (int i = 0; i < sr_params_count(t->params); i++) {
        const SrParam *p = sr_params_at(t->params, i);
        double size;
        if (!p->trainable || !p->grad)
            continue;
        if (!all_finite(p->grad, sr_shape_count(p->shape), &size))
            fail_msg("%s %s: the gradient of %s is not finite", t->trunk->name, t->example->options,
                     p->name);
        n++, moved += size > 0;
    }
    CHECK(2 * moved >= n);
    sr_plan_free(plan);
}

static void train_case(Built *t) {
    SrTrunkOutput out;
    SrNodeId x = add(t, 0, t->example->side, &out);
    train(t, x, out.pooled);
}

TEST(test_training_step) { each_example(train_case); }

// Images of any number of channels train a trunk, unless an option asks for RGB.
static void channels_case(Built *t, int channels) {
    SrTrunkOutput out;
    int side = t->example->side;
    SrNodeId x = sr_build_input(t->b, "x", SR_SHAPE(2, side, side, channels), SR_F32);
    SrStatus status = sr_trunk_build(t->trunk, t->b, t->options,
                                     &(SrTrunkInput){.image = x, .mask = SR_NO_NODE}, &out);
    if (status == SR_OK)
        train(t, x, out.pooled);
    else
        CHECK(status == SR_ERR_CONFIG && strstr(sr_status_message(), "is for RGB"));
}

static void thirteen_case(Built *t) { channels_case(t, 13); }
static void one_case(Built *t) { channels_case(t, 1); }

TEST(test_channels) {
    each_example(thirteen_case);
    each_example(one_case);
}

// Two evaluations of one input give the same bits, and no entry of the parameter table changes.
static void eval_case(Built *t) {
    SrTrunkOutput out;
    SrPlan *plan;
    SrNodeId x = add(t, 0, t->example->side, &out), y = out.pooled;
    CHECK_OK(sr_params_allocate(t->params));
    sr_params_init(t->params, 1);
    CHECK_OK(sr_plan_compile(
        t->graph, &(SrPlanOptions){.mode = SR_MODE_EVAL, .outputs = &y, .n_outputs = 1}, &plan));
    fill(sr_plan_input(plan, x));
    sr_plan_forward(plan, 0);
    SrTensor value = sr_plan_output(plan, y);
    size_t bytes = (size_t)sr_shape_count(value.shape) * sizeof(float);
    void *first = sr_arena_copy(&t->arena, value.data, bytes);
    fill(sr_plan_input(plan, x));
    sr_plan_forward(plan, 1);
    CHECK(memcmp(first, sr_plan_output(plan, y).data, bytes) == 0);
    sr_plan_free(plan);
}

TEST(test_evaluation) { each_example(eval_case); }

// For lr_decay, every depth from the stem to the last layer has parameters, and none is beyond
// the heads.
static void depth_case(Built *t) {
    SrTrunkOutput out;
    bool seen[256] = {false};
    CHECK((t->trunk->layers == NULL) == (t->trunk->depth == NULL));
    if (!t->trunk->depth)
        return;
    int layers = t->trunk->layers(t->options);
    add(t, 0, t->example->side, &out);
    for (int i = 0; i < sr_params_count(t->params); i++) {
        int depth = t->trunk->depth(sr_params_at(t->params, i)->name, layers);
        CHECK(depth >= 0 && depth <= layers + 1 && depth < SR_COUNT(seen));
        seen[depth] = true;
    }
    for (int d = 0; d <= layers; d++)
        CHECK(seen[d]);
}

TEST(test_depths) { each_example(depth_case); }

static void mask_case(Built *t) {
    SrTrunkOutput out;
    SrNodeId x = sr_build_input(t->b, "x", SR_SHAPE(2, t->example->side, t->example->side, 3),
                                SR_F32),
             mask = sr_build_input(t->b, "mask", SR_SHAPE(2, 4), SR_F32);
    if (!(t->trunk->flags & SR_TRUNK_TAKES_MASK))
        CHECK_FAILS(sr_trunk_build(t->trunk, t->b, t->options,
                                   &(SrTrunkInput){.image = x, .mask = mask}, &out),
                    SR_ERR_CONFIG, "takes no mask of hidden patches");
}

TEST(test_masks) {
    each_example(mask_case);
    CHECK(sr_trunk_at(-1) == NULL);
}

// Every preset builds a valid graph with its number of classes.
TEST(test_presets) {
    for (int i = 0; sr_preset_at(i); i++) {
        const SrPreset *preset = sr_preset_at(i), *found;
        SrParams *params;
        SrGraph *graph;
        SrBuilder *b;
        SrNodeId logits;
        CHECK_OK(sr_preset_find(preset->name, &found));
        CHECK(found == preset);
        CHECK(sr_preset_trunk(preset) != NULL);
        CHECK_OK(sr_params_new(&params));
        CHECK_OK(sr_graph_new(params, &graph));
        CHECK_OK(sr_builder_new(graph, &b));
        SrNodeId x = sr_build_input(b, "x", SR_SHAPE(2, 224, 224, 3), SR_F32);
        CHECK_OK(sr_preset_build(preset, b, x, &logits));
        CHECK(sr_shape_equal(sr_build_shape(b, logits), SR_SHAPE(2, preset->classes)));
        CHECK_OK(sr_graph_check(graph));
        sr_builder_free(b);
        sr_graph_free(graph);
        sr_params_free(params);
    }
    const SrPreset *none;
    CHECK_FAILS(sr_preset_find("resnett18", &none), SR_ERR_CONFIG, "did you mean 'resnet18'?");
    CHECK(sr_preset_at(-1) == NULL);
}

// A momentum of 0 keeps the running statistics where they are; it is no sign for a default.
TEST(test_momentum_of_zero) {
    int norms = 0;
    for (int i = 0; sr_trunk_at(i); i++) {
        const SrTrunk *trunk = sr_trunk_at(i);
        const SrOption *row = sr_options_find(trunk->options, "bn_momentum");
        Built t;
        SrTrunkOutput out;
        if (!row)
            continue;
        start(&t, trunk, &trunk->examples.v[0]);
        *(double *)((char *)t.options + row->offset) = 0;
        add(&t, 0, t.example->side, &out);
        for (int k = 0; k < sr_graph_count(t.graph); k++) {
            const SrNode *node = sr_graph_at(t.graph, k);
            if (!node->op || strcmp(node->op->name, "batch_norm") != 0)
                continue;
            CHECK(((const SrBatchNormParams *)node->params)->momentum == 0);
            norms++;
        }
        finish(&t);
    }
    CHECK(norms > 0);
}

SR_TESTS(trunk, unit(test_momentum_of_zero), unit(test_outputs_and_names), unit(test_training_step),
         unit(test_channels), unit(test_evaluation), unit(test_depths), unit(test_masks),
         unit(test_presets))
