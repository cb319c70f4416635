// Tests swav_head: its outputs, the names of its entries with and without weight norm, and
// embeddings of length 1.
#include "graph/plan/plan_run.h"
#include "tests/check.h"
#include "tests/heads/built_head.h"

static void build(BuiltHead *t, const char *arguments) {
    static const SrHeadSettings settings = {
        .bn_eps = 1e-5, .bn_momentum = 0.1, .params_multiplier = 1};
    CHECK_OK(built_head_init(t, &settings, "swav_head", arguments, SR_SHAPE(5, 6)));
    built_head_draw(t, 1);
}

static const SrParam *entry(BuiltHead *t, const char *name) {
    int index = sr_params_find(t->params, name);
    return index < 0 ? NULL : sr_params_at(t->params, index);
}

TEST(test_layers) {
    BuiltHead t;
    build(&t, "{dims: [6, 8, 8, 4], use_bn: true, num_clusters: [3]}");
    CHECK_INT(t.n_out, 2);
    CHECK(entry(&t, "projection_head.0.weight") && entry(&t, "projection_head.1.running_mean"));
    CHECK(entry(&t, "projection_head.3.weight") && entry(&t, "projection_head.4.weight"));
    CHECK(entry(&t, "projection_head.6.bias") && !entry(&t, "projection_head.7.weight"));
    CHECK(entry(&t, "prototypes0.weight") && !entry(&t, "prototypes0.bias"));
    built_head_deinit(&t);
    build(
        &t,
        "{dims: [6, 8, 4], use_bn: true, num_clusters: [], skip_last_bn: false, use_bias: false}");
    CHECK_INT(t.n_out, 1);
    CHECK(entry(&t, "projection_head.4.weight") && !entry(&t, "projection_head.3.bias"));
    built_head_deinit(&t);
    build(&t,
          "{dims: [6, 8, 4], num_clusters: [3], return_embeddings: false, activation_name: none}");
    CHECK_INT(t.n_out, 1);
    CHECK_INT(sr_shape_last(sr_graph_at(t.graph, t.out[0])->shape), 3);
    CHECK(entry(&t, "projection_head.1.weight") !=
          NULL); // no activation between the layers, so none is numbered
    built_head_deinit(&t);
}

TEST(test_weight_norm) {
    BuiltHead t;
    build(&t, "{dims: [6, 4], num_clusters: [3], use_weight_norm_prototypes: true, "
              "normalize_last_layer: true}");
    const SrParam *g = entry(&t, "prototypes0.weight_g"), *v = entry(&t, "prototypes0.weight_v");
    CHECK(g && v && !g->trainable && v->trainable);
    for (int i = 0; i < 3; i++)
        CHECK_NEAR((double)((const float *)g->value)[i], 1, 0);
    built_head_deinit(&t);
    build(&t, "{dims: [6, 4], num_clusters: [3], use_weight_norm_prototypes: true}");
    CHECK(entry(&t, "prototypes0.weight_g")->trainable);
    built_head_deinit(&t);
}

// Rows have length 1, and scores are their products with the prototypes.
static void check_outputs(BuiltHead *t, SrPlan *plan) {
    const float *e = sr_plan_output(plan, t->out[0]).data,
                *s = sr_plan_output(plan, t->out[1]).data;
    const float *w = entry(t, "prototypes0.weight")->value; // (3, 4)
    for (int i = 0; i < 5; i++) {
        double length = 0, score = 0;
        for (int j = 0; j < 4; j++) {
            length += (double)e[4 * i + j] * (double)e[4 * i + j];
            score += (double)e[4 * i + j] * (double)w[4 * 2 + j];
        }
        CHECK_NEAR(length, 1, 1e-5);
        CHECK_NEAR((double)s[3 * i + 2], score, 1e-6);
    }
}

TEST(test_values) {
    BuiltHead t;
    SrPlan *plan;
    build(&t, "{dims: [6, 8, 4], use_bn: true, num_clusters: [3]}");
    SrPlanOptions options = {.mode = SR_MODE_TRAIN, .outputs = t.out, .n_outputs = t.n_out};
    CHECK_OK(sr_plan_compile(t.graph, &options, &plan));
    float *x = sr_plan_input(plan, t.x).data;
    for (int i = 0; i < 30; i++)
        x[i] = (float)sin(1.7 * i * i);
    sr_plan_forward(plan, 0);
    check_outputs(&t, plan);
    sr_plan_free(plan);
    built_head_deinit(&t);
}

SR_TESTS(swav_head, unit(test_layers), unit(test_weight_norm), unit(test_values))
