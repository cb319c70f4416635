// Tests WEIGHTS_INIT: names of VISSL and torchvision, tensors that are skipped, and files that
// are refused because nothing fits.
#include <stdio.h>

#include "formats/names/naming.h"
#include "formats/weights/safetensors.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "trainer/model/weights_init.h"

static SrParams *model(void) {
    SrParams *params;
    int index;
    const SrInit zero = {SR_INIT_CONSTANT, 0};
    const SrSlot weight = {"weight", SR_SHAPE(2, 3), SR_F32, SR_SLOT_PARAM, SR_ROLE_WEIGHT, zero};
    const SrSlot count = {"n", SR_SCALAR, SR_I64, SR_SLOT_STATE, SR_ROLE_OTHER, zero};
    CHECK_OK(sr_params_new(&params));
    CHECK_OK(sr_params_add(params, "trunk._feature_blocks.conv1.weight", &weight, &index));
    CHECK_OK(
        sr_params_add(params, "trunk._feature_blocks.bn1.num_batches_tracked", &count, &index));
    CHECK_OK(sr_params_add(params, "heads.0.clf.weight", &weight, &index));
    CHECK_OK(sr_params_add(params, "loss.queue", &weight, &index));
    CHECK_OK(sr_params_allocate(params));
    sr_params_init(params, 0);
    return params;
}

static float first(SrParams *params, int index) {
    return ((float *)sr_params_at(params, index)->value)[0];
}

TEST(test_names) {
    char dir[64], path[128];
    float x[6] = {1, 2, 3, 4, 5, 6};
    int64_t n = 9;
    static const char *const skip[] = {"num_batches_tracked"};
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/w.safetensors", dir);
    const SrTensor matrix = {SR_SHAPE(2, 3), SR_F32, x};
    const SrNamedTensor torchvision[] = {
        {"module.conv1.weight", matrix},
        {"module.bn1.num_batches_tracked", {SR_SCALAR, SR_I64, &n}},
        {"module.fc.weight", matrix}};
    SrWeightsSource source = {.path = path,
                              .remove_prefix = "module.",
                              .append_prefix = "trunk._feature_blocks.",
                              .skip_layers = {1, skip}};
    SrParams *params = model();
    CHECK_OK(sr_safetensors_save(path, torchvision, 3, NULL, NULL, 0));
    CHECK_OK(sr_weights_load(&source, params));
    CHECK_NEAR(first(params, 0), 1, 0);
    CHECK_INT(*(int64_t *)sr_params_at(params, 1)->value, 0); // skipped
    CHECK_NEAR(first(params, 2), 0, 0);                       // not in the file
    source.skip_layers.n = 0;
    CHECK_OK(sr_weights_load(&source, params));
    CHECK_INT(*(int64_t *)sr_params_at(params, 1)->value, 9);
    source.append_prefix = "";
    CHECK_FAILS(sr_weights_load(&source, params), SR_ERR_CONFIG, "APPEND_PREFIX");
    // The names look right but match nothing of the trunk.
    source.append_prefix = "trunk.";
    CHECK_FAILS(sr_weights_load(&source, params), SR_ERR_CONFIG, "0 of the trunk's 2 tensors");

    const SrNamedTensor vissl[] = {{"trunk._feature_blocks.conv1.weight", matrix},
                                   {"heads.0.clf.weight", matrix}};
    source.append_prefix = "";
    CHECK_OK(sr_safetensors_save(path, vissl, 2, NULL, NULL, 0));
    CHECK_OK(sr_weights_load(&source, params));
    CHECK_NEAR(first(params, 2), 1, 0);
    source.whole_trunk = true;
    CHECK_FAILS(sr_weights_load(&source, params), SR_ERR_CONFIG, "1 of the trunk's 2 tensors");
    sr_params_free(params);
    temp_dir_remove(dir);
}

