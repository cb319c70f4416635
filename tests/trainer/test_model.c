// Tests assembly of models: passes by crop size, chains of heads, names, freezing, taps for
// evaluation, and refusals.
#include "tests/check.h"

#include "graph/ir/layer_name.h"
#include "graph/plan/plan_run.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/model/model_internal.h"
#include "trainer/optim/param_groups.h"

#define SWAV "name: swav_loss, swav_loss: {epsilon: 0.1}"

static const int sizes_2_2[] = {16, 16, 8, 8};

static void open_swav(TinyModel *t, const char *more, int n, const int *sizes) {
    char model[512];
    snprintf(model, sizeof model, TINY_TRUNK ", " TINY_SWAV_HEAD "%s", more);
    CHECK_OK(tiny_model_open(t, model, SWAV, 4, n, sizes));
}

static int count_passes(const TinyModel *t) {
    int n = 0;
    char name[16] = "bn1";
    while (tiny_model_has_node(t, name))
        snprintf(name, sizeof name, "bn1@%d", ++n);
    return n;
}

TEST(test_crops_of_one_size_share_a_pass) {
    TinyModel t;
    SrNodeId id;
    open_swav(&t, "", 4, sizes_2_2);
    CHECK_INT(count_passes(&t), 2);
    CHECK_OK(sr_layer_node(t.graph.graph, "layer4@1", SR_NAMES_NODES, &id));
    CHECK_INT(sr_graph_at(t.graph.graph, id)->shape.d[0], 8); // two crops of four images
    CHECK_INT(sr_graph_at(t.graph.graph, t.graph.outputs[0])->shape.d[0], 16);
    CHECK_INT(sr_graph_at(t.graph.graph, t.graph.outputs[1])->shape.d[1], 6);
    CHECK_INT(t.graph.n_model_outputs, 2);
    CHECK_INT(sr_shape_count(sr_graph_at(t.graph.graph, t.graph.loss)->shape), 1);
    tiny_model_close(&t);
    open_swav(&t, "", 3, (const int[]){16, 8, 16}); // consecutive crops of equal size form a pass
    CHECK_INT(count_passes(&t), 3);
    tiny_model_close(&t);
    open_swav(&t, ", SINGLE_PASS_EVERY_CROP: true", 4, sizes_2_2);
    CHECK_INT(count_passes(&t), 4);
    tiny_model_close(&t);
}

// Rows are crop-major and passes share all parameters: the same image in all crops gives the same
// row in each.
TEST(test_rows_are_crop_major) {
    TinyModel t;
    CHECK_OK(tiny_model_start(&t, TINY_TRUNK ", " TINY_SWAV_HEAD ", SINGLE_PASS_EVERY_CROP: true",
                              SWAV, 4, 2, (const int[]){16, 16}));
    SrTensor a = sr_plan_input(t.plan, t.graph.views[0]),
             b = sr_plan_input(t.plan, t.graph.views[1]);
    memcpy(b.data, a.data, (size_t)sr_shape_count(a.shape) * sizeof(float));
    sr_plan_forward(t.plan, 0);
    const float *e = sr_plan_output(t.plan, t.graph.outputs[0]).data; // (2 * 4, 8)
    for (int i = 0; i < 32; i++)
        CHECK_NEAR((double)e[i], (double)e[32 + i], 1e-5);
    CHECK(fabs((double)e[0] - (double)e[8]) + fabs((double)e[1] - (double)e[9]) > 1e-4);
    tiny_model_close(&t);
}

TEST(test_statistics_move_once_a_pass) {
    TinyModel t;
    CHECK_OK(tiny_model_start(&t, TINY_TRUNK ", " TINY_SWAV_HEAD, SWAV, 4, 4, sizes_2_2));
    tiny_model_step(&t, 0);
    const SrParam *trunk = tiny_model_param(&t, "trunk._feature_blocks.bn1.num_batches_tracked");
    const SrParam *head = tiny_model_param(&t, "heads.0.projection_head.1.num_batches_tracked");
    CHECK_INT(*(const int64_t *)trunk->value, 2);
    CHECK_INT(*(const int64_t *)head->value, 1);
    tiny_model_close(&t);
}

