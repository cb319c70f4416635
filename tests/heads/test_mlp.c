// Tests the head mlp: numbers of its layers, PARAMS_MULTIPLIER, features with empty dimensions,
// and features that it refuses.
#include "tests/check.h"
#include "tests/heads/built_head.h"

static SrStatus build(BuiltHead *t, const char *arguments, SrShape shape, double multiplier) {
    const SrHeadSettings settings = {
        .bn_eps = 1e-5, .bn_momentum = 0.1, .params_multiplier = multiplier};
    return built_head_init(t, &settings, "mlp", arguments, shape);
}

static bool has(BuiltHead *t, const char *name) { return sr_params_find(t->params, name) >= 0; }

TEST(test_numbers) {
    BuiltHead t;
    CHECK_OK(build(&t, "{dims: [6, 8, 4], use_bn: true, use_relu: true, use_dropout: true}",
                   SR_SHAPE(3, 6), 1));
    CHECK(has(&t, "clf.0.weight") && has(&t, "clf.1.weight") && has(&t, "clf.4.weight") &&
          !has(&t, "clf.5.weight"));
    built_head_deinit(&t);
    CHECK_OK(build(
        &t, "{dims: [6, 8, 4], use_bn: true, skip_last_layer_relu_bn: false, use_bias: false}",
        SR_SHAPE(3, 6), 1));
    CHECK(has(&t, "clf.2.weight") && has(&t, "clf.3.running_var") && !has(&t, "clf.2.bias"));
    built_head_deinit(&t);
}

static double largest(BuiltHead *t, const char *name) {
    const SrParam *p = sr_params_at(t->params, sr_params_find(t->params, name));
    double m = 0;
    for (int64_t i = 0; i < sr_shape_count(p->shape); i++)
        m = SR_MAX(m, fabs((double)((const float *)p->value)[i]));
    return m;
}

TEST(test_multiplier) {
    static const double factors[] = {1, 0.01, 0};
    for (int i = 0; i < SR_COUNT(factors); i++) {
        BuiltHead t;
        double bound = factors[i] / sqrt(256);
        CHECK_OK(build(&t, "{dims: [256, 128]}", SR_SHAPE(2, 256), factors[i]));
        CHECK_OK(sr_params_allocate(t.params));
        sr_params_init(t.params, 1);
        CHECK(largest(&t, "clf.0.weight") <= bound && largest(&t, "clf.0.weight") >= 0.99 * bound);
        CHECK(largest(&t, "clf.0.bias") <= bound && largest(&t, "clf.0.bias") >= 0.9 * bound);
        built_head_deinit(&t);
    }
}

TEST(test_features) {
    BuiltHead t;
    CHECK_OK(build(&t, "{dims: [6, 4]}", SR_SHAPE(3, 1, 1, 6), 1));
    CHECK(sr_shape_equal(sr_graph_at(t.graph, t.out[0])->shape, SR_SHAPE(3, 4)));
    built_head_deinit(&t);
    CHECK_FAILS(build(&t, "{dims: [6, 4]}", SR_SHAPE(3, 2, 2, 6), 1), SR_ERR_CONFIG,
                "[3, 2, 2, 6]");
    built_head_deinit(&t);
    CHECK_FAILS(build(&t, "{dims: []}", SR_SHAPE(3, 6), 1), SR_ERR_CONFIG, "at least two");
    built_head_deinit(&t);
}

SR_TESTS(mlp, unit(test_numbers), unit(test_multiplier), unit(test_features))
