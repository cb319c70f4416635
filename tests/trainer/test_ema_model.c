// Tests HOOKS.EMA_MODEL: the averaged model that a run keeps, and that evaluation loads.
#include <stdio.h>
#include <string.h>

#include "formats/weights/safetensors.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "trainer/model/weights_init.h"
#include "trainer/run/run.h"

static void fill_images(SrRun *run, int step) {
    for (int v = 0; v < run->graph.n_views; v++) {
        SrTensor x = sr_plan_input(run->plan, run->graph.views[v]);
        for (int64_t i = 0; i < sr_shape_count(x.shape); i++)
            ((float *)x.data)[i] = (float)((i * 7919 + v + step) % 1013) / 500 - 1;
    }
}

static const SrParam *entry(SrRun *run, const char *name) {
    SrParams *params = sr_model_params(run->model);
    int index = sr_params_find(params, name);
    if (index < 0)
        fail_msg("there is no %s", name);
    return sr_params_at(params, index);
}

// Four steps: the average is a copy during the warm-up, then moves half of the way every second
// update.
TEST(test_follows) {
    enum { STEPS = 4 };
    static const char *const overrides[] = {
        "HOOKS.EMA_MODEL={SAVE_EMA_MODEL: True, DECAY: 0.5, WARMUP: 0.25, UPDATE_ITER: 2}"};
    const char *const names[] = {"trunk._feature_blocks.conv1.weight",
                                 "trunk._feature_blocks.bn1.running_var",
                                 "trunk._feature_blocks.bn1.num_batches_tracked"};
    SrConfig *config;
    SrRun *run;
    CHECK_OK(sr_config_load("tests/cli/tiny.yaml", overrides, 1, &config));
    CHECK_OK(sr_run_open(config, SR_RUN_BENCH, &run));
    run->step.max_iterations = 8;
    float expected = *(float *)entry(run, names[0])->value;
    CHECK_NEAR(*(float *)entry(run, SR_EMA_PREFIX "trunk._feature_blocks.conv1.weight")->value,
               expected, 0);
    for (int i = 0; i < STEPS; i++) {
        double loss;
        SrStepArgs args = {.lr = 0.1, .lr_head = 0.1, .iteration = i};
        fill_images(run, i);
        CHECK_OK(sr_step_run(&run->step, &args, &loss));
        float weight = *(float *)entry(run, names[0])->value;
        expected = i == 0 ? weight : i == 2 ? 0.5F * expected + 0.5F * weight : expected;
        CHECK_NEAR(*(float *)entry(run, SR_EMA_PREFIX "trunk._feature_blocks.conv1.weight")->value,
                   expected, 1e-7);
    }
    // The counter of the averaged model is that of the third step, its last update.
    int64_t counted = *(int64_t *)entry(run, names[2])->value;
    CHECK_INT(
        4 * *(int64_t *)entry(run, SR_EMA_PREFIX "trunk._feature_blocks.bn1.num_batches_tracked")
                 ->value,
        3 * counted);
    CHECK(entry(run, SR_EMA_PREFIX "trunk._feature_blocks.conv1.weight")->kind == SR_SLOT_STATE);
    entry(run, SR_EMA_PREFIX "trunk._feature_blocks.bn1.running_var");
    CHECK_INT(entry(run, names[2])->dtype, SR_I64);
    sr_run_close(run);
    sr_config_free(config);
}

TEST(test_is_off_by_itself) {
    SrConfig *config;
    SrRun *run;
    CHECK_OK(sr_config_load("tests/cli/tiny.yaml", NULL, 0, &config));
    CHECK_OK(sr_run_open(config, SR_RUN_BENCH, &run));
    SrParams *params = sr_model_params(run->model);
    for (int i = 0; i < sr_params_count(params); i++)
        CHECK(strncmp(sr_params_at(params, i)->name, SR_EMA_PREFIX, strlen(SR_EMA_PREFIX)) != 0);
    sr_run_close(run);
    sr_config_free(config);
}

TEST(test_loads) {
    char dir[64], path[128];
    float own[2] = {1, 2}, averaged[2] = {3, 4};
    SrParams *params;
    int index;
    const SrSlot slot = {.name = "weight", .shape = SR_SHAPE(2), .kind = SR_SLOT_PARAM};
    const SrNamedTensor tensors[] = {
        {"trunk.w.weight", {SR_SHAPE(2), SR_F32, own}},
        {SR_EMA_PREFIX "trunk.w.weight", {SR_SHAPE(2), SR_F32, averaged}}};
    SrWeightsSource source = {
        .path = path, .remove_prefix = "", .append_prefix = "", .quiet = true};
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/w.safetensors", dir);
    CHECK_OK(sr_params_new(&params));
    CHECK_OK(sr_params_add(params, "trunk.w.weight", &slot, &index));
    CHECK_OK(sr_params_allocate(params));
    CHECK_OK(sr_safetensors_save(path, tensors, 2, NULL, NULL, 0));
    CHECK_OK(sr_weights_load(&source, params));
    CHECK_NEAR(*(float *)sr_params_at(params, 0)->value, 1, 0);
    source.remove_prefix = SR_EMA_PREFIX;
    CHECK_OK(sr_weights_load(&source, params));
    CHECK_NEAR(*(float *)sr_params_at(params, 0)->value, 3, 0);
    CHECK_OK(sr_safetensors_save(path, tensors, 1, NULL, NULL, 0));
    CHECK_FAILS(sr_weights_load(&source, params), SR_ERR_CONFIG, "holds no averaged model");
    sr_params_free(params);
    temp_dir_remove(dir);
}

// The key asks for the averaged model with and without the dot, of a run and of any file.
TEST(test_is_asked_for) {
    static const char *const keys[] = {"ema_model", "ema_model."};
    SrConfig *config;
    for (int i = 0; i < 2; i++) {
        char key[64];
        snprintf(key, sizeof key, "MODEL.WEIGHTS_INIT.REMOVE_PREFIX=%s", keys[i]);
        const char *overrides[] = {key, "MODEL.WEIGHTS_INIT.PARAMS_FILE=w.safetensors"};
        CHECK_OK(sr_config_load("tests/cli/tiny.yaml", overrides, 2, &config));
        CHECK_STR(sr_weights_source(config).remove_prefix, SR_EMA_PREFIX);
        config->model.own_checkpoint = true;
        CHECK_STR(sr_weights_source(config).remove_prefix, SR_EMA_PREFIX);
        sr_config_free(config);
    }
}

SR_TESTS(ema_model, unit(test_is_asked_for), unit(test_follows), unit(test_is_off_by_itself),
         unit(test_loads))
