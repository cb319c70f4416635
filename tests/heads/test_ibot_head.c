// Tests ibot_head: class token and patches with separate or shared prototypes, its refusals, and
// refusals of the other heads.
#include "tests/check.h"
#include "tests/heads/built_head.h"

#include <stdio.h>

static SrStatus build(BuiltHead *t, const char *name, const char *arguments, SrShape shape) {
    static const SrHeadSettings settings = {1e-5, 0.1, 1};
    return built_head_init(t, &settings, name, arguments, shape);
}

static void check_outputs(const char *arguments, SrShape shape, int n_out, SrShape last,
                          bool second) {
    BuiltHead t;
    CHECK_OK(build(&t, "ibot_head", arguments, shape));
    CHECK_INT(t.n_out, n_out);
    CHECK(sr_shape_equal(sr_graph_at(t.graph, t.out[n_out - 1])->shape, last));
    CHECK(sr_params_find(t.params, "prototypes0.weight_v") >= 0);
    CHECK((sr_params_find(t.params, "prototypes1.weight_v") >= 0) == second);
    CHECK(!sr_params_at(t.params, sr_params_find(t.params, "prototypes0.weight_g"))->trainable);
    built_head_deinit(&t);
}

// One norm is applied after both hidden layers, as in iBOT's own code: its tensors exist once.
TEST(test_one_norm) {
    static const char *const norms[] = {"bn", "ln"};
    for (int i = 0; i < SR_COUNT(norms); i++) {
        char arguments[80];
        BuiltHead t;
        snprintf(arguments, sizeof arguments, "{in_dim: 8, hidden_dim: 6, norm: %s}", norms[i]);
        CHECK_OK(build(&t, "ibot_head", arguments, SR_SHAPE(3, 8)));
        CHECK(sr_params_find(t.params, "mlp.1.weight") >= 0);
        CHECK(sr_params_find(t.params, "mlp.3.weight") >= 0);
        CHECK(sr_params_find(t.params, "mlp.4.weight") < 0);
        CHECK(sr_params_find(t.params, "mlp.6.weight") >= 0);
        built_head_deinit(&t);
    }
}

#define SIZES "in_dim: 8, hidden_dim: 6, bottleneck_dim: 4, out_dim: 5"

TEST(test_outputs) {
    check_outputs("{" SIZES "}", SR_SHAPE(3, 8), 1, SR_SHAPE(3, 5), false);
    check_outputs("{" SIZES "}", SR_SHAPE(3, 7, 8), 2, SR_SHAPE(3, 6, 5), true);
    check_outputs("{" SIZES ", patch_out_dim: 9}", SR_SHAPE(3, 7, 8), 2, SR_SHAPE(3, 6, 9), true);
    check_outputs("{" SIZES ", shared_head: true}", SR_SHAPE(3, 7, 8), 2, SR_SHAPE(3, 6, 5), false);
    check_outputs("{" SIZES ", norm: bn, num_layers: 1}", SR_SHAPE(2, 8), 1, SR_SHAPE(2, 5), false);
}

TEST(test_refused) {
    static const struct {
        const char *head, *arguments;
        SrShape shape;
        const char *text;
    } rows[] = {
        {"ibot_head", "{in_dim: 9}", SR_SHAPE(3, 8), "in_dim is 9, but its input has 8"},
        {"ibot_head", "{in_dim: 8}", SR_SHAPE(3, 1, 8), "no patches"},
        {"ibot_head", "{in_dim: 8, shared_head: true, patch_out_dim: 3}", SR_SHAPE(3, 2, 8),
         "shared_head needs patch_out_dim"},
        {"dino_head", "{in_dim: 8, num_clusters: [5, 6]}", SR_SHAPE(3, 8), "2 sets"},
        {"siamese_concat_view", "{num_towers: 2}", SR_SHAPE(3, 8),
         "num_towers is 2, but the input has 3 rows"},
        {"eval_mlp", "{in_channels: 4, dims: [8, 2]}", SR_SHAPE(3, 8), "SHOULD_FLATTEN_FEATS"},
        {"eval_mlp", "{in_channels: 5, dims: [8, 2]}", SR_SHAPE(3, 8), "input has 8 channels"},
        {"eval_mlp", "{in_channels: 8, dims: [8, 2]}", SR_SHAPE(3, 2, 2, 8), "dims starts with 8"},
        {"eval_mlp", "{in_channels: 8, dims: [8, 2]}", SR_SHAPE(3, 2, 8), "not [3, 2, 8]"},
        {"eval_mlp_pooled", "{in_channels: 8, dims: [8, 2]}", SR_SHAPE(3, 8), "takes tokens"},
        {"vision_transformer_head", "{in_plane: 7}", SR_SHAPE(3, 8), "in_plane is 7"},
        {"msn_head", "{in_dim: 7}", SR_SHAPE(3, 8), "msn_head: in_dim is 7"}};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        BuiltHead t;
        CHECK_FAILS(build(&t, rows[i].head, rows[i].arguments, rows[i].shape), SR_ERR_CONFIG,
                    rows[i].text);
        built_head_deinit(&t);
    }
}

SR_TESTS(ibot_head, unit(test_one_norm), unit(test_outputs), unit(test_refused))