// regnet_fsdp and regnet_v2 save the blocks of a stage in groups.
TEST(test_groups) {
    char out[64];
    CHECK_STR(sr_naming_without_groups("_feature_blocks.res4.block3-part12.block3-9.f.a.0.weight",
                                       out, sizeof out),
              "_feature_blocks.res4.block3-9.f.a.0.weight");
    CHECK_STR(sr_naming_without_groups("res2.block1-0.proj.weight", out, sizeof out),
              "res2.block1-0.proj.weight");
    CHECK_STR(sr_naming_without_groups("unblock1-part0.weight", out, sizeof out),
              "unblock1-part0.weight");
}

TEST(test_misfits) {
    char dir[64], path[128];
    float x[6] = {0};
    int64_t whole[6] = {0};
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/w.safetensors", dir);
    SrParams *params = model();
    SrWeightsSource source = {.path = path, .remove_prefix = "", .append_prefix = ""};
    const SrNamedTensor turned = {"trunk._feature_blocks.conv1.weight",
                                  {SR_SHAPE(3, 2), SR_F32, x}};
    CHECK_OK(sr_safetensors_save(path, &turned, 1, NULL, NULL, 0));
    CHECK_FAILS(sr_weights_load(&source, params), SR_ERR_CONFIG,
                "conv1.weight have different shapes: checkpoint: [3, 2], model: [2, 3]");
    const SrNamedTensor typed = {"trunk._feature_blocks.conv1.weight",
                                 {SR_SHAPE(2, 3), SR_I64, whole}};
    CHECK_OK(sr_safetensors_save(path, &typed, 1, NULL, NULL, 0));
    CHECK_FAILS(sr_weights_load(&source, params), SR_ERR_CONFIG, "holds I64, the model needs F32");
    source.path = "no/such/file";
    CHECK_FAILS(sr_weights_load(&source, params), SR_ERR_CONFIG, "no/such/file");
    sr_params_free(params);
    temp_dir_remove(dir);
}

// Weights that are not finite are refused by file and name, in each type that files hold.
TEST(test_not_finite) {
    static const char *const words[] = {"holds a weight that is NaN",
                                        "holds a weight that is infinite"};
    char dir[64], path[128];
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/w.safetensors", dir);
    SrParams *params = model();
    SrWeightsSource source = {.path = path, .remove_prefix = "", .append_prefix = ""};
    for (int i = 0; i < 2; i++) {
        float x[6] = {1, 2, 3, 4, 5, 6};
        uint16_t halves[6] = {0};
        x[5] = i ? -INFINITY : NAN;
        halves[0] = i ? 0x7F80 : 0x7FC0; // bfloat16
        SrNamedTensor file = {"trunk._feature_blocks.conv1.weight", {SR_SHAPE(2, 3), SR_F32, x}};
        CHECK_OK(sr_safetensors_save(path, &file, 1, NULL, NULL, 0));
        CHECK_FAILS(sr_weights_load(&source, params), SR_ERR_CONFIG, words[i]);
        CHECK(strstr(sr_status_message(), "w.safetensors: 'trunk._feature_blocks.conv1.weight'"));
        file.tensor = (SrTensor){SR_SHAPE(2, 3), SR_BF16, halves};
        CHECK_OK(sr_safetensors_save(path, &file, 1, NULL, NULL, 0));
        CHECK_FAILS(sr_weights_load(&source, params), SR_ERR_CONFIG, words[i]);
        // Values that no model takes do not count.
        file = (SrNamedTensor){"trunk._feature_blocks.other", {SR_SHAPE(2, 3), SR_F32, x}};
        const float good[6] = {0};
        const SrNamedTensor both[] = {
            file, {"trunk._feature_blocks.conv1.weight", {SR_SHAPE(2, 3), SR_F32, (void *)good}}};
        CHECK_OK(sr_safetensors_save(path, both, 2, NULL, NULL, 0));
        CHECK_OK(sr_weights_load(&source, params));
    }
    sr_params_free(params);
    temp_dir_remove(dir);
}