TEST(test_names) {
    static const char *const names[] = {"trunk._feature_blocks.conv1.weight",
                                        "trunk._feature_blocks.layer1.0.bn1.running_var",
                                        "trunk._feature_blocks.layer4.0.downsample.0.weight",
                                        "heads.0.projection_head.0.weight",
                                        "heads.0.projection_head.3.bias",
                                        "heads.0.prototypes0.weight",
                                        "loss.num_iteration"};
    TinyModel t;
    open_swav(&t, "", 2, sizes_2_2);
    for (int i = 0; i < SR_COUNT(names); i++)
        if (!tiny_model_param(&t, names[i]))
            fail_msg("no parameter %s", names[i]);
    CHECK(tiny_model_has_node(&t, "heads.0.prototypes0"));
    CHECK(tiny_model_has_node(&t, "layer1.0.relu_1"));
    CHECK_INT(sr_params_find(sr_model_params(t.model), "trunk._feature_blocks.fc.weight"), -1);
    tiny_model_close(&t);
}

TEST(test_freezing) {
    TinyModel t;
    open_swav(&t, ", FEATURE_EVAL_SETTINGS: {FREEZE_TRUNK_ONLY: true}", 4, sizes_2_2);
    CHECK(!tiny_model_param(&t, "trunk._feature_blocks.conv1.weight")->trainable);
    CHECK(tiny_model_param(&t, "heads.0.prototypes0.weight")->trainable);
    tiny_model_close(&t);
    open_swav(&t, ", FEATURE_EVAL_SETTINGS: {FREEZE_TRUNK_AND_HEAD: true}", 4, sizes_2_2);
    CHECK(!tiny_model_param(&t, "heads.0.prototypes0.weight")->trainable);
    tiny_model_close(&t);
    open_swav(&t, ", NON_TRAINABLE_PARAMS: [heads.0.prototypes0.weight]", 4, sizes_2_2);
    CHECK(!tiny_model_param(&t, "heads.0.prototypes0.weight")->trainable);
    CHECK(tiny_model_param(&t, "heads.0.projection_head.0.weight")->trainable);
    tiny_model_close(&t);
}

TEST(test_evaluation) {
    TinyModel t;
    SrGraph *graph, *same;
    SrNodeId input, tap;
    open_swav(&t, "", 2, sizes_2_2);
    int before = sr_params_count(sr_model_params(t.model));
    CHECK_OK(sr_model_build_trunk(t.model, 3, 24, 16, &graph, &input));
    CHECK_INT(sr_params_count(sr_model_params(t.model)), before);
    CHECK_STR(sr_graph_at(graph, input)->name, "x");
    CHECK_OK(sr_layer_node(graph, "res5avg", SR_NAMES_STAGES, &tap));
    CHECK_STR(sr_graph_at(graph, tap)->name, "avgpool");
    CHECK_INT(sr_graph_at(graph, tap)->shape.d[0], 3);
    CHECK_OK(sr_model_build_trunk(t.model, 3, 24, 16, &same, &input));
    CHECK(graph == same);
    tiny_model_close(&t);
}

// A predictor of a loss has its parameters in the heads' groups under the loss's prefix; a second
// use shares them.
TEST(test_head_of_the_loss) {
    TinyModel t;
    SrBuilder *b;
    SrOutputs out;
    SrParamGroups groups;
    SrArena arena = SR_ARENA_INIT;
    CHECK_OK(tiny_model_open(&t, TINY_TRUNK ", " TINY_SWAV_HEAD, SWAV, 4, 4, sizes_2_2));
    SrParams *params = sr_model_params(t.model);
    CHECK_OK(sr_builder_new(t.graph.graph, &b));
    sr_builder_set_param_prefix(b, "loss.");
    sr_builder_set_node_prefix(b, "loss.");
    SrLossHead head = {.name = "predictor", .kind = "mlp", .options = "{dims: [8, 5, 8]}"};
    CHECK_OK(sr__model_loss_head(t.model, b, &head, t.graph.outputs[0], &out));
    int index = sr_params_find(params, "loss.heads.predictor.clf.0.weight"),
        count = sr_params_count(params);
    CHECK(index >= 0 && sr_params_at(params, index)->trainable);
    CHECK_INT(out.n, 1);
    CHECK_INT(sr_build_shape(b, out.v[0].node).d[1], 8);
    CHECK_OK(sr__model_loss_head(t.model, b, &head, out.v[0].node, &out));
    CHECK_INT(sr_params_count(params), count);
    CHECK_OK(sr_param_groups(params, &t.config->optimizer, &arena, &groups));
    for (int g = 0; g < groups.n; g++)
        for (int i = 0; i < groups.groups[g].n; i++)
            CHECK(groups.groups[g].params[i] != index || groups.groups[g].head_lr);
    head.kind = "mpl";
    CHECK_FAILS(sr__model_loss_head(t.model, b, &head, out.v[0].node, &out), SR_ERR_CONFIG, "mlp");
    sr_arena_deinit(&arena);
    sr_builder_free(b);
    tiny_model_close(&t);
}

