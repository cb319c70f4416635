// Tests MODEL.HEAD.PARAMS: its forms, chains of modules on one feature, names of entries, and
// refusals with file and line.
#include "base/text/yaml_load.h"
#include "tests/check.h"

#include "trainer/model/head_modules.h"

typedef struct {
    SrArena arena;
    SrParams *params;
    SrGraph *graph;
    SrHeadOutputs out;
} Built;

// Builds the heads of the list on a feature of 4 rows and 16 channels.
static SrStatus build(Built *t, const char *list) {
    SrYaml *tree = NULL;
    SrHeadModules heads;
    SrBuilder *b;
    *t = (Built){.params = NULL};
    CHECK_OK(sr_yaml_parse(&t->arena, list, strlen(list), "heads.yaml", &tree));
    SrModelConfig config = {
        .head_params = tree, .bn_eps = 1e-5, .bn_momentum = 0.1, .params_multiplier = 1};
    CHECK_OK(sr_params_new(&t->params));
    CHECK_OK(sr_graph_new(t->params, &t->graph));
    SR_TRY(sr_head_modules_parse(&config, &t->arena, &heads));
    CHECK_OK(sr_builder_new(t->graph, &b));
    SrNodeId x = sr_build_input(b, "x", SR_SHAPE(4, 16), SR_F32);
    SrStatus status = sr_head_modules_build(b, &heads, NULL, x, &t->out);
    sr_builder_free(b);
    return status;
}

static void deinit(Built *t) {
    sr_graph_free(t->graph);
    sr_params_free(t->params);
    sr_arena_deinit(&t->arena);
}

static void check_built(const char *list, const char *parameter, int n_out, int last) {
    Built t;
    CHECK_OK(build(&t, list));
    CHECK_INT(t.out.n, n_out);
    CHECK_INT(sr_shape_last(sr_graph_at(t.graph, t.out.node[n_out - 1])->shape), last);
    if (sr_params_find(t.params, parameter) < 0)
        fail_msg("%s: no parameter %s", list, parameter);
    deinit(&t);
}

TEST(test_forms) {
    check_built("[[mlp, {dims: [16, 3]}]]", "heads.0.clf.0.weight", 1, 3);
    check_built("[[swav_head, {dims: [16, 8], num_clusters: [5, 7]}]]",
                "heads.0.prototypes1.weight", 3, 7);
    check_built("[[[mlp, {dims: [16, 12]}], [mlp, {dims: [12, 3]}]]]", "heads.0.1.clf.0.bias", 1,
                3);
    check_built("[[mlp, {dims: [16, 12]}], [mlp, {dims: [12, 3]}]]", "heads.1.clf.0.bias", 1, 3);
    check_built("[[mlp, {dims: [16, 3]}, {use_relu: true}]]", "heads.0.clf.0.weight", 1,
                3); // the form of PIRL's files
    check_built("[[mlp, {dims: [16, 3], use_bn: null}]]", "heads.0.clf.0.bias", 1,
                3); // None in Python
    check_built("[[vision_transformer_head, {in_plane: 16, num_classes: 3, hidden_dim: null}]]",
                "heads.0.layers.head.weight", 1, 3);
    check_built("[[ibot_head, {in_dim: 16, out_dim: 3, norm: null}]]", "heads.0.mlp.4.bias", 1, 3);
    check_built("[[identity], [mlp, {dims: [16, 3]}]]", "heads.1.clf.0.weight", 1, 3);
    // A projection without prototypes has one output, which an mlp accepts.
    check_built("[[[swav_head, {dims: [16, 8], num_clusters: []}], [mlp, {dims: [8, 2]}]]]",
                "heads.0.1.clf.0.weight", 1, 2);
}

TEST(test_refused) {
    static const char *const rows[][2] = {
        {"[]", "MODEL.HEAD.PARAMS is empty"},
        {"{mlp: 1}", "heads.yaml:1: MODEL.HEAD.PARAMS is"},
        {"[mlp]", "heads.yaml:1: MODEL.HEAD.PARAMS[0] is"},
        {"[[mlp, [16, 3]]]", "heads.yaml:1: MODEL.HEAD.PARAMS[0] is a list"},
        {"[[mlp, {dims: [16, 3]}, 1]]", "MODEL.HEAD.PARAMS[0]"},
        {"\n[[mpl, {dims: [16, 3]}]]", "heads.yaml:2: MODEL.HEAD.PARAMS[0]"},
        {"[[mpl, {dims: [16, 3]}]]", "mlp"},
        {"[[mlp, {dims: [16]}]]", "at least two"},
        {"[[mlp, {dims: [15, 3]}]]", "heads.0: mlp: dims starts with 15, but its input has 16"},
        {"[[mlp, {dim: [16, 3]}]]", "dims"},
        {"[[[mlp, {dims: [16, 3]}], [mlp, {dims: [4, 3]}]]]",
         "MODEL.HEAD.PARAMS[0][1]: heads.0.1: mlp: dims starts with 4, but its input has 3"},
        {"[[identity], [mlp, {dims: [4, 3]}]]",
         "MODEL.HEAD.PARAMS[1]: heads.1: mlp: dims starts with 4"},
        {"[[mlp, {dims: [16, 3], use_bn: maybe}]]", "MODEL.HEAD.PARAMS[0].mlp.use_bn is maybe"},
        {"[[swav_head, {dims: [16, 8], num_clusters: [5]}], [mlp, {dims: [8, 3]}]]",
         "mlp takes one input"},
        {"[[swav_head, {dims: [16, 8], normalize_last_layer: true}]]",
         "use_weight_norm_prototypes"},
        {"[[swav_head, {dims: [16, 8], return_embeddings: false}]]", "returns nothing"},
        {"[[swav_head, {dims: [16, 8], activation_name: Relu6}]]", "activation_name"}};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        Built t;
        CHECK_FAILS(build(&t, rows[i][0]), SR_ERR_CONFIG, rows[i][1]);
        deinit(&t);
    }
}

SR_TESTS(head_modules, unit(test_forms), unit(test_refused))