// Heads may be missing or load in part; half of a trunk is refused unless the configuration
// allows it.
TEST(test_heads_and_shares) {
    char dir[64], path[128];
    float x[6] = {1, 2, 3, 4, 5, 6};
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/w.safetensors", dir);
    const SrNamedTensor file[] = {
        {"trunk.base_model._feature_blocks.conv1.weight", {SR_SHAPE(2, 3), SR_F32, x}},
        {"heads.0.clf.weight", {SR_SHAPE(3, 2), SR_F32, x}}};
    SrWeightsSource source = {.path = path, .remove_prefix = "", .append_prefix = ""};
    CHECK_OK(sr_safetensors_save(path, file, 2, NULL, NULL, 0));
    SrParams *params = model();
    CHECK_FAILS(sr_weights_load(&source, params), SR_ERR_CONFIG,
                "heads.0.clf.weight have different");
    // The trunk of a linear evaluation loads into a plain model.
    CHECK_NEAR(first(params, 0), 1, 0);
    source.lax_head_shapes = true;
    CHECK_OK(sr_weights_load(&source, params));
    CHECK_NEAR(first(params, 2), 0, 0);
    source.lax_head_shapes = false;
    source.skip_heads = true;
    CHECK_OK(sr_weights_load(&source, params));
    source.min_trunk_share = 0.6;
    CHECK_FAILS(sr_weights_load(&source, params), SR_ERR_CONFIG, "MIN_TRUNK_SHARE");
    sr_params_free(params);
    temp_dir_remove(dir);
}

// STATE_DICT_KEY_NAME chooses a model of a file that holds several; the default finds VISSL's
// own.
TEST(test_state_dict_key) {
    char dir[64], path[128];
    float x[6] = {1}, y[6] = {2};
    const char *keys[] = {"model", "student"};
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/w.safetensors", dir);
    const SrNamedTensor file[] = {
        {"model.teacher.trunk._feature_blocks.conv1.weight", {SR_SHAPE(2, 3), SR_F32, x}},
        {"model.student.trunk._feature_blocks.conv1.weight", {SR_SHAPE(2, 3), SR_F32, y}},
        {"optimizer.lr", {SR_SHAPE(2, 3), SR_F32, y}}};
    SrWeightsSource source = {
        .path = path, .remove_prefix = "", .append_prefix = "", .keys = {2, keys}};
    CHECK_OK(sr_safetensors_save(path, file, 3, NULL, NULL, 0));
    SrParams *params = model();
    CHECK_OK(sr_weights_load(&source, params));
    CHECK_NEAR(first(params, 0), 2, 0);
    keys[1] = "teacher";
    CHECK_OK(sr_weights_load(&source, params));
    CHECK_NEAR(first(params, 0), 1, 0);
    keys[1] = "momentum";
    CHECK_FAILS(sr_weights_load(&source, params), SR_ERR_CONFIG, "STATE_DICT_KEY_NAME: ");
    CHECK(strstr(sr_status_message(), "has no key 'momentum'; it has: student, teacher"));
    keys[0] = "mode";
    CHECK_FAILS(sr_weights_load(&source, params), SR_ERR_CONFIG, "it has: model, optimizer");
    keys[0] =
        // VISSL's default, in a file without that key: the content is recognised.
        "classy_state_dict";
    source.keys.n = 1;
    const SrNamedTensor plain = {"trunk._feature_blocks.conv1.weight", {SR_SHAPE(2, 3), SR_F32, y}};
    CHECK_OK(sr_safetensors_save(path, &plain, 1, NULL, NULL, 0));
    CHECK_OK(sr_weights_load(&source, params));
    CHECK_NEAR(first(params, 0), 2, 0);
    source.path = "https://example.org/w.torch";
    CHECK_FAILS(sr_weights_load(&source, params), SR_ERR_CONFIG,
                "curl -LO https://example.org/w.torch");
    sr_params_free(params);
    temp_dir_remove(dir);
}

SR_TESTS(weights, unit(test_names), unit(test_groups), unit(test_misfits), unit(test_not_finite),
         unit(test_heads_and_shares), unit(test_state_dict_key))