static void check_refused(const char *model, const char *loss, int n, const char *text) {
    TinyModel t;
    CHECK_FAILS(tiny_model_open(&t, model, loss, 4, n, sizes_2_2), SR_ERR_CONFIG, text);
    tiny_model_close(&t);
}

TEST(test_refused) {
    check_refused(TINY_TRUNK ", HEAD: {PARAMS: [[swav_head, {dims: [31, 8], num_clusters: [6]}]]}",
                  SWAV, 4, "dims starts with 31, but its input has 32");
    check_refused(TINY_TRUNK ", HEAD: {PARAMS: [[swav_head, {dims: [32, 8], num_cluster: [6]}]]}",
                  SWAV, 4, "num_clusters");
    check_refused(TINY_TRUNK ", HEAD: {PARAMS: [[swav_head, {dims: [32, 8], num_clusters: [6], "
                             "return_embeddings: false}]]}",
                  SWAV, 4, "num_prototypes has 1 sets");
    check_refused("TRUNK: {NAME: resnt}, " TINY_SWAV_HEAD, SWAV, 4, "resnet");
    check_refused(TINY_TRUNK ", " TINY_SWAV_HEAD, "name: swav_los", 4, "swav_loss");
    check_refused(TINY_TRUNK ", " TINY_SWAV_HEAD
                             ", NON_TRAINABLE_PARAMS: [heads.0.prototype.weight]",
                  SWAV, 4, "heads.0.prototype.weight");
    check_refused(TINY_TRUNK ", " TINY_SWAV_HEAD,
                  "name: swav_loss, swav_loss: {crops_for_assign: [0, 4]}", 4,
                  "crops_for_assign holds 4");
}

// bgr images with weights in bgr order give the same outputs as rgb. lab has one channel,
// lightness, and such a trunk requests LAB images.
TEST(test_input_types) {
    TinyModel t;
    static const char head[] = TINY_TRUNK ", " TINY_SWAV_HEAD ", INPUT_TYPE: ";
    const char *const types[] = {"rgb", "bgr", "lab"};
    float first[3] = {0};
    for (int k = 0; k < 3; k++) {
        char model[512];
        snprintf(model, sizeof model, "%s%s", head, types[k]);
        CHECK_OK(tiny_model_start(&t, model, SWAV, 4, 2, (const int[]){16, 16}));
        int conv1 = sr_params_find(t.model->params, "trunk._feature_blocks.conv1.weight");
        SrParam *w = sr_params_at(t.model->params, conv1);
        int K = w->shape.d[0], C = w->shape.d[1], area = w->shape.d[2] * w->shape.d[3];
        CHECK_INT(C, k == 2 ? 1 : 3);
        for (int i = 0; k == 1 && i < K * area; i++) {
            float *red = (float *)w->value + i / area * 3 * area + i % area;
            float *blue = red + 2 * area, kept = *red;
            *red = *blue;
            *blue = kept;
        }
        sr_plan_forward(t.plan, 0);
        first[k] = ((const float *)sr_plan_output(t.plan, t.graph.outputs[0]).data)[0];
        tiny_model_close(&t);
    }
    CHECK_NEAR((double)first[1], (double)first[0], 1e-5);
    CHECK_FAILS(tiny_model_open(&t,
                                "TRUNK: {NAME: alexnet_colorization, ALEXNETS: {WIDTH_MULTIPLIER: "
                                "0.0625}}, HEAD: {PARAMS: [[swav_head, {dims: [16, 8], "
                                "num_clusters: [6]}]]}",
                                SWAV, 4, 2, (const int[]){67, 67}),
                SR_ERR_CONFIG, "MODEL.INPUT_TYPE to lab");
    tiny_model_close(&t);
}

SR_TESTS(model, unit(test_input_types), unit(test_head_of_the_loss),
         unit(test_crops_of_one_size_share_a_pass), unit(test_rows_are_crop_major),
         unit(test_statistics_move_once_a_pass), unit(test_names), unit(test_freezing),
         unit(test_evaluation), unit(test_refused))
